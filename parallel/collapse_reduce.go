package parallel

import (
	"context"

	"gemm"
)

// collapseReduce merges the private copies of C without atomic additions. After all copies are complete, the matrix
// rows of C are divided among the workers, and each row is the sum of that row in all copies. This is a reduction:
//
//	parallel: private P = 0
//	  for (i, l): for j: P[i][j] += A[i][l]·B[l][j]
//	parallel for i: C[i] = Σ P[i]
//
// The sums are formed in the order of the workers. So with a static schedule the result is the same every time.
func collapseReduce[T gemm.Float](ctx context.Context, t *team[T], c, a, b gemm.Matrix[T]) error {
	copies, release, err := privateSums(ctx, t, c, a, b)
	defer release()
	if err != nil {
		return err
	}
	return mergeReduce(ctx, t.pool, c, copies)
}

func collapseReduceVariant() gemm.Variant {
	return gemm.Variant{
		Name:   "parallel/collapse-reduce",
		Parent: "parallel/collapse-atomic",
		Doc:    "collapse-atomic, but a reduction merges the private copies of C",
		Can:    teamCan,
		Params: scheduleParams("terms of rows"),
		Model:  privateModel,
		Bound:  gemm.Classical,
		F32:    loopsOnTeam("parallel/collapse-reduce", collapseReduce[float32]),
		F64:    loopsOnTeam("parallel/collapse-reduce", collapseReduce[float64]),
	}
}
