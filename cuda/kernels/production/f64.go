package production

import (
	"cmp"

	"gemm"
	"gemm/cuda/kernels/f64"
	"gemm/cuda/ladder"
)

// F64 multiplies by tensor cores, with settings for each shape and cuts along k.
var F64 = ladder.Rung{
	Name: "tuned", Type: "f64", Source: "production/f64", Role: gemm.Production, Least: 80, Splits: true, Copies: true,
	Arithmetic: ladder.Arithmetic{Pipe: "f64-tensor"}, Narrow: 0.96,
	Tiles: []ladder.Tile{
		{BM: 128, BN: 128, BK: 16, WM: 64, WN: 32, Stages: 3}, {BM: 128, BN: 128, BK: 16, WM: 64, WN: 32, Stages: 2},
		{BM: 128, BN: 64, BK: 16, WM: 64, WN: 32, Stages: 3}, {BM: 64, BN: 64, BK: 16, WM: 32, WN: 32, Stages: 3},
	},
	Speeds: map[string]ladder.Speed{
		"128x128x16/64x32": {Share: 0.95, Blocks: 1, Alone: 0.95, Ends: 2e-6},
		"128x64x16/64x32":  {Share: 0.905, Blocks: 2, Alone: 0.77, Ends: 4e-6},
		"64x64x16/32x32":   {Share: 0.86, Blocks: 3, Alone: 0.66, Ends: 3e-6},
	},
	Threads: ladder.WarpPerTile, Shared: ladder.Slices(8, 4, 4), Reads: ladder.Warp,
	Barriers: ladder.Barriers{Slice: 1, Besides: 1},
	Registers: func(t ladder.Tile) int { // two fragments of A, and B's of the warp, as on 9.0
		depth := cmp.Or(t.MMAK, 16)
		return 2 * (t.WM*t.WN/32 + 2*16*depth/32 + t.WN*depth/32)
	},
	Banks: f64.DMMA.Banks,
}
