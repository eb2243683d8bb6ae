package parallel

import (
	"context"

	"gemm"
	"gemm/serial"
)

// inner divides the innermost loop of ikj. For every element of A, mk times, the workers start
// together to add a row of B to a row of C.
//
//	for i, for l: parallel for j: C[i][j] += A[i][l]·B[l][j]
//
// This is what a pragma before the wrong loop does. There are only 2n operations per fork and join, so these must cost
// much less than a row takes. Neighbouring workers also write to the same cache lines of C.
func inner[T gemm.Float](ctx context.Context, t *team[T], c, a, b gemm.Matrix[T]) error {
	var i, l int
	add := func(_, lo, hi int) { serial.AddScaled(c.Row(i)[lo:hi], a.At(i, l), b.Row(l)[lo:hi]) }
	if err := t.zero(ctx, c); err != nil {
		return err
	}
	for i = range c.Rows {
		for l = range a.Cols {
			if err := t.loop(ctx, c.Cols, add); err != nil {
				return err
			}
		}
	}
	return nil
}

func innerVariant() gemm.Variant {
	return gemm.Variant{
		Name:   "parallel/inner",
		Parent: "parallel/rows",
		Doc:    "the innermost loop is divided, once for every element of A",
		Can:    teamCan,
		Params: scheduleParams("columns"),
		Model:  ikjModel,
		Bound:  gemm.Classical,
		F32:    loopsOnTeam("parallel/inner", inner[float32]),
		F64:    loopsOnTeam("parallel/inner", inner[float64]),
	}
}
