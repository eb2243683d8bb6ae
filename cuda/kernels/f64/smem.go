package f64

import "gemm/cuda/ladder"

// Smem has slices in shared memory, and a tile of C in registers.
var Smem = ladder.Rung{
	Name: "smem", Type: "f64", Least: 70,
	Tiles:   squares(),
	Threads: ladder.OnePerTile, Reads: ladder.Thread, Barriers: ladder.Barriers{Slice: 2}, Banks: ladder.Plain(8),
}

// squares are blocks of 16×16 threads with slices of 8 and 16.
func squares() []ladder.Tile {
	return []ladder.Tile{{BM: 64, BN: 64, BK: 8, TM: 4, TN: 4}, {BM: 64, BN: 64, BK: 16, TM: 4, TN: 4}}
}
