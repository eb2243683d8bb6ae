package f64

import "gemm/cuda/ladder"

// DMMASmem multiplies slices in shared memory by tensor cores.
var DMMASmem = ladder.Rung{
	Name: "dmma-smem", Type: "f64", Parent: "transposed", Least: 80, Copies: true,
	Doc:        "warp tiles by tensor cores, 8x8x4 by wmma, from one slice in shared memory",
	Arithmetic: ladder.Arithmetic{Pipe: "f64-tensor"},
	Tiles:      []ladder.Tile{{BM: 64, BN: 64, BK: 16, WM: 32, WN: 32}},
	Threads:    ladder.WarpPerTile, Registers: ladder.WarpFragments(2, 4),
	Shared: func(t ladder.Tile) int { return 8 * (t.BM*(t.BK+4) + t.BK*(t.BN+4)) },
	Reads:  ladder.Warp, Barriers: ladder.Barriers{Slice: 2}, Banks: ladder.Units(8, 4, 4),
}
