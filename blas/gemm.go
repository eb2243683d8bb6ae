package blas

import (
	"context"

	"gonum.org/v1/gonum/blas"
)

// Dgemm computes C ← α·op(A)·op(B) + β·C with op(A) m×k, op(B) k×n and C m×n.
func (i Implementation) Dgemm(tA, tB blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64,
	ldb int, beta float64, c []float64, ldc int) {
	if !gemmFits(tA, tB, m, n, k, a, lda, b, ldb, c, ldc) ||
		tA == blas.NoTrans && tB != blas.NoTrans && terms(m, n, k) <= fewDots {
		i.Implementation.Dgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	double.gemm(i.Workers, tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

// Sgemm is Dgemm for float32.
func (i Implementation) Sgemm(tA, tB blas.Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32,
	ldb int, beta float32, c []float32, ldc int) {
	if !gemmFits(tA, tB, m, n, k, a, lda, b, ldb, c, ldc) ||
		tA == blas.NoTrans && tB != blas.NoTrans && terms(m, n, k) <= fewDots {
		i.Implementation.Sgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	single.gemm(i.Workers, tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

// gemmFits reports whether the arguments are valid and C has elements. It panics if a slice is too short.
// If it returns false, gonum does the rest: it panics, or has nothing to do.
func gemmFits[T element](tA, tB blas.Transpose, m, n, k int, a []T, lda int, b []T, ldb int, c []T, ldc int) bool {
	if !isTranspose(tA) || !isTranspose(tB) || m <= 0 || n <= 0 || k < 0 {
		return false
	}
	rowsA, colsA := ordered(tA, m, k)
	rowsB, colsB := ordered(tB, k, n)
	if lda < max(1, colsA) || ldb < max(1, colsB) || ldc < n {
		return false
	}
	mustHold(a, rowsA, colsA, lda, shortA)
	mustHold(b, rowsB, colsB, ldb, shortB)
	mustHold(c, m, n, ldc, shortC)
	return true
}

func (p *precision[T]) gemm(workers int, tA, tB blas.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int,
	beta T, c []T, ldc int) {
	_ = p.product(context.Background(), workers, m, n, k, alpha, stored(tA, a, lda), stored(tB, b, ldb), beta,
		stored(blas.NoTrans, c, ldc)) // the only error would be the context's
}

// product computes C ← α·A·B + β·C with A m×k, B k×n and C m×n. The error is the context's.
func (p *precision[T]) product(ctx context.Context, workers, m, n, k int, alpha T, a, b view[T], beta T,
	c view[T]) error {
	if isTiny(m, n, k, alpha) {
		multiplyTiny(m, n, k, alpha, a, b, beta, c)
		return nil
	}
	w := p.borrow(workers)
	err := w.product(ctx, m, n, k, alpha, a, b, beta, c)
	w.giveBack()
	return err
}
