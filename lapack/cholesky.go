package lapack

import (
	"math"

	"gonum.org/v1/gonum/blas"
)

// Orders up to which a matrix is not divided: of a symmetric matrix that is decomposed, and of a triangular matrix.
const leafSymmetric, leafTriangular = 64, 24

// divided computes something of a square matrix in place, of which one triangle is stored. The first half of the matrix
// comes first, then join, which gets the orders of both halves, then the second half. A matrix of an order up to least
// is a leaf. If leaf returns false, so does divided. So all but O(n²) of the work is products, which join computes
// (Gustavson, IBM J. Res. Develop. 41(6), 1997).
func divided(n, least int, a []float64, lda int, leaf func(n int, a []float64) bool,
	join func(n1, n2 int, a11, a21, a12, a22 []float64)) bool {
	if n <= least {
		return leaf(n, a)
	}
	top := half(n)
	a12, a21 := a[top:], a[top*lda:]
	if !divided(top, least, a, lda, leaf, join) {
		return false
	}
	join(top, n-top, a, a21, a12, a21[top:])
	return divided(n-top, least, a21[top:], lda, leaf, join)
}

// Dpotrf computes the Cholesky decomposition A = Uᵀ·U or L·Lᵀ of a symmetric matrix, of which the triangle ul is
// stored. The result is false if A is not positive definite.
func (impl Implementation) Dpotrf(ul blas.Uplo, n int, a []float64, lda int) (ok bool) {
	switch {
	case ul != blas.Upper && ul != blas.Lower || n < 1 || !holds(a, n, n, lda) ||
		n <= leafSymmetric && (ul == blas.Lower || n < 4):
		return impl.Implementation.Dpotrf(ul, n, a, lda)
	case n <= leafSymmetric:
		return impl.upperRows(n, a, lda)
	}
	bi := impl.blas()
	leaf := func(n int, a []float64) bool { return impl.Dpotrf(ul, n, a, lda) }
	return divided(n, leafSymmetric, a, lda, leaf, func(n1, n2 int, a11, a21, a12, a22 []float64) {
		if ul == blas.Upper {
			bi.Dtrsm(blas.Left, ul, blas.Trans, blas.NonUnit, n1, n2, 1, a11, lda, a12, lda)
			bi.Dsyrk(ul, blas.Trans, n2, n1, -1, a12, lda, 1, a22, lda)
		} else {
			bi.Dtrsm(blas.Right, ul, blas.Trans, blas.NonUnit, n2, n1, 1, a11, lda, a21, lda)
			bi.Dsyrk(ul, blas.NoTrans, n2, n1, -1, a21, lda, 1, a22, lda)
		}
	})
}

// upperRows computes U of A = Uᵀ·U, a few rows at a time: first the products with the rows above them.
func (impl Implementation) upperRows(n int, a []float64, lda int) bool {
	const few, short = 4, 12
	bi, step := impl.blas(), few
	if n < short {
		step = n
	}
	var square [few * few]float64 // a product on the diagonal: the triangle below the diagonal is not written
	for i := 0; i < n; i += step {
		rest, m, k := a[i*lda+i:], min(step, n-i), n-i
		if i > 0 {
			bi.Dgemm(blas.Trans, blas.NoTrans, m, m, i, -1, a[i:], lda, a[i:], lda, 0, square[:], few)
		}
		if i > 0 && m < k {
			bi.Dgemm(blas.Trans, blas.NoTrans, m, k-m, i, -1, a[i:], lda, a[i+m:], lda, 1, rest[m:], lda)
		}
		for p := range m {
			row := rest[p*lda:][:k]
			for j := p; j < m && i > 0; j++ {
				row[j] += square[p*few+j]
			}
			for q := range p {
				above := rest[q*lda:][:k]
				factor := above[p]
				if k-p > short && factor != 0 { // Daxpy skips 0·NaN
					bi.Daxpy(k-p, -factor, above[p:], 1, row[p:], 1)
					continue
				}
				for j := p; j < len(row); j++ {
					row[j] -= factor * above[j]
				}
			}
			if !(row[p] > 0) {
				return false
			}
			row[p] = math.Sqrt(row[p])
			r := 1 / row[p]
			for j := p + 1; j < len(row); j++ {
				row[j] *= r
			}
		}
	}
	return true
}

// Dtrtri computes the inverse of a triangular matrix in place. The result is false if an element of the diagonal is 0.
func (impl Implementation) Dtrtri(uplo blas.Uplo, diag blas.Diag, n int, a []float64, lda int) (ok bool) {
	if n <= leafTriangular || uplo != blas.Upper && uplo != blas.Lower || diag != blas.Unit && diag != blas.NonUnit ||
		!holds(a, n, n, lda) {
		return impl.Implementation.Dtrtri(uplo, diag, n, a, lda)
	}
	for i := 0; i < n && diag == blas.NonUnit; i++ {
		if a[i*lda+i] == 0 {
			return false
		}
	}
	bi := impl.blas()
	leaf := func(n int, a []float64) bool { return impl.Implementation.Dtrtri(uplo, diag, n, a, lda) }
	return divided(n, leafTriangular, a, lda, leaf, func(n1, n2 int, a11, a21, a12, a22 []float64) {
		if uplo == blas.Upper { // A₁₂ ← −A₁₁⁻¹·A₁₂·A₂₂⁻¹, in which A₁₁ is the inverse already
			bi.Dtrmm(blas.Left, uplo, blas.NoTrans, diag, n1, n2, -1, a11, lda, a12, lda)
			bi.Dtrsm(blas.Right, uplo, blas.NoTrans, diag, n1, n2, 1, a22, lda, a12, lda)
		} else {
			bi.Dtrmm(blas.Right, uplo, blas.NoTrans, diag, n2, n1, -1, a11, lda, a21, lda)
			bi.Dtrsm(blas.Left, uplo, blas.NoTrans, diag, n2, n1, 1, a22, lda, a21, lda)
		}
	})
}

// Dpotri computes the inverse of a matrix, of which Dpotrf computed the Cholesky decomposition.
func (impl Implementation) Dpotri(ul blas.Uplo, n int, a []float64, lda int) (ok bool) {
	if n <= leafTriangular || ul != blas.Upper && ul != blas.Lower || !holds(a, n, n, lda) {
		return impl.Implementation.Dpotri(ul, n, a, lda)
	}
	if !impl.Dtrtri(ul, blas.NonUnit, n, a, lda) {
		return false
	}
	bi := impl.blas() // U⁻¹·U⁻ᵀ or L⁻ᵀ·L⁻¹
	leaf := func(n int, a []float64) bool { impl.Dlauum(ul, n, a, lda); return true }
	return divided(n, leafTriangular, a, lda, leaf, func(n1, n2 int, a11, a21, a12, a22 []float64) {
		if ul == blas.Upper {
			bi.Dsyrk(ul, blas.NoTrans, n1, n2, 1, a12, lda, 1, a11, lda)
			bi.Dtrmm(blas.Right, ul, blas.Trans, blas.NonUnit, n1, n2, 1, a22, lda, a12, lda)
		} else {
			bi.Dsyrk(ul, blas.Trans, n1, n2, 1, a21, lda, 1, a11, lda)
			bi.Dtrmm(blas.Left, ul, blas.Trans, blas.NonUnit, n2, n1, 1, a22, lda, a21, lda)
		}
	})
}

// Dgetri computes the inverse of a matrix, of which Dgetrf computed the LU decomposition: A⁻¹·P·L = U⁻¹.
func (impl Implementation) Dgetri(n int, a []float64, lda int, ipiv []int, work []float64, lwork int) (ok bool) {
	if n <= leafTriangular || !holds(a, n, n, lda) || len(ipiv) != n || lwork < n || len(work) < lwork {
		return impl.Implementation.Dgetri(n, a, lda, ipiv, work, lwork)
	}
	if !impl.Dtrtri(blas.Upper, blas.NonUnit, n, a, lda) {
		return false
	}
	l, done := buffer(n * n)
	defer done()
	for i := range n {
		copy(l[i*n:], a[i*lda:][:i])
		clear(a[i*lda:][:i])
	}
	impl.blas().Dtrsm(blas.Right, blas.Lower, blas.NoTrans, blas.Unit, n, n, 1, l, n, a, lda)
	for i := range n {
		row := a[i*lda:][:n]
		for j := n - 1; j >= 0; j-- {
			p := ipiv[j]
			row[j], row[p] = row[p], row[j]
		}
	}
	impl.Implementation.Dgetri(n, a, lda, ipiv, work, -1)
	return true
}
