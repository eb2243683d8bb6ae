package mpi

import (
	"gemm"
	"gemm/gf256"
	"gemm/mpi/plan"
)

// newScatterBlocks is scatter-rows with blocks of C in place of rows. The ranks are a grid of P×Q.
// Rank (i, j) needs only block i of the rows of A and block j of the columns of B; unless Q is 1,
// that is less than all of B. Blocks are copied row by row into the buffer and out of it.
//
//	buffer of rank 0   A₀ B₀  A₀ B₁  A₁ B₀  A₁ B₁
//	rank                 0      1      2      3      (a grid of 2×2)
//	after Scatter      A₀ B₀  A₀ B₁  A₁ B₀  A₁ B₁
//	computes            C₀₀    C₀₁    C₁₀    C₁₁
//
// Over several hosts, the ranks of a host share their blocks: rank 0 sends the first of them each block of A
// and B that the host needs, once. The grid is laid on the hosts so that these are few.
//
//	2×2, hosts 0 0 1 1   A₀ B₀ B₁  A₁ B₀ B₁     to rank 0 and to rank 2
func newScatterBlocks[T gemm.Element](t *task[T]) (product[T], error) {
	g, err := gridOf(t.params, t.world.Size(), t.shape)
	if err != nil {
		return nil, err
	}
	j, err := newJoined(t, t.lay(g, plan.BlocksFlow), true)
	return &j, err
}

func scatterBlocksVariant() gemm.Variant {
	v := gemm.Variant{
		Name:   "mpi/scatter-blocks",
		Doc:    "a block of C per rank: its rows of A and columns of B in one Scatter, C in one Gather",
		Params: commonParams(gridParam()),
	}
	v = types{newScatterBlocks[float32], newScatterBlocks[float64], newScatterBlocks[gf256.Elem]}.of(v)
	return variant(v, func(s gemm.Shape, ranks int, p gemm.Params) float64 {
		g, err := gridOf(p, ranks, s)
		if err != nil {
			return 0 // the constructor says so
		}
		return 2 * packedElements(s, g)
	})
}
