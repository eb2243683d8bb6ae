package blas

import (
	"gonum.org/v1/gonum/blas"

	"gemm/internal/block"
)

// Dsyrk computes the triangle ul of the symmetric n×n matrix C ← α·op(A)·op(A)ᵀ + β·C, where op(A)
// is n×k. The other triangle is neither read nor written.
func (i Implementation) Dsyrk(ul blas.Uplo, tA blas.Transpose, n, k int, alpha float64, a []float64, lda int,
	beta float64, c []float64, ldc int) {
	if !rankFits(ul, tA, n, k, a, lda, a, lda, c, ldc) || alpha == 0 ||
		tA == blas.NoTrans && (n <= fewLong || terms(n, n, k) <= fewSquareDots) && block.IsModerate(alpha) {
		i.Implementation.Dsyrk(ul, tA, n, k, alpha, a, lda, beta, c, ldc)
		return
	}
	double.syrk(i.Workers, ul, tA, n, k, alpha, a, lda, beta, c, ldc)
}

// Ssyrk is Dsyrk for float32.
func (i Implementation) Ssyrk(ul blas.Uplo, tA blas.Transpose, n, k int, alpha float32, a []float32, lda int,
	beta float32, c []float32, ldc int) {
	if !rankFits(ul, tA, n, k, a, lda, a, lda, c, ldc) || alpha == 0 ||
		tA == blas.NoTrans && (n <= fewLong || terms(n, n, k) <= fewSquareDots) && block.IsModerate(alpha) {
		i.Implementation.Ssyrk(ul, tA, n, k, alpha, a, lda, beta, c, ldc)
		return
	}
	single.syrk(i.Workers, ul, tA, n, k, alpha, a, lda, beta, c, ldc)
}

// Dsyr2k computes the triangle ul of the symmetric n×n matrix C ← α·(op(A)·op(B)ᵀ + op(B)·op(A)ᵀ) +
// β·C, where op(A) and op(B) are n×k. The other triangle is neither read nor written.
func (i Implementation) Dsyr2k(ul blas.Uplo, tA blas.Transpose, n, k int, alpha float64, a []float64, lda int,
	b []float64, ldb int, beta float64, c []float64, ldc int) {
	if !rankFits(ul, tA, n, k, a, lda, b, ldb, c, ldc) || alpha == 0 ||
		tA == blas.NoTrans && terms(n, n, k) <= fewDots && block.IsModerate(alpha) {
		i.Implementation.Dsyr2k(ul, tA, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	double.syr2k(i.Workers, ul, tA, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

// Ssyr2k is Dsyr2k for float32.
func (i Implementation) Ssyr2k(ul blas.Uplo, tA blas.Transpose, n, k int, alpha float32, a []float32, lda int,
	b []float32, ldb int, beta float32, c []float32, ldc int) {
	if !rankFits(ul, tA, n, k, a, lda, b, ldb, c, ldc) || alpha == 0 ||
		tA == blas.NoTrans && terms(n, n, k) <= fewDots && block.IsModerate(alpha) {
		i.Implementation.Ssyr2k(ul, tA, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	single.syr2k(i.Workers, ul, tA, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

// rankFits reports whether the arguments are valid and C has elements. It panics if a slice is too short. syrk, which
// has no B, has A twice. If it returns false, gonum does the rest: it panics, or has nothing to do.
func rankFits[T element](ul blas.Uplo, tA blas.Transpose, n, k int, a []T, lda int, b []T, ldb int, c []T,
	ldc int) bool {
	rows, cols := ordered(tA, n, k)
	if !isTriangle(ul) || !isTranspose(tA) || n <= 0 || k < 0 || lda < max(1, cols) || ldb < max(1, cols) || ldc < n {
		return false
	}
	mustHold(a, rows, cols, lda, shortA)
	mustHold(b, rows, cols, ldb, shortB)
	mustHold(c, n, n, ldc, shortC)
	return true
}

func (p *precision[T]) syrk(workers int, ul blas.Uplo, tA blas.Transpose, n, k int, alpha T, a []T, lda int, beta T,
	c []T, ldc int) {
	w := p.acquire(workers)
	w.rankK(n, k, alpha, stored(tA, a, lda), beta, lower(ul, stored(blas.NoTrans, c, ldc)))
	w.release()
}

func (p *precision[T]) syr2k(workers int, ul blas.Uplo, tA blas.Transpose, n, k int, alpha T, a []T, lda int, b []T,
	ldb int, beta T, c []T, ldc int) {
	w := p.acquire(workers)
	w.rank2K(n, k, alpha, stored(tA, a, lda), stored(tA, b, ldb), beta, lower(ul, stored(blas.NoTrans, c, ldc)))
	w.release()
}

// rankK computes the lower triangle of C ← α·A·Aᵀ + β·C with A n×k. A is divided into A₁ above A₂:
//
//	C₁₁ ← α·A₁·A₁ᵀ + β·C₁₁   C₂₁ ← α·A₂·A₁ᵀ + β·C₂₁   C₂₂ ← α·A₂·A₂ᵀ + β·C₂₂
//
// The second is a full product, the others are smaller updates of the same kind. A block on the diagonal
// is computed in full, and only its lower triangle is used.
func (w *workspace[T]) rankK(n, k int, alpha T, a view[T], beta T, c view[T]) {
	if n <= corner {
		w.multiply(n, n, k, alpha, a, transposed(a), 0, w.squareOf(n))
		w.addLower(n, beta, c, false)
		return
	}
	top := half(n, corner)
	a2 := from(a, top, 0)
	w.rankK(top, k, alpha, a, beta, c)
	w.multiply(n-top, top, k, alpha, a2, transposed(a), beta, from(c, top, 0))
	w.rankK(n-top, k, alpha, a2, beta, from(c, top, top))
}

// rank2K computes the lower triangle of C ← α·(A·Bᵀ + B·Aᵀ) + β·C with A and B n×k, divided as in rankK.
// A block on the diagonal is X + Xᵀ + β·C with X = α·A·Bᵀ.
func (w *workspace[T]) rank2K(n, k int, alpha T, a, b view[T], beta T, c view[T]) {
	if n <= corner {
		w.multiply(n, n, k, alpha, a, transposed(b), 0, w.squareOf(n))
		w.addLower(n, beta, c, true)
		return
	}
	top := half(n, corner)
	a2, b2, c21 := from(a, top, 0), from(b, top, 0), from(c, top, 0)
	w.rank2K(top, k, alpha, a, b, beta, c)
	w.multiply(n-top, top, k, alpha, a2, transposed(b), beta, c21)
	w.multiply(n-top, top, k, alpha, b2, transposed(a), 1, c21)
	w.rank2K(n-top, k, alpha, a2, b2, beta, from(c, top, top))
}

// squareOf returns a view of the workspace's square with n rows and columns.
func (w *workspace[T]) squareOf(n int) view[T] { return view[T]{Data: w.square[:], Row: n, Col: 1} }

// addLower computes the lower triangle of C ← X + β·C, or of X + Xᵀ + β·C. X is the n×n matrix in
// the square of the workspace. If β = 0, C is not read.
func (w *workspace[T]) addLower(n int, beta T, c view[T], both bool) {
	for i := range n {
		for j := range i + 1 {
			x := w.square[i*n+j]
			if both {
				x += w.square[j*n+i]
			}
			at := i*c.Row + j*c.Col
			if beta != 0 {
				x += beta * c.Data[at]
			}
			c.Data[at] = x
		}
	}
}
