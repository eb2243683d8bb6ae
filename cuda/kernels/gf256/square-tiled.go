package gf256

import "gemm/cuda/ladder"

// SquareTiled adds shared memory.
var SquareTiled = ladder.Rung{
	Name: "square-tiled", Type: "gf256", Least: 70,
	Doc:     "a block reads square tiles of A and B once, into shared memory",
	Tiles:   []ladder.Tile{{BM: 16, BN: 16, BK: 16}, {BM: 32, BN: 32, BK: 32}},
	Threads: ladder.OnePerElement, Reads: ladder.Sliced, Barriers: ladder.Barriers{Slice: 2}, Banks: ladder.Plain(1),
}
