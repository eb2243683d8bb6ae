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
func collapseAtomic[T gemm.Float](ctx context.Context, t *team[T], c, a, b gemm.Matrix[T]) error {
	copies, release, err := privateSums(ctx, t, c, a, b)
	defer release()
	if err != nil {
		return err
	}
	if err := t.zero(ctx, c); err != nil {
		return err
	}
	return mergeAtomic(ctx, t.pool, c, copies)
}

func collapseAtomicVariant() gemm.Variant {
	return gemm.Variant{
		Name:   "parallel/collapse-atomic",
		Parent: "parallel/collapse-inner-atomic",
		Doc:    "collapse-inner-atomic with a private C per worker, merged by atomic additions at the end",
		Can:    teamCan,
		Params: scheduleParams("terms of rows"),
		Model:  privateModel,
		Bound:  gemm.Classical,
		F32:    loopsOnTeam("parallel/collapse-atomic", collapseAtomic[float32]),
		F64:    loopsOnTeam("parallel/collapse-atomic", collapseAtomic[float64]),
	}
}
