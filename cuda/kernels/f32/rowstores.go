package f32

import "gemm/cuda/ladder"

// Rowstores is interleave with other stores.
var Rowstores = ladder.Rung{
	Name: "rowstores", Type: "f32", Least: 80, Single: true, Capped: true, Copies: true,
	Doc:     "C that is not aligned goes through shared memory, to be stored in rows",
	Tiles:   largeSquare(),
	Threads: ladder.OnePerTile, Shared: transposedSlices, Registers: twoFragments, Reads: ladder.Thread,
	Barriers: ladder.Barriers{Slice: 1, Besides: 1}, Banks: asyncQuads,
}
