package gemm

import (
	"context"

	"gonum.org/v1/gonum/blas"
)

// The optional interfaces of a Multiplier. The full BLAS operation is for numbers only: a field has no α.

// As returns m as I, an optional interface about the full BLAS operation, if m has it and T is a type of numbers.
func As[I any, T Element](m Multiplier[T]) (I, bool) {
	x, ok := m.(I)
	return x, ok && !TypeOf[T]().IsField()
}

// Gemmer computes the full BLAS operation C ← α·op(A)·op(B) + β·C, where op(X) is X (blas.NoTrans) or its transpose
// (blas.Trans, blas.ConjTrans). Shapes are op(A) m×k, op(B) k×n and C m×n; errors are the same as for a Multiplier. If
// β = 0, C is not read, so NaN there does not spread. If α = 0 or k = 0, A and B are not read.
//
// α multiplies the sums of products. If |α| ≤ 2²⁴, the sums lose by underflow at most the least
// normal number per term, and a sum that overflows stays infinite. If |α| > 2²⁴ or |α| < 2⁻²⁴, then
// serial/packed, parallel/packed and the variants of mpi multiply an operand by α first, if the sums would
// leave the range. So underflow and overflow occur only if the result itself is out of range. If the elements
// of both operands differ so much that neither order fits, small ones underflow in mpi.
//
// In half precision α and β have the element type. The arithmetic is f32, with its underflow and
// overflow. At the end an element of C is rounded to the type, once.
type Gemmer[T Element] interface {
	Gemm(ctx context.Context, tA, tB blas.Transpose, alpha T, a, b Matrix[T], beta T, c Matrix[T]) error
}

// Stager is a Multiplier whose operands live elsewhere, on other ranks or on a device. Stage places them there; the Run
// then computes the product as often as required. Measurements use a Stager in place of Multiply.
//
// All ranks make the same calls. On ranks other than the root, c, a and b are empty. If a context is
// cancelled, all ranks agree on that.
type Stager[T Element] interface {
	Stage(ctx context.Context, c, a, b Matrix[T]) (Run, error)
}

// GemmStager is implemented by a Stager that stages the full BLAS operation too. Each Do of
// the Run begins with the c that was staged.
type GemmStager[T Element] interface {
	StageGemm(ctx context.Context, tA, tB blas.Transpose, alpha T, a, b Matrix[T], beta T, c Matrix[T]) (Run, error)
}

// BatchGemmer computes the operation of a Gemmer for every matrix of batches by one call:
// C[x] ← α·op(A[x])·op(B[x]) + β·C[x]. Errors are the same as for a Gemmer, and an ErrShape for batches that
// CheckBatch refuses. No matrix of C may overlap one of A or B; A and B may be the same.
type BatchGemmer[T Element] interface {
	GemmBatch(ctx context.Context, tA, tB blas.Transpose, alpha T, a, b Batch[T], beta T, c Batch[T]) error
}

// BatchStager is implemented by a Stager that stages batches, as GemmStager stages one operation. A Run that is an
// Explainer says how it computes a batch. The error is an ErrUnavailable if it does not compute the operation.
type BatchStager[T Element] interface {
	StageBatch(ctx context.Context, tA, tB blas.Transpose, alpha T, a, b Batch[T], beta T, c Batch[T]) (Run, error)
}

// Explainer is a Multiplier that chooses something at run time. Resolved returns the parameters of
// the last product as they were used: auto is replaced by a value, a library by its version. The
// record has them next to the requested parameters.
type Explainer interface {
	Resolved() Params
}
