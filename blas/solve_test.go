package blas

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/blas"

	"gemm"
)

// testEnds solves triangular systems with numbers on the diagonal whose reciprocals are no
// normal numbers: subnormal and huge ones, with normal ones between them. The matrix has no
// other elements, and the right-hand sides are its columns times the unknowns 1, 2 …, so that
// the solution is exact.
func testEnds[T gemm.Float](t *testing.T, r routines[T], ends ...T) {
	const columns = 7
	for _, n := range []int{1, 2, 3, 4, 5, 8, 11, corner, corner + 1, 70} {
		for i := range 16 {
			x := call[T]{
				s: [2]blas.Side{blas.Left, blas.Right}[i%2], ul: [2]blas.Uplo{blas.Upper, blas.Lower}[i/2%2],
				tA: [2]blas.Transpose{blas.NoTrans, blas.Trans}[i/4%2], d: blas.NonUnit, m: n, n: columns, alpha: 1,
				a: make([]T, n*n), lda: n, b: make([]T, n*columns),
			}
			if x.s == blas.Right {
				x.m, x.n = columns, n
			}
			x.ldb = x.n
			for p := range n {
				x.a[p*n+p] = 3
				if (p+i)%3 > 0 {
					x.a[p*n+p] = ends[p%len(ends)]
				}
				for q := range columns {
					to := &x.b[p*columns+q]
					if x.s == blas.Right {
						to = &x.b[q*n+p]
					}
					*to = x.a[p*n+p] * T(q%3)
				}
			}
			r.run("trsm", x)
			for p := range n {
				for q := range columns {
					got, want := x.b[p*columns+q], T(q%3)
					if x.s == blas.Right {
						got = x.b[q*n+p]
					}
					if got != want {
						t.Fatalf("%v: unknown %d of column %d, with %v on the diagonal, is %v, want %v", x, p, q, x.a[p*n+p], got, want)
					}
				}
			}
		}
	}
}

func TestSolveAtTheEndsOfTheRange(t *testing.T) {
	t.Run("f64", func(t *testing.T) {
		testEnds(t, doubles(impl), math.SmallestNonzeroFloat64, -5*math.SmallestNonzeroFloat64, 0x1p-1025,
			0x1.fffffffffffffp+1022, -0x1.8p+1022)
	})
	t.Run("f32", func(t *testing.T) {
		testEnds(t, singles(impl), math.SmallestNonzeroFloat32, -5*math.SmallestNonzeroFloat32, 0x1p-129,
			0x1.fffffep+126, -0x1.8p+126)
	})
}

// TestSolveWithoutAnInverse divides by 0, Inf and NaN on the diagonal, as IEEE 754 has it.
func TestSolveWithoutAnInverse(t *testing.T) {
	for _, n := range []int{1, 3, 4, 40} {
		for _, d := range []float64{0, math.Inf(1), math.NaN()} {
			for _, x := range []float64{0, -2, math.Inf(1)} {
				a, b := make([]float64, n*n), make([]float64, n)
				for i := range n {
					a[i*n+i] = 1
				}
				a[n*n-1], b[n-1] = d, x
				impl.Dtrsm(blas.Left, blas.Lower, blas.NoTrans, blas.NonUnit, n, 1, 1, a, n, b, 1)
				if got, want := b[n-1], x/d; fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("n=%d: %v / %v is %v, want %v", n, x, d, got, want)
				}
			}
		}
	}
}
