package lapack

import (
	"cmp"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"

	"gemm/internal/kernel"
)

// Dgesvd computes the singular value decomposition A = U·Σ·Vᵀ of an m×n matrix. If vectors are wanted, R or L of a QR
// or LQ decomposition replaces a matrix that is not square, and the bidiagonal matrix B = Qᵀ·A·P is divided and
// conquered.
func (impl Implementation) Dgesvd(jobU, jobVT lapack.SVDJob, m, n int, a []float64, lda int, s, u []float64, ldu int,
	vt []float64, ldvt int, work []float64, lwork int) (ok bool) {
	k := min(m, n)
	wantU, colsU := wanted(jobU, m, k)
	wantVT, rowsVT := wanted(jobVT, n, k)
	if k < cmp.Or(impl.least, leastVectors) || colsU < 0 || rowsVT < 0 || !wantU && !wantVT || !holds(a, m, n, lda) ||
		len(s) < k || wantU && !holds(u, m, colsU, ldu) || wantVT && !holds(vt, rowsVT, n, ldvt) ||
		lwork < max(5*k, 3*k+max(m, n)) || len(work) < lwork ||
		!ordinary(impl.Dlange(lapack.MaxAbs, m, n, a, lda, nil)) {
		return impl.Implementation.Dgesvd(jobU, jobVT, m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork)
	}
	blocks := make([]float64, 128*max(m, n)) // of 64 columns
	b, ldb, tau := a, lda, make([]float64, k)
	if m != n {
		b, ldb = make([]float64, k*k), k
	}
	if m > n {
		impl.Dgeqrf(m, n, a, lda, tau, blocks, len(blocks))
		impl.Dlacpy(blas.Upper, k, k, a, lda, b, k)
	} else if m < n {
		impl.Dgelqf(m, n, a, lda, tau, blocks, len(blocks))
		impl.Dlacpy(blas.Lower, k, k, a, lda, b, k)
	}
	e, tauQ, tauP := make([]float64, k-1), make([]float64, k), make([]float64, k)
	impl.Dgebrd(k, k, b, ldb, s, e, tauQ, tauP, blocks, len(blocks))
	var left []float64
	if wantU {
		left = make([]float64, k*k)
	}
	right := make([]float64, k*k)
	impl.decomposeBidiagonal(s[:k], e, left, right)
	if wantU {
		impl.Dlaset(blas.All, m, colsU, 0, 1, u, ldu)
		transpose(k, k, left, k, u, ldu)
		impl.multiply(false, blas.Left, blas.NoTrans, k, k, k, b, ldb, tauQ, u, ldu)
	}
	if wantU && m > n {
		impl.multiply(false, blas.Left, blas.NoTrans, m, colsU, k, a, lda, tau, u, ldu)
	}
	if wantVT {
		impl.Dlaset(blas.All, rowsVT, n, 0, 1, vt, ldvt)
		impl.Dlacpy(blas.All, k, k, right, k, vt, ldvt)
	}
	if wantVT && k > 1 {
		impl.multiply(true, blas.Right, blas.NoTrans, k, k-1, k-1, b[1:], ldb, tauP, vt[1:], ldvt)
	}
	if wantVT && m < n {
		impl.multiply(true, blas.Right, blas.NoTrans, rowsVT, n, k, a, lda, tau, vt, ldvt)
	}
	work[0] = float64(lwork)
	return true
}

// wanted returns whether a job wants vectors of the given order, and how many. The number is negative if the job is
// not one of this package.
func wanted(job lapack.SVDJob, order, least int) (bool, int) {
	switch job {
	case lapack.SVDAll:
		return true, order
	case lapack.SVDStore:
		return true, least
	case lapack.SVDNone:
		return false, 0
	}
	return false, -1
}

// ordinary reports whether a matrix needs no scaling, given its largest magnitude.
func ordinary(largest float64) bool {
	small := math.Sqrt(safe) / 0x1p-52
	return largest >= small && largest <= 1/small
}

var kernels = kernel.Best[float64]()

// transpose copies the rows×cols matrix a to its transpose in b.
func transpose(rows, cols int, a []float64, lda int, b []float64, ldb int) {
	const block = 32 // columns of a, in a cache
	fours := rows &^ 3
	for j0 := 0; j0 < cols; j0 += block {
		n := min(block, cols-j0)
		if fours > 0 {
			kernels.Transpose(fours, n, b[j0*ldb:], ldb, a[j0:], lda)
		}
		for i := fours; i < rows; i++ {
			for j, x := range a[i*lda+j0:][:n] {
				b[(j0+j)*ldb+i] = x
			}
		}
	}
}
