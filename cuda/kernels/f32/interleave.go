package f32

import "gemm/cuda/ladder"

// Interleave is serpentine with another order of copies.
var Interleave = ladder.Rung{
	Name: "interleave", Type: "f32", Least: 80, Single: true, Capped: true, Copies: true,
	Doc:     "the copies of a slice are spread over the products of another",
	Tiles:   largeSquare(),
	Threads: ladder.OnePerTile, Shared: transposedSlices, Registers: twoFragments, Reads: ladder.Thread,
	Barriers: ladder.Barriers{Slice: 1, Besides: 1}, Banks: asyncQuads,
}
