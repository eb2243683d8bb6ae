package production

import (
	"gemm"
	"gemm/cuda/kernels/f32"
	"gemm/cuda/ladder"
)

// F32 is warptile with settings for each shape, cuts along k and batches.
var F32 = ladder.Rung{
	Name: "tuned", Type: "f32", Source: "production/f32", Parent: "warptile", Role: gemm.Production, Least: 80,
	Single: true, Pads: true, Splits: true, Batches: true, Capped: true, Copies: true,
	Doc:    "the kernel for use in each type, with the tile and the cut along k that suit the shape",
	Narrow: 0.85,
	Tiles: []ladder.Tile{
		{BM: 128, BN: 256, BK: 16, WM: 64, WN: 64, TM: 8, TN: 16, Stages: 3},
		{BM: 128, BN: 128, BK: 16, WM: 64, WN: 32, TM: 8, TN: 8, Stages: 3},
		{BM: 128, BN: 128, BK: 16, WM: 64, WN: 64, TM: 8, TN: 16, Stages: 3},
		{BM: 64, BN: 128, BK: 16, WM: 32, WN: 64, TM: 8, TN: 8, Stages: 3},
		{BM: 64, BN: 64, BK: 16, WM: 32, WN: 32, TM: 4, TN: 8, Stages: 3},
	},
	Small: []ladder.Tile{{BM: 32, BN: 32, BK: 16, WM: 32, WN: 32, TM: 4, TN: 8, Stages: 3}},
	Speeds: map[string]ladder.Speed{
		"128x256x16/64x64/8x16": {Share: 0.815, Blocks: 1, Alone: 0.815, Ends: 9e-6},
		"128x128x16/64x32/8x8":  {Share: 0.785, Blocks: 2, Alone: 0.75, Ends: 1e-6},
		"128x128x16/64x64/8x16": {Share: 0.8, Blocks: 2, Alone: 0.72, Ends: 5e-6},
		"64x128x16/32x64/8x8":   {Share: 0.79, Blocks: 4, Alone: 0.71, Ends: 4e-6},
		"64x64x16/32x32/4x8":    {Share: 0.65, Blocks: 4, Alone: 0.58, Ends: 3e-6},
		"32x32x16/32x32/4x8":    {Share: 0.45, Blocks: 16, Alone: 0.2, Ends: 1.3e-6},
	},
	Threads: f32.Warptile.Threads, Shared: f32.Warptile.Shared, Registers: f32.Warptile.Registers,
	Reads: f32.Warptile.Reads, Barriers: f32.Warptile.Barriers, Banks: f32.Warptile.Banks,
}
