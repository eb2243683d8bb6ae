package f32

import "gemm/cuda/ladder"

// Multistage adds further slices.
var Multistage = ladder.Rung{
	Name: "multistage", Type: "f32", Least: 80, Single: true, Capped: true, Copies: true,
	Doc:     "a ring of slices in shared memory, of which several are on their way",
	Tiles:   squares(3),
	Threads: ladder.OnePerTile, Shared: transposedSlices, Reads: ladder.Thread, Barriers: ladder.Barriers{Slice: 1},
	Banks: asyncQuads,
}
