package blas

import (
	"gonum.org/v1/gonum/blas"
)

// Dsymm computes C ← α·A·B + β·C if s is Left, and C ← α·B·A + β·C if s is Right. B and C are m×n.
// A is symmetric and stored in its triangle ul; the other triangle is not read.
func (i Implementation) Dsymm(s blas.Side, ul blas.Uplo, m, n int, alpha float64, a []float64, lda int, b []float64,
	ldb int, beta float64, c []float64, ldc int) {
	if !symmFits(s, ul, m, n, a, lda, b, ldb, c, ldc) || alpha == 0 || alpha == 1 && m|n <= 3 {
		i.Implementation.Dsymm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	double.symm(i.Workers, s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
}

// Ssymm is Dsymm for float32.
func (i Implementation) Ssymm(s blas.Side, ul blas.Uplo, m, n int, alpha float32, a []float32, lda int, b []float32,
	ldb int, beta float32, c []float32, ldc int) {
	if !symmFits(s, ul, m, n, a, lda, b, ldb, c, ldc) || alpha == 0 || alpha == 1 && m|n <= 3 {
		i.Implementation.Ssymm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	single.symm(i.Workers, s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
}

// symmFits reports whether the arguments are valid and C has elements. It panics if a slice is too short.
// If it returns false, gonum does the rest: it panics, or has nothing to do.
func symmFits[T element](s blas.Side, ul blas.Uplo, m, n int, a []T, lda int, b []T, ldb int, c []T, ldc int) bool {
	if !isSide(s) || !isTriangle(ul) || m <= 0 || n <= 0 {
		return false
	}
	k := order(s, m, n)
	if lda < k || ldb < n || ldc < n {
		return false
	}
	mustHold(a, k, k, lda, shortA)
	mustHold(b, m, n, ldb, shortB)
	mustHold(c, m, n, ldc, shortC)
	return true
}

// symm transposes B and C if A is on the right: (B·A)ᵀ = A·Bᵀ.
func (p *precision[T]) symm(workers int, s blas.Side, ul blas.Uplo, m, n int, alpha T, a []T, lda int, b []T,
	ldb int, beta T, c []T, ldc int) {
	vb, vc := stored(blas.NoTrans, b, ldb), stored(blas.NoTrans, c, ldc)
	if s == blas.Right {
		m, n, vb, vc = n, m, transposed(vb), transposed(vc)
	}
	w := p.acquire(workers)
	w.symmetric(m, n, alpha, lower(ul, stored(blas.NoTrans, a, lda)), vb, beta, vc)
	w.release()
}

// symmetric computes C ← α·A·B + β·C with A symmetric of order m, stored in its lower triangle, and B
// and C m×n. All three are divided into halves:
//
//	C₁ ← α·A₁₁·B₁ + α·A₂₁ᵀ·B₂ + β·C₁
//	C₂ ← α·A₂₂·B₂ + α·A₂₁·B₁ + β·C₂
//
// The products with A₂₁ are full products, the others are smaller symmetric products. A block on the
// diagonal is completed to a full matrix.
func (w *workspace[T]) symmetric(m, n int, alpha T, a, b view[T], beta T, c view[T]) {
	if m <= corner {
		for i := range m {
			for j := range i + 1 {
				x := a.Data[i*a.Row+j*a.Col]
				w.square[i*m+j] = x
				w.square[j*m+i] = x
			}
		}
		w.multiply(m, n, m, alpha, w.squareOf(m), b, beta, c)
		return
	}
	top := half(m, corner)
	a21, b2, c2 := from(a, top, 0), from(b, top, 0), from(c, top, 0)
	w.symmetric(top, n, alpha, a, b, beta, c)
	w.multiply(top, n, m-top, alpha, transposed(a21), b2, 1, c)
	w.symmetric(m-top, n, alpha, from(a, top, top), b2, beta, c2)
	w.multiply(m-top, n, top, alpha, a21, b, 1, c2)
}
