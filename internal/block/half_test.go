package block

import (
	"context"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"

	"gemm/gemmtest"
	"gemm/half"
	"gemm/internal/kernel"
)

// TestHalfBlocks multiplies integers with small blocks, so that a product has several of every kind.
func TestHalfBlocks(t *testing.T) {
	t.Run("f16", testHalfBlocks[half.F16])
	t.Run("bf16", testHalfBlocks[half.BF16])
}

func testHalfBlocks[T half.Float](t *testing.T) {
	k := kernel.Best[float32]()
	e := &Half[T]{engine: New(k, Blocking{MC: 3 * k.MR, KC: 12, NC: 2 * k.NR, Parallel: 1}, goroutines)}
	rng := rand.New(rand.NewPCG(1, 2))
	shapes := [][3]int{{halfRows + 9, 3*k.NR + 5, 41}, {7, 5*k.NR + 1, 100}, {3 * halfRows, 3, 30}, {5, 6, 0}}
	for _, shape := range shapes {
		for _, tA := range []blas.Transpose{blas.NoTrans, blas.Trans} {
			for _, tB := range []blas.Transpose{blas.NoTrans, blas.Trans} {
				halfProduct(t, e, rng, shape, tA != blas.NoTrans, tB != blas.NoTrans)
			}
		}
	}
}

// halfProduct computes C ← −2·op(A)·op(B) + β·C of small integers, in place of numbers and, for β = 0, of NaN.
func halfProduct[T half.Float](t *testing.T, e *Half[T], rng *rand.Rand, shape [3]int, tA, tB bool) {
	m, n, k := shape[0], shape[1], shape[2]
	drawn := func(rows, cols int, transposed bool) HalfView[T] {
		if transposed {
			rows, cols = cols, rows
		}
		v := HalfView[T]{make([]T, rows*(cols+3)), cols + 3, transposed}
		for i := range v.Data {
			v.Data[i] = half.From[T](float32(rng.IntN(3) - 1))
		}
		return v
	}
	at := func(v HalfView[T], i, j int) float32 {
		if v.Transposed {
			i, j = j, i
		}
		return v.Data[i*v.Stride+j].Float32()
	}
	a, b, c := drawn(m, k, tA), drawn(k, n, tB), drawn(m, n, false)
	was := append([]T(nil), c.Data...)
	for _, beta := range []float32{3, 0} {
		err := e.Gemm(context.Background(), m, n, k, half.From[T](-2), a, b, half.From[T](beta), c.Data, c.Stride)
		gemmtest.Must(t, err)
		for i := range m {
			for j := range n {
				var sum float32
				for l := range k {
					sum += at(a, i, l) * at(b, l, j)
				}
				sum = -2 * sum
				if beta != 0 {
					sum += beta * was[i*c.Stride+j].Float32()
				}
				if got := at(c, i, j); got != half.From[T](sum).Float32() {
					t.Fatalf("%v, transposed %v %v, β=%v: C(%d, %d) is %v, want %v", shape, tA, tB, beta, i, j, got,
						sum)
				}
			}
			for gap := range 3 {
				if x := i*c.Stride + n + gap; c.Data[x] != was[x] {
					t.Fatalf("%v: element %d between the rows was written", shape, x)
				}
				c.Data[i*c.Stride] = half.FromBits[T](0x7fff) // NaN
			}
		}
	}
}
