package tf32

import (
	"gemm"
	"gemm/cuda/ladder"
)

// MMA keeps fragments in registers of its own.
var MMA = ladder.Rung{
	Name: "tf32-mma", Type: "f32", Role: gemm.Production, Least: 80, Pads: true, Splits: true, Capped: true,
	Copies:     true,
	Doc:        "warp tiles by tensor cores, by mma, operands rounded to TF32",
	Arithmetic: ladder.TF32, Narrow: 0.6,
	Tiles: []ladder.Tile{
		{BM: 256, BN: 128, BK: 32, WM: 64, WN: 64, Stages: 3}, {BM: 128, BN: 128, BK: 32, WM: 64, WN: 64, Stages: 3},
		{BM: 128, BN: 128, BK: 32, WM: 64, WN: 64, Stages: 2}, {BM: 64, BN: 64, BK: 32, WM: 32, WN: 32, Stages: 3},
	},
	Speeds: map[string]ladder.Speed{
		"256x128x32/64x64": {Share: 0.345, Blocks: 1, Alone: 0.345, Ends: 1e-6},
		"128x128x32/64x64": {Share: 0.345, Blocks: 2, Alone: 0.32, Ends: 3e-6},
		"64x64x32/32x32":   {Share: 0.25, Blocks: 4, Alone: 0.215, Ends: 5e-7},
	},
	Threads: ladder.WarpPerTile, Shared: ladder.Slices(4, 4, 8), Registers: ladder.WarpFragments(1, 16),
	Reads: ladder.Warp, Barriers: ladder.Barriers{Slice: 1, Besides: 1}, Banks: ladder.Units(4, 4, 8),
}
