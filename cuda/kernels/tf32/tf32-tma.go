package tf32

import "gemm/cuda/ladder"

// TMA has slices that the copy engine copies.
var TMA = ladder.Rung{
	Name: "tf32-tma", Type: "f32", Least: 90, Exact: true,
	Doc:        "one thread starts the copy of a slice by the copy engine, TF32",
	Arithmetic: ladder.TF32, Operands: ladder.Rounded,
	Tiles:   Multistage.Tiles,
	Threads: ladder.WarpPerTile, Shared: ladder.Ring(4, 64), Registers: ladder.WarpFragments(1, 8), Reads: ladder.Warp,
	Barriers: ladder.Barriers{Slice: 1, Besides: 1},
}
