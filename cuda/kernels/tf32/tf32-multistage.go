package tf32

import "gemm/cuda/ladder"

// Multistage adds a ring of slices.
var Multistage = ladder.Rung{
	Name: "tf32-multistage", Type: "f32", Least: 80, Copies: true,
	Doc:        "a ring of slices that cp.async fills, TF32",
	Arithmetic: ladder.TF32,
	Tiles:      []ladder.Tile{{BM: 128, BN: 128, BK: 32, WM: 64, WN: 64, Stages: 3}},
	Threads:    ladder.WarpPerTile, Shared: ladder.Slices(4, 4, 8), Registers: ladder.WarpFragments(1, 8),
	Reads: ladder.Warp, Barriers: ladder.Barriers{Slice: 1, Besides: 1}, Banks: ladder.Units(4, 4, 8),
}
