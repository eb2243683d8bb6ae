package f32

import "gemm/cuda/ladder"

// Blocktile1D adds registers for a column of C.
var Blocktile1D = ladder.Rung{
	Name: "blocktile1d", Type: "f32", Least: 70,
	Doc:     "a thread keeps a column of elements of C in registers",
	Advice:  "G2",
	Tiles:   []ladder.Tile{{BM: 64, BN: 64, BK: 8, TM: 8}},
	Threads: ladder.OnePerTile, Reads: ladder.Thread, Barriers: ladder.Barriers{Slice: 2}, Banks: ladder.Plain(4),
}
