package f64

import "gemm/cuda/ladder"

// DMMAAsync copies slices asynchronously.
var DMMAAsync = ladder.Rung{
	Name: "dmma-async", Type: "f64", Least: 80, Copies: true,
	Doc:        "slices are copied asynchronously, several ahead; tensor cores by wmma",
	Arithmetic: ladder.Arithmetic{Pipe: "f64-tensor"},
	Tiles:      []ladder.Tile{{BM: 64, BN: 64, BK: 16, WM: 32, WN: 32, Stages: 3}},
	Threads:    ladder.WarpPerTile, Shared: ladder.Slices(8, 4, 4), Registers: ladder.WarpFragments(2, 4),
	Reads: ladder.Warp, Barriers: ladder.Barriers{Slice: 1, Besides: 1}, Banks: ladder.Units(8, 4, 4),
}
