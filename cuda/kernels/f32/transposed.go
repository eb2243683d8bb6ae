package f32

import "gemm/cuda/ladder"

// Transposed changes the layout of A's slice.
var Transposed = ladder.Rung{
	Name: "transposed", Type: "f32", Least: 70, Capped: true, Copies: true,
	Doc:     "A is transposed in shared memory, so both fragments are read 16 bytes at a time",
	Tiles:   squares(0),
	Threads: ladder.OnePerTile, Reads: ladder.Thread, Barriers: ladder.Barriers{Slice: 2}, Banks: neighbouringQuads,
}
