package lapack

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
)

// safe is the least positive number whose reciprocal does not overflow.
const safe = 0x1p-1022

// triangle is a triangular matrix, and how systems with it are solved.
type triangle struct {
	impl Implementation
	uplo blas.Uplo
	diag blas.Diag
	n    int
	a    []float64
	lda  int
	// norms has n elements: x, until a solution has overflowed, and the norms of columns after that.
	norms   []float64
	careful bool // a solution has overflowed
}

// solve solves op(A)·y = scale·x, and overwrites x with y. No element of y overflows.
func (t *triangle) solve(trans blas.Transpose, x []float64) (scale float64) {
	if !t.careful {
		copy(t.norms, x)
		blas64.Implementation().Dtrsv(t.uplo, trans, t.diag, t.n, t.a, t.lda, x, 1)
		if finite(x) {
			return 1
		}
		copy(x, t.norms)
	}
	known := t.careful
	t.careful = true
	return t.impl.Dlatrs(t.uplo, trans, t.diag, known, t.n, t.a, t.lda, x, t.norms)
}

// finite reports whether no element is NaN or infinite. An element that overflows on the way is, or makes others so.
func finite(x []float64) bool {
	for _, v := range x {
		if !(math.Abs(v) <= math.MaxFloat64) {
			return false
		}
	}
	return true
}

// reciprocal estimates 1/‖anorm·A⁻¹‖ by Higham's method (Dlacn2; ACM TOMS 14(4), 1988). solve overwrites work[:n] by
// A⁻¹ or, if transposed, A⁻ᵀ times itself, and returns a scale as triangle.solve does. The result is 0 if a scale is so
// small that the solution, divided by it, would exceed 1/small. anorm multiplies the solutions, not the estimate: the
// norm of A⁻¹ and its reciprocal may be out of the range if the condition number is 1.
func (impl Implementation) reciprocal(n int, anorm, small float64, work []float64, iwork []int, norm lapack.MatrixNorm,
	solve func(transposed bool) (scale float64)) float64 {
	direct := 2 // in what Dlacn2 returns
	if norm == lapack.MaxColumnSum {
		direct = 1
	}
	x := work[:n]
	var estimate float64
	var state [3]int
	for step := 0; ; {
		estimate, step = impl.Dlacn2(n, work[n:], x, iwork, estimate, step, &state)
		if step == 0 {
			break
		}
		if scale := solve(step != direct); scale != 1 {
			if scale == 0 || scale < math.Abs(x[blas64.Implementation().Idamax(n, x, 1)])*small {
				return 0
			}
			impl.Drscl(n, scale, x, 1)
		}
		for i := range x {
			x[i] *= anorm
		}
	}
	if estimate == 0 {
		return 0
	}
	return 1 / estimate
}

// Dgecon estimates the reciprocal of the condition number of a matrix, of which Dgetrf computed the LU decomposition.
func (impl Implementation) Dgecon(norm lapack.MatrixNorm, n int, a []float64, lda int, anorm float64, work []float64,
	iwork []int) float64 {
	if n < 1 || norm != lapack.MaxColumnSum && norm != lapack.MaxRowSum ||
		!holds(a, n, n, lda) || !(anorm > 0 && anorm <= math.MaxFloat64) || len(work) < 4*n || len(iwork) < n {
		return impl.Implementation.Dgecon(norm, n, a, lda, anorm, work, iwork)
	}
	x := work[:n]
	l := triangle{impl, blas.Lower, blas.Unit, n, a, lda, work[2*n:][:n], false}
	u := triangle{impl, blas.Upper, blas.NonUnit, n, a, lda, work[3*n:][:n], false}
	return impl.reciprocal(n, anorm, safe, work, iwork, norm, func(transposed bool) float64 {
		if transposed {
			scale := u.solve(blas.Trans, x)
			return scale * l.solve(blas.Trans, x)
		}
		scale := l.solve(blas.NoTrans, x)
		return scale * u.solve(blas.NoTrans, x)
	})
}

// Dpocon estimates the reciprocal of the condition number of a symmetric positive definite matrix, of which Dpotrf
// computed the Cholesky decomposition.
func (impl Implementation) Dpocon(uplo blas.Uplo, n int, a []float64, lda int, anorm float64, work []float64,
	iwork []int) float64 {
	if n < 1 || uplo != blas.Upper && uplo != blas.Lower || !holds(a, n, n, lda) ||
		!(anorm > 0 && anorm <= math.MaxFloat64) || len(work) < 3*n || len(iwork) < n {
		return impl.Implementation.Dpocon(uplo, n, a, lda, anorm, work, iwork)
	}
	first, second := blas.NoTrans, blas.Trans // L·Lᵀ
	if uplo == blas.Upper {
		first, second = blas.Trans, blas.NoTrans // Uᵀ·U
	}
	x := work[:n]
	t := triangle{impl, uplo, blas.NonUnit, n, a, lda, work[2*n:][:n], false}
	return impl.reciprocal(n, anorm, safe, work, iwork, lapack.MaxColumnSum, func(bool) float64 {
		scale := t.solve(first, x)
		return scale * t.solve(second, x)
	})
}

// Dtrcon estimates the reciprocal of the condition number of a triangular matrix.
func (impl Implementation) Dtrcon(norm lapack.MatrixNorm, uplo blas.Uplo, diag blas.Diag, n int, a []float64, lda int,
	work []float64, iwork []int) float64 {
	if n < 1 || norm != lapack.MaxColumnSum && norm != lapack.MaxRowSum ||
		uplo != blas.Upper && uplo != blas.Lower || diag != blas.Unit && diag != blas.NonUnit ||
		!holds(a, n, n, lda) || len(work) < 3*n || len(iwork) < n {
		return impl.Implementation.Dtrcon(norm, uplo, diag, n, a, lda, work, iwork)
	}
	anorm := impl.Dlantr(norm, uplo, diag, n, n, a, lda, work)
	if !(anorm > 0 && anorm <= math.MaxFloat64) {
		return impl.Implementation.Dtrcon(norm, uplo, diag, n, a, lda, work, iwork)
	}
	x := work[:n]
	t := triangle{impl, uplo, diag, n, a, lda, work[2*n:][:n], false}
	return impl.reciprocal(n, anorm, safe*float64(n), work, iwork, norm, func(transposed bool) float64 {
		if transposed {
			return t.solve(blas.Trans, x)
		}
		return t.solve(blas.NoTrans, x)
	})
}
