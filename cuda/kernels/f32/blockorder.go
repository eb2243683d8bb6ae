package f32

import "gemm/cuda/ladder"

// Blockorder changes the order of blocks.
var Blockorder = ladder.Rung{
	Name: "blockorder", Type: "f32", Least: 80, Single: true, Capped: true, Copies: true,
	Doc:     "blocks that run at the same time compute neighbouring tiles, for the L2 cache",
	Tiles:   squares(3)[:1],
	Threads: ladder.OnePerTile, Shared: transposedSlices, Reads: ladder.Thread, Barriers: ladder.Barriers{Slice: 1},
	Banks: asyncQuads,
}
