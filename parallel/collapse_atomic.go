package parallel

import (
	"context"

	"gemm"
)

// collapseAtomic moves the atomic additions out of the loop. Each worker adds its terms to a
// private C, and at the end adds its private C atomically to the common one. There are mn atomic additions per
// worker in place of mnk in all. The price is a copy of C for each worker.
//
//	parallel: private P = 0
//	  for (i, l): for j: P[i][j] += A[i][l]·B[l][j]
//	  for i, for j: atomic C[i][j] += P[i][j]
type collapseAtomic[T gemm.Float] struct{ *team[T] }

// Multiply implements gemm.Multiplier.
func (x collapseAtomic[T]) Multiply(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	return x.multiply(ctx, c, a, b, func() error {
		copies, release, err := privateSums(ctx, x.team, c, a, b)
		defer release()
		if err != nil {
			return err
		}
		if err := x.zero(ctx, c); err != nil {
			return err
		}
		return MergeAtomic(ctx, x.pool, c, copies)
	})
}

func newCollapseAtomic[T gemm.Float](t *team[T], _ gemm.Params) (gemm.Multiplier[T], error) {
	return collapseAtomic[T]{t}, nil
}

func collapseAtomicVariant() gemm.Variant {
	return gemm.Variant{
		Name:   "parallel/collapse-atomic",
		Parent: "parallel/collapse-inner-atomic",
		Parts:  []gemm.Part{gemm.ReportKernel},
		Doc:    "collapse-inner-atomic with a private C per worker, merged by atomic additions at the end",
		Can:    teamCan,
		Params: scheduleParams("terms of rows"),
		Model:  privateModel,
		Loop:   gemm.Loop{Level: gemm.CollapsedLevel, Instructions: 6, Walk: gemm.Rows, Atomic: gemm.AtomicCopies},
		Bound:  gemm.Classical,
		F32:    onTeam("parallel/collapse-atomic", newCollapseAtomic[float32]),
		F64:    onTeam("parallel/collapse-atomic", newCollapseAtomic[float64]),
	}
}
