package f32

import "gemm/cuda/ladder"

// Blocktile2D adds registers for a tile of C.
var Blocktile2D = ladder.Rung{
	Name: "blocktile2d", Type: "f32", Least: 70, Capped: true,
	Doc:     "a thread keeps a tile of elements of C in registers",
	Tiles:   squares(0),
	Threads: ladder.OnePerTile, Reads: ladder.Thread, Barriers: ladder.Barriers{Slice: 2}, Banks: ladder.Plain(4),
}
