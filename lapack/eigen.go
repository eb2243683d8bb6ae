package lapack

import (
	"cmp"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// Dsyev computes the eigenvalues of a symmetric matrix, in ascending order, and its eigenvectors.
//
// If vectors are wanted, T = Qᵀ·A·Q is tridiagonal, and T − σ·I = Bᵀ·B, where σ is 0 if T is positive definite,
// otherwise about −‖T‖₁. B is divided and conquered, and its right singular vectors are the eigenvectors of T. The
// error of each eigenvalue is of the order of the rounding error of the largest.
func (impl Implementation) Dsyev(jobz lapack.EVJob, uplo blas.Uplo, n int, a []float64, lda int, w, work []float64,
	lwork int) (ok bool) {
	if jobz != lapack.EVCompute || uplo != blas.Upper && uplo != blas.Lower || n < cmp.Or(impl.least, leastVectors) ||
		!holds(a, n, n, lda) || len(w) < n || lwork < 3*n-1 || len(work) < lwork ||
		!ordinary(impl.Dlansy(lapack.MaxAbs, uplo, n, a, lda, work)) {
		return impl.Implementation.Dsyev(jobz, uplo, n, a, lda, w, work, lwork)
	}
	all, done := buffer(n*n + 68*n)
	defer done()
	part := func(n int) (x []float64) { x, all = all[:n:n], all[n:]; return x }
	vt, e, tau, b, c := part(n*n), part(n-1), part(n-1), part(n), part(n-1)
	if uplo == blas.Upper {
		transpose(n, n, a, lda, vt, n)
		impl.Dlacpy(blas.Lower, n, n, vt, n, a, lda)
	}
	impl.Dsytrd(blas.Lower, n, a, lda, w, e, tau, all, len(all))
	shift, norm := 0.0, impl.Dlanst(lapack.MaxColumnSum, n, w, e)
	for more := 1 + negligible; !factored(w, e, b, c, shift); more += negligible {
		shift = -norm * more
	}
	impl.decomposeBidiagonal(b, c, nil, vt)
	if n > 1 {
		impl.multiply(false, blas.Right, blas.Trans, n, n-1, n-1, a[lda:], lda, tau, vt[1:], n)
	}
	bi := impl.blas()
	for i := range n / 2 {
		bi.Dswap(n, vt[i*n:], 1, vt[(n-1-i)*n:], 1)
	}
	for i, s := range b {
		w[n-1-i] = s*s + shift
	}
	transpose(n, n, vt, n, a, lda)
	work[0] = float64(lwork)
	return true
}

// factored computes the diagonal b and the superdiagonal c of B, where T − shift·I = Bᵀ·B and T has the diagonal d and
// the subdiagonal e. It returns false if the matrix is not positive definite.
func factored(d, e, b, c []float64, shift float64) bool {
	q := d[0] - shift
	for i := range b {
		if !(q > 0) {
			return false
		}
		b[i] = math.Sqrt(q)
		if i < len(c) {
			c[i] = e[i] / b[i]
			q = d[i+1] - shift - c[i]*c[i]
		}
	}
	return true
}
