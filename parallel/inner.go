package parallel

import (
	"context"

	"gemm"
	"gemm/serial"
)

// inner shares out the innermost loop of ikj: the workers are called together for
// every element of A, mk times, to add a row of B to a row of C.
//
//	for i, for l: parallel for j: C[i][j] += A[i][l]·B[l][j]
//
// It is what a pragma before the wrong loop makes. The work between two meetings is
// 2n operations, so that the fork and join have to cost much less than a row takes,
// and neighbours write to the same lines of C.
type inner[T gemm.Float] struct{ toucher[T] }

// Multiply implements gemm.Multiplier.
func (x inner[T]) Multiply(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	var i, l int
	add := func(_, lo, hi int) { serial.AddScaled(c.Row(i)[lo:hi], a.At(i, l), b.Row(l)[lo:hi]) }
	return x.product(ctx, c, a, b, func() error {
		if err := zero(ctx, x.team, c); err != nil {
			return err
		}
		for i = range c.Rows {
			for l = range a.Cols {
				if err := x.loop(ctx, c.Cols, add); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func newInner[T gemm.Float](t toucher[T], _ gemm.Params) (gemm.Multiplier[T], error) {
	return inner[T]{t}, nil
}

func innerVariant() gemm.Variant {
	return gemm.Variant{
		Name:   "parallel/inner",
		Doc:    "the innermost loop shared out, once for every element of A",
		Can:    teamCan,
		Params: scheduleParams("columns"),
		Model:  ikjModel,
		Bound:  gemm.Classical,
		F32:    onTeam("parallel/inner", newInner[float32]),
		F64:    onTeam("parallel/inner", newInner[float64]),
	}
}
