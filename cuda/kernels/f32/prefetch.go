package f32

import "gemm/cuda/ladder"

// Prefetch is blockorder with a second set of fragments.
var Prefetch = ladder.Rung{
	Name: "prefetch", Type: "f32", Least: 80, Single: true, Capped: true, Copies: true,
	Doc:     "fragments are read from shared memory one step ahead of the products",
	Tiles:   largeSquare(),
	Threads: ladder.OnePerTile, Shared: transposedSlices, Registers: twoFragments, Reads: ladder.Thread,
	Barriers: ladder.Barriers{Slice: 1, Besides: 1}, Banks: asyncQuads,
}

// twoFragments is the registers of thread tiles with two sets of fragments.
func twoFragments(t ladder.Tile) int { return t.TM*t.TN + 2*(t.TM+t.TN) }
