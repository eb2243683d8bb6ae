package f64

import (
	"gemm"
	"gemm/cuda/ladder"
)

// DMMAWMMA copies slices asynchronously.
var DMMAWMMA = ladder.Rung{
	Name: "dmma-wmma", Type: "f64", Least: 80, Copies: true,
	Doc:        "warp tiles by tensor cores, 8x8x4 by wmma",
	Part:       gemm.LabTensor,
	Arithmetic: ladder.Arithmetic{Pipe: "f64-tensor"},
	Tiles:      []ladder.Tile{{BM: 64, BN: 64, BK: 16, WM: 32, WN: 32, Stages: 3}},
	Threads:    ladder.WarpPerTile, Shared: ladder.Slices(8, 4, 4), Registers: ladder.WarpFragments(2, 4),
	Reads: ladder.Warp, Barriers: ladder.Barriers{Slice: 1, Besides: 1}, Banks: ladder.Units(8, 4, 4),
}
