package f64

import "gemm/cuda/ladder"

// DMMAMMA loads fragments itself, for larger products.
var DMMAMMA = ladder.Rung{
	Name: "dmma-mma", Type: "f64", Least: 80, Copies: true,
	Doc:        "warp tiles by tensor cores, 16x8x16 by mma",
	Arithmetic: ladder.Arithmetic{Pipe: "f64-tensor"},
	Tiles:      []ladder.Tile{{BM: 64, BN: 64, BK: 16, WM: 32, WN: 32, Stages: 3}},
	Threads:    ladder.WarpPerTile, Shared: ladder.Slices(8, 4, 4), Registers: ladder.WarpFragments(2, 16),
	Reads: ladder.Warp, Barriers: ladder.Barriers{Slice: 1}, Banks: paddedFragments,
}
