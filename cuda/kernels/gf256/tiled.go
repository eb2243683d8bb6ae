package gf256

import "gemm/cuda/ladder"

// Tiled has tiles of any shape.
var Tiled = ladder.Rung{
	Name: "tiled", Type: "gf256", Least: 70, AtLaunch: true,
	Doc:     "tiles of any shape, given when the kernel is launched",
	Tiles:   []ladder.Tile{{BM: 16, BN: 64, BK: 32}, {BM: 8, BN: 128, BK: 32}, {BM: 4, BN: 256, BK: 32}},
	Threads: ladder.OnePerElement, Reads: ladder.Sliced, Barriers: ladder.Barriers{Slice: 2}, Banks: words,
	Shared: func(t ladder.Tile) int { return t.BM*t.BK + t.BK*t.BN },
	Fit:    fewRows,
	Rows: func(own ladder.Tile, threads, _ int) ladder.Tile {
		own.BM, own.BN = min(own.BM, 1024/threads), threads
		return own
	},
}
