package blas

import (
	"context"
	"unsafe"

	"gonum.org/v1/gonum/blas"

	"gemm"
)

// The transposes that Gemm and Problem take. The constants are gonum's.
const (
	NoTrans   = blas.NoTrans   // the matrix
	Trans     = blas.Trans     // its transpose
	ConjTrans = blas.ConjTrans // the same, for real numbers
)

// Multiply computes C = A·B. The error is a gemm.ErrShape if the matrices are malformed or do not conform, or a
// gemm.ErrOverlap if C overlaps A or B; then nothing is written. Once its workspace is large enough, Multiply
// allocates nothing.
func Multiply[T gemm.Float](c, a, b gemm.Matrix[T]) error {
	return MultiplyContext(context.Background(), c, a, b)
}

// MultiplyContext is Multiply until ctx is cancelled. Then it returns the context's error, and C is undefined.
func MultiplyContext[T gemm.Float](ctx context.Context, c, a, b gemm.Matrix[T]) error {
	if err := gemm.CheckShapes(c, a, b); err != nil {
		return err
	}
	return compute(ctx, NoTrans, NoTrans, c.Rows, c.Cols, a.Cols, 1, a, b, 0, c)
}

// Gemm computes C ← α·op(A)·op(B) + β·C, where op(X) is X (NoTrans) or its transpose (Trans). If β = 0,
// C is not read. If α = 0, A and B are not read. The errors are Multiply's, or a gemm.ErrParam if tA or tB
// is none of the constants.
func Gemm[T gemm.Float](tA, tB blas.Transpose, alpha T, a, b gemm.Matrix[T], beta T, c gemm.Matrix[T]) error {
	return GemmContext(context.Background(), tA, tB, alpha, a, b, beta, c)
}

// GemmContext is Gemm until ctx is cancelled. Then it returns the context's error, and C is undefined.
func GemmContext[T gemm.Float](ctx context.Context, tA, tB blas.Transpose, alpha T, a, b gemm.Matrix[T], beta T,
	c gemm.Matrix[T]) error {
	m, n, k, err := gemm.CheckGemm(tA, tB, a, b, c)
	if err != nil {
		return err
	}
	return compute(ctx, tA, tB, m, n, k, alpha, a, b, beta, c)
}

// compute computes C ← α·op(A)·op(B) + β·C with op(A) m×k, op(B) k×n and C m×n.
func compute[T gemm.Float](ctx context.Context, tA, tB blas.Transpose, m, n, k int, alpha T, a, b gemm.Matrix[T],
	beta T, c gemm.Matrix[T]) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p := precisionOf[T]()
	if p.isFew(tB, m, n, k, alpha) {
		p.small(tA, tB, m, n, k, alpha, unsafe.SliceData(a.Data), a.Stride, unsafe.SliceData(b.Data), b.Stride, beta,
			unsafe.SliceData(c.Data), c.Stride)
		return nil
	}
	return p.product(ctx, 0, m, n, k, alpha, stored(tA, a.Data, a.Stride), stored(tB, b.Data, b.Stride), beta,
		stored(NoTrans, c.Data, c.Stride))
}
