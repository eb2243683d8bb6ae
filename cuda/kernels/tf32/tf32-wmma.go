// Package tf32 has the rungs of single precision whose operands are rounded to TF32, for the tensor cores.
package tf32

import "gemm/cuda/ladder"

// WMMA replaces thread tiles by products of the tensor cores.
var WMMA = ladder.Rung{
	Name: "tf32-wmma", Type: "f32", Least: 80, Capped: true, Copies: true,
	Doc:        "warp tiles by tensor cores, 16x16x8 by wmma, operands rounded to TF32",
	Arithmetic: ladder.TF32,
	Tiles: []ladder.Tile{
		{BM: 128, BN: 128, BK: 32, WM: 64, WN: 64, Stages: 3}, {BM: 128, BN: 128, BK: 32, WM: 64, WN: 64, Stages: 2},
	},
	Threads: ladder.WarpPerTile, Shared: ladder.Slices(4, 4, 8), Registers: ladder.WarpFragments(1, 16),
	Reads: ladder.Warp, Barriers: ladder.Barriers{Slice: 1, Besides: 2}, Banks: ladder.Units(4, 4, 8),
}
