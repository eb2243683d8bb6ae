package blas

import (
	"math"
	"math/bits"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"

	"gemm"
)

// huge are leading dimensions for which the product with a number of rows overflows: to a
// negative number, to 0, and to a small number.
var huge = []int{math.MaxInt, math.MaxInt - 15, 1 << (bits.UintSize - 2), 1 << (bits.UintSize - 4),
	1<<(bits.UintSize-4) + 1}

// testHuge calls every routine with one huge leading dimension and with operands in the
// middle of a buffer. It expects gonum's message, and nothing may be written.
func testHuge[T gemm.Float](t *testing.T, r routines[T]) {
	const order, guard = 17, 1000
	operands := map[string]string{"gemm": "abc", "symm": "abc", "syrk": "ac", "syr2k": "abc", "trmm": "ab", "trsm": "ab"}
	for name, letters := range operands {
		for i := range 8 * len(letters) * len(huge) {
			letter, ld := letters[i/8%len(letters)], huge[i/8/len(letters)]
			whole := make([]T, 3*order*order+2*guard)
			for i := range whole {
				whole[i] = 1
			}
			middle := whole[guard : guard+3*order*order]
			x := call[T]{
				s: [2]blas.Side{blas.Left, blas.Right}[i%2], ul: [2]blas.Uplo{blas.Upper, blas.Lower}[i/2%2], d: blas.NonUnit,
				tA: [2]blas.Transpose{blas.NoTrans, blas.Trans}[i/4%2], tB: [2]blas.Transpose{blas.NoTrans, blas.Trans}[i%2],
				m: order, n: order, k: order, alpha: 1, beta: 1, lda: order, ldb: order, ldc: order,
				a: middle[:order*order], b: middle[order*order : 2*order*order], c: middle[2*order*order:],
			}
			*map[byte]*int{'a': &x.lda, 'b': &x.ldb, 'c': &x.ldc}[letter] = ld
			if got, want := outcome(r, name, x), "blas: insufficient length of "+string(letter); got != want {
				t.Errorf("%s, %v: panicked with %v, want %q", name, x, got, want)
			}
			if slices.ContainsFunc(whole, func(x T) bool { return x != 1 }) {
				t.Errorf("%s, %v: memory was written", name, x)
			}
		}
	}
}

func TestHugeLeadingDimensions(t *testing.T) {
	t.Run("f64", func(t *testing.T) { testHuge(t, doubles(impl)) })
	t.Run("f32", func(t *testing.T) { testHuge(t, singles(impl)) })
}

// TestHugeVectors is TestHugeLeadingDimensions for level 2.
func TestHugeVectors(t *testing.T) {
	for op := gemv; op <= trsv; op++ {
		for _, n := range []int{2, 3, 17, 60} {
			for _, ld := range huge {
				a, x := make([]float64, n*n), make([]float64, n)
				message := func() (out any) {
					defer func() { out = recover() }()
					doubleRoutines(impl).run(matrixVector[float64]{op, blas.Lower, NoTrans, blas.NonUnit, n, n, ld, 1,
						0, a, x, slices.Clone(x), 1, 1})
					return nil
				}()
				if message != shortA {
					t.Errorf("operation %d, n=%d, lda %d: panicked with %v", op, n, ld, message)
				}
			}
		}
	}
}
