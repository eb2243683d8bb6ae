package gf256

import "gemm/cuda/ladder"

// Macros has tiles of any shape, as compile-time constants.
var Macros = ladder.Rung{
	Name: "macros", Type: "gf256", Least: 70,
	Doc:     "tiles of any shape, given by macros when the kernel is compiled",
	Tiles:   Tiled.Tiles,
	Threads: ladder.OnePerElement, Reads: ladder.Sliced, Barriers: ladder.Barriers{Slice: 2}, Banks: words,
	Fit:  fewRows,
	Rows: Tiled.Rows,
}
