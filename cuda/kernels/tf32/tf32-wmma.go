package tf32

import "gemm/cuda/ladder"

// WMMA copies slices ahead, with the tiles and stages of the collection of SGEMM kernels.
var WMMA = ladder.Rung{
	Name: "tf32-wmma", Type: "f32", Least: 80, Copies: true,
	Doc:        "8 warps of 32x64 elements by wmma, short slices that cp.async copies in 2 or 3 stages, TF32",
	Arithmetic: ladder.TF32,
	Tiles: []ladder.Tile{
		{BM: 128, BN: 128, BK: 8, WM: 32, WN: 64, Stages: 2}, {BM: 128, BN: 128, BK: 8, WM: 32, WN: 64, Stages: 3},
	},
	Threads: ladder.WarpPerTile, Registers: ladder.WarpFragments(1, 8), Reads: ladder.Warp,
	Barriers: ladder.Barriers{Slice: 1, Besides: 1}, Banks: ladder.Units(4, 4, 8),
	Shared: func(t ladder.Tile) int { // of the slices, and after them of 16 rows of each warp
		return max(ladder.Slices(4, 4, 8)(t), 4*ladder.WarpPerTile(t)/ladder.Lanes*16*(t.WN+4))
	},
}
