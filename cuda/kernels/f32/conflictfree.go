package f32

import "gemm/cuda/ladder"

// Conflictfree changes the layout of both slices.
var Conflictfree = ladder.Rung{
	Name: "conflictfree", Type: "f32", Least: 70, Capped: true, Copies: true,
	Doc:     "the layout of slices in shared memory avoids bank conflicts",
	Advice:  "G3",
	Tiles:   squares(0),
	Threads: ladder.OnePerTile, Reads: ladder.Thread, Barriers: ladder.Barriers{Slice: 2}, Banks: scatteredQuads,
}
