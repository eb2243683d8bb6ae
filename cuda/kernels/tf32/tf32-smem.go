package tf32

import "gemm/cuda/ladder"

// Smem is smem with products of the tensor cores.
var Smem = ladder.Rung{
	Name: "tf32-smem", Type: "f32", Parent: "smem", Least: 80,
	Doc:        "warp tiles by tensor cores, 16x16x8 by wmma, from one slice; operands rounded to TF32",
	Arithmetic: ladder.TF32,
	Tiles:      []ladder.Tile{{BM: 128, BN: 128, BK: 32, WM: 64, WN: 64}},
	Threads:    ladder.WarpPerTile, Registers: ladder.WarpFragments(1, 8), Reads: ladder.Warp,
	Barriers: ladder.Barriers{Slice: 2}, Banks: ladder.Units(4, 4, 8),
}
