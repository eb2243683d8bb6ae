package blas

import (
	"context"
	"errors"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"gemm"
	"gemm/gemmtest"
)

func filledComplex(rng *rand.Rand, n int) []complex128 {
	out := make([]complex128, n)
	for i := range out {
		out[i] = complex(rng.Float64()-0.5, rng.Float64()-0.5)
	}
	return out
}

// multiplied returns C after Gemm with the operands of x.
func multiplied[T element](t *testing.T, x call[T]) []T {
	matrix := func(data []T, ld, rows, cols int) gemm.Matrix[T] {
		return gemm.Matrix[T]{Rows: rows, Cols: cols, Stride: ld, Data: data}
	}
	rowsA, colsA := ordered(x.tA, x.m, x.k)
	rowsB, colsB := ordered(x.tB, x.k, x.n)
	c := slices.Clone(x.c)
	gemmtest.Must(t, Gemm(x.tA, x.tB, x.alpha, matrix(x.a, x.lda, rowsA, colsA), matrix(x.b, x.ldb, rowsB, colsB),
		x.beta, matrix(c, x.ldc, x.m, x.n)))
	return c
}

// TestComplexProducts compares products of several blocks with gonum, for both types, with NaN where β = 0 must not
// read C, and with gaps between the rows.
func TestComplexProducts(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for index, s := range [][3]int{{9, 9, 9}, {1, 1030, 20}, {1030, 3, 7}, {40, 50, 600}, {70, 30, 257},
		{600, 40, 30}} {
		m, n, k, gap := s[0], s[1], s[2], index%3
		for i := range 9 {
			all := [3]blas.Transpose{NoTrans, Trans, ConjTrans}
			tA, tB := all[i%3], all[i/3]
			rowsA, colsA := ordered(tA, m, k)
			rowsB, colsB := ordered(tB, k, n)
			x := call[complex128]{tA: tA, tB: tB, m: m, n: n, k: k, alpha: complex(0.5, -2),
				beta: [3]complex128{0, 1, complex(2, 3)}[i%3], lda: colsA + gap, ldb: colsB + gap, ldc: n + gap}
			x.a, x.b, x.c = filledComplex(rng, rowsA*x.lda), filledComplex(rng, rowsB*x.ldb),
				filledComplex(rng, m*x.ldc)
			gonums := x.clone()
			complexDoubles(gonum.Implementation{}).run("gemm", gonums)
			if x.beta == 0 {
				for i := range m {
					x.c[i*x.ldc] = cmplx.NaN()
				}
			}
			narrow := as(x, func(x complex128) complex64 { return complex64(x) })
			want, c32 := gonums.c, runSingle(x, "gemm").c
			byGemm, byGemm32 := multiplied(t, x), multiplied(t, narrow)
			complexDoubles(Implementation{Workers: 1 + i%3}).run("gemm", x)
			if !slices.Equal(byGemm, x.c) || !slices.Equal(byGemm32, c32) {
				t.Fatalf("%v: Gemm differs from Zgemm or Cgemm", x)
			}
			for i := range want {
				bound := 1e-13 * float64(k) * (1 + cmplx.Abs(want[i]))
				if !(cmplx.Abs(x.c[i]-want[i]) <= bound) || !(cmplx.Abs(complex128(c32[i])-want[i]) <= bound*1e9) {
					t.Fatalf("%v: element %d is %v and %v, want %v", x, i, x.c[i], c32[i], want[i])
				}
			}
		}
	}
}

// TestComplexParts has a small real part and a large imaginary part: its error is small in comparison with its own
// terms, as a product of three real ones would not have it.
func TestComplexParts(t *testing.T) {
	const n = 16
	a, b, c := make([]complex128, n*n), make([]complex128, n*n), make([]complex128, n*n)
	for i := range n {
		a[i*n+i], b[i*n+i] = complex(1e-9/3, 1), complex(1.0/7, 0)
	}
	impl.Zgemm(NoTrans, NoTrans, n, n, n, 1, a, n, b, n, 0, c, n)
	if want := 1e-9 / 21; !(math.Abs(real(c[0])/want-1) < 1e-15) {
		t.Errorf("the real part is %v, want %v", real(c[0]), want)
	}
}

// TestComplexCancelled cancels a product before its second block.
func TestComplexCancelled(t *testing.T) {
	const m, k = 2 * complexRows, 9
	a, b, c := gemm.NewMatrix[complex64](m, k), gemm.NewMatrix[complex64](k, k), gemm.NewMatrix[complex64](m, k)
	for i := range k {
		a.Set(0, i, 1)
		a.Set(m-1, i, 1)
		b.Set(i, i, 1i)
	}
	ctx := &counted{Context: t.Context()}
	ctx.left.Store(2)
	if err := MultiplyContext(ctx, c, a, b); !errors.Is(err, context.Canceled) || c.At(0, 0) != 1i ||
		c.At(m-1, 0) != 0 {
		t.Errorf("the error is %v, the first element %v, the last %v", err, c.At(0, 0), c.At(m-1, k-1))
	}
}
