package production

import (
	"gemm"
	"gemm/cuda/ladder"
)

// TF32MMA is for GPUs before compute capability 9.0: tf32-mma with settings for each shape and cuts along k.
var TF32MMA = ladder.Rung{
	Name: "tuned-tf32-mma", Type: "f32", Source: "production/tf32-mma", Parent: "tf32-mma", Role: gemm.Production,
	Least: 80, Pads: true, Splits: true, Capped: true, Copies: true,
	Doc:        "as tuned-tf32, for GPUs before compute capability 9.0",
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
