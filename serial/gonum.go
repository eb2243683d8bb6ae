package serial

import (
	"context"

	"gonum.org/v1/gonum/blas"
	blasgonum "gonum.org/v1/gonum/blas/gonum"

	"gemm"
)

// gonum is the baseline: dgemm and sgemm of gonum's own BLAS. It multiplies blocks of 64×64. Like
// ikj it adds rows of B to rows of C, in the SSE instructions of gonum's assembly.
//
// It skips products with a zero of A. So 0·NaN and 0·Inf are 0; IEEE arithmetic makes them NaN. For
// four or more blocks of C it starts a goroutine each; the serial family is measured with
// GOMAXPROCS=1, on which they take turns. Its calls cannot be cancelled, so it gets rows of C in
// pieces of about 10⁹ operations, and also columns if a few rows would take long.
//
// 64 rows and columns of C stay in cache while k runs. So A is read n/64 times and B m/64 times,
// mnk/32 elements, unless they fit.
type gonum[T gemm.Float] struct{ gemm func(c, a, b gemm.Matrix[T]) }

const (
	gonumBlock = 64
	gonumPiece = 1 << 30 // operations of a call
	gonumLong  = 1 << 32 // operations from which the call for few rows is cut
)

// accumulate implements accumulator.
func (g gonum[T]) accumulate(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	rows := int(max(1, gonumPiece/(2*gonumBlock*int64(c.Cols)*int64(a.Cols)))) * gonumBlock
	cols := max(1, gonumLong/(2*gonumBlock*gonumBlock)/a.Cols) * gonumBlock
	for i := 0; i < c.Rows; i += rows {
		height := min(rows, c.Rows-i)
		left := a.Slice(i, 0, height, a.Cols)
		for j := 0; j < c.Cols; j += cols {
			if err := ctx.Err(); err != nil {
				return err
			}
			width := min(cols, c.Cols-j)
			g.gemm(c.Slice(i, j, height, width), left, b.Slice(0, j, a.Cols, width))
		}
	}
	return nil
}

func gonumVariant() gemm.Variant {
	return gemm.Variant{
		Name: "serial/gonum",
		Doc:  "the baseline: dgemm and sgemm of gonum, which skip products with a zero of A, also with NaN and Inf",
		Role: gemm.Baseline,
		Model: func(shape gemm.Shape, _ gemm.Params) gemm.Model {
			s := sizeOf(shape)
			return s.model(3*s.terms+s.a*ceil(s.n, gonumBlock), func(cache, _ float64) float64 {
				return 2*s.c +
					s.a*pick(gonumBlock*(s.k+2*gonumBlock) <= cache, 1, ceil(s.n, gonumBlock)) +
					s.b*pick(s.b+gonumBlock*(s.k+gonumBlock) <= cache, 1, ceil(s.m, gonumBlock))
			})
		},
		Bound: gemm.Classical,
		F32: stateless(gonum[float32]{func(c, a, b gemm.Matrix[float32]) {
			blasgonum.Implementation{}.Sgemm(blas.NoTrans, blas.NoTrans, c.Rows, c.Cols, a.Cols, 1, a.Data, a.Stride, b.Data,
				b.Stride, 1, c.Data, c.Stride)
		}}),
		F64: stateless(gonum[float64]{func(c, a, b gemm.Matrix[float64]) {
			blasgonum.Implementation{}.Dgemm(blas.NoTrans, blas.NoTrans, c.Rows, c.Cols, a.Cols, 1, a.Data, a.Stride, b.Data,
				b.Stride, 1, c.Data, c.Stride)
		}}),
	}
}
