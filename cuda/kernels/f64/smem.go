package f64

import "gemm/cuda/ladder"

// Smem has slices in shared memory, and a tile of C in registers.
var Smem = ladder.Rung{
	Name: "smem", Type: "f64", Least: 70,
	Tiles:   squares(),
	Threads: ladder.OnePerTile, Reads: ladder.Thread, Barriers: ladder.Barriers{Slice: 2}, Banks: ladder.Plain(8),
}
