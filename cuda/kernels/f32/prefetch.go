package f32

import "gemm/cuda/ladder"

// Prefetch adds a second set of fragments.
var Prefetch = ladder.Rung{
	Name: "prefetch", Type: "f32", Least: 80, Single: true, Capped: true, Copies: true,
	Doc:     "fragments are read from shared memory one step ahead of the products",
	Tiles:   squares(3)[:1],
	Threads: ladder.OnePerTile, Shared: transposedSlices, Registers: twoFragments, Reads: ladder.Thread,
	Barriers: ladder.Barriers{Slice: 1, Besides: 1}, Banks: asyncQuads,
}
