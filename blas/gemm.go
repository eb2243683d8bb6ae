package blas

import (
	"context"
	"unsafe"

	"gonum.org/v1/gonum/blas"

	"gemm/internal/block"
)

// Dgemm computes C ← α·op(A)·op(B) + β·C with op(A) m×k, op(B) k×n and C m×n.
func (i Implementation) Dgemm(tA, tB blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64,
	ldb int, beta float64, c []float64, ldc int) {
	if double.kernel.IsFew(m, n, k, tB != NoTrans) && block.IsModerate(alpha) && fitsFew(len(a), tA, m, k, lda) &&
		fitsFew(len(b), tB, k, n, ldb) && fitsFew(len(c), NoTrans, m, n, ldc) {
		double.small(tA, tB, m, n, k, alpha, unsafe.SliceData(a), lda, unsafe.SliceData(b), ldb, beta,
			unsafe.SliceData(c), ldc)
		return
	}
	if !gemmFits(tA, tB, m, n, k, len(a), lda, len(b), ldb, len(c), ldc) {
		i.Implementation.Dgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	double.gemm(i.Workers, tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

// Sgemm is Dgemm for float32.
func (i Implementation) Sgemm(tA, tB blas.Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32,
	ldb int, beta float32, c []float32, ldc int) {
	if single.kernel.IsFew(m, n, k, tB != NoTrans) && block.IsModerate(alpha) && fitsFew(len(a), tA, m, k, lda) &&
		fitsFew(len(b), tB, k, n, ldb) && fitsFew(len(c), NoTrans, m, n, ldc) {
		single.small(tA, tB, m, n, k, alpha, unsafe.SliceData(a), lda, unsafe.SliceData(b), ldb, beta,
			unsafe.SliceData(c), ldc)
		return
	}
	if !gemmFits(tA, tB, m, n, k, len(a), lda, len(b), ldb, len(c), ldc) {
		i.Implementation.Sgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	single.gemm(i.Workers, tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

// gemmFits reports whether the arguments are valid and C has elements. It panics if a slice, of which it gets the
// length, is too short. If it returns false, gonum does the rest: it panics, or has nothing to do.
func gemmFits(tA, tB blas.Transpose, m, n, k, a, lda, b, ldb, c, ldc int) bool {
	if !isTranspose(tA) || !isTranspose(tB) || m <= 0 || n <= 0 || k < 0 {
		return false
	}
	rowsA, colsA := ordered(tA, m, k)
	rowsB, colsB := ordered(tB, k, n)
	if lda < max(1, colsA) || ldb < max(1, colsB) || ldc < n {
		return false
	}
	switch {
	case !covers(a, rowsA, colsA, lda):
		panic(shortA)
	case !covers(b, rowsB, colsB, ldb):
		panic(shortB)
	case !covers(c, m, n, ldc):
		panic(shortC)
	}
	return true
}

// fitsFew reports whether a slice of n elements holds op of a matrix of few rows and columns, and t is valid. It also
// returns false if the leading dimension is larger than the slice.
func fitsFew(n int, t blas.Transpose, rows, cols, ld int) bool {
	switch t {
	case NoTrans:
	case Trans, ConjTrans:
		rows, cols = cols, rows
	default:
		return false
	}
	return cols <= ld && ld <= n && uint64(rows-1)*uint64(ld)+uint64(cols) <= uint64(n)
}

// isFew reports whether small computes a product.
func (p *precision[T]) isFew(tB blas.Transpose, m, n, k int, alpha T) bool {
	return p.kernel.IsFew(m, n, k, tB != NoTrans) && block.IsModerate(alpha)
}

// small computes C ← α·op(A)·op(B) + β·C, for which isFew. It takes no workspace.
func (p *precision[T]) small(tA, tB blas.Transpose, m, n, k int, alpha T, a *T, lda int, b *T, ldb int,
	beta T, c *T, ldc int) {
	aRow, aCol := lda, 1
	if tA != blas.NoTrans {
		aRow, aCol = 1, lda
	}
	if tB != blas.NoTrans {
		p.kernel.SmallTransposed(m, n, k, a, aRow, aCol, b, ldb, c, ldc, alpha, beta)
		return
	}
	p.kernel.Small(m, n, k, a, aRow, aCol, b, ldb, c, ldc, alpha, beta)
}

func (p *precision[T]) gemm(workers int, tA, tB blas.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int,
	beta T, c []T, ldc int) {
	_ = p.product(context.Background(), workers, m, n, k, alpha, stored(tA, a, lda), stored(tB, b, ldb), beta,
		stored(blas.NoTrans, c, ldc)) // the only error would be the context's
}

// product computes C ← α·A·B + β·C with A m×k, B k×n and C m×n. The error is the context's.
func (p *precision[T]) product(ctx context.Context, workers, m, n, k int, alpha T, a, b view[T], beta T,
	c view[T]) error {
	w := p.acquire(workers)
	err := w.product(ctx, m, n, k, alpha, a, b, beta, c)
	w.release()
	return err
}
