package f32

import "gemm/cuda/ladder"

// Smem adds shared memory.
var Smem = ladder.Rung{
	Name: "smem", Type: "f32", Least: 70,
	Doc:     "a block reads slices of A and B once, into shared memory",
	Advice:  "G1",
	Tiles:   []ladder.Tile{{BM: 32, BN: 32, BK: 32}},
	Threads: ladder.OnePerElement, Reads: ladder.Sliced, Barriers: ladder.Barriers{Slice: 2}, Banks: ladder.Plain(4),
}
