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

func narrowed(x []complex128) []complex64 {
	out := make([]complex64, len(x))
	for i := range x {
		out[i] = complex64(x[i])
	}
	return out
}

func matrixOf[T gemm.Scalar](rows, cols, ld int, data []T) gemm.Matrix[T] {
	return gemm.Matrix[T]{Rows: rows, Cols: cols, Stride: ld, Data: data}
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
			lda, ldb, ldc := colsA+gap, colsB+gap, n+gap
			alpha, beta := complex(0.5, -2), [3]complex128{0, 1, complex(2, 3)}[i%3]
			a, b, c := filledComplex(rng, rowsA*lda), filledComplex(rng, rowsB*ldb), filledComplex(rng, m*ldc)
			want := slices.Clone(c)
			gonum.Implementation{}.Zgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, want, ldc)
			if beta == 0 {
				for i := range m {
					c[i*ldc] = cmplx.NaN()
				}
			}
			c32, byGemm := narrowed(c), slices.Clone(c)
			byGemm32 := narrowed(byGemm)
			workers := Implementation{Workers: 1 + i%3}
			workers.Zgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
			workers.Cgemm(tA, tB, m, n, k, complex64(alpha), narrowed(a), lda, narrowed(b), ldb, complex64(beta), c32,
				ldc)
			gemmtest.Must(t, errors.Join(
				Gemm(tA, tB, alpha, matrixOf(rowsA, colsA, lda, a), matrixOf(rowsB, colsB, ldb, b), beta,
					matrixOf(m, n, ldc, byGemm)),
				Gemm(tA, tB, complex64(alpha), matrixOf(rowsA, colsA, lda, narrowed(a)),
					matrixOf(rowsB, colsB, ldb, narrowed(b)), complex64(beta), matrixOf(m, n, ldc, byGemm32))))
			if !slices.Equal(byGemm, c) || !slices.Equal(byGemm32, c32) {
				t.Fatalf("%d×%d×%d %c %c: Gemm differs from Zgemm or Cgemm", m, n, k, tA, tB)
			}
			for i := range want {
				bound := 1e-13 * float64(k) * (1 + cmplx.Abs(want[i]))
				if !(cmplx.Abs(c[i]-want[i]) <= bound) || !(cmplx.Abs(complex128(c32[i])-want[i]) <= bound*1e9) {
					t.Fatalf("%d×%d×%d %c %c β=%v: element %d is %v and %v, want %v", m, n, k, tA, tB, beta, i, c[i],
						c32[i], want[i])
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
	if err := MultiplyContext(ctx, c, a, b); !errors.Is(err, context.Canceled) || c.At(0, 0) != 1i || c.At(m-1, 0) != 0 {
		t.Errorf("the error is %v, the first element %v, the last %v", err, c.At(0, 0), c.At(m-1, k-1))
	}
}
