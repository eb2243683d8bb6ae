package f32

import "gemm/cuda/ladder"

// Serpentine is prefetch with another order of products.
var Serpentine = ladder.Rung{
	Name: "serpentine", Type: "f32", Least: 80, Single: true, Capped: true, Copies: true,
	Doc:     "each product has an operand in common with the one before",
	Tiles:   largeSquare(),
	Threads: ladder.OnePerTile, Shared: transposedSlices, Registers: twoFragments, Reads: ladder.Thread,
	Barriers: ladder.Barriers{Slice: 1, Besides: 1}, Banks: asyncQuads,
}
