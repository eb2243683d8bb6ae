package f32

import "gemm/cuda/ladder"

// Coalesced is naive with warps along the rows of C.
var Coalesced = ladder.Rung{
	Name: "coalesced", Type: "f32", Least: 70,
	Doc:     "the threads of a warp go along a row, so their accesses are one transaction",
	Advice:  "G12",
	Tiles:   Naive.Tiles,
	Threads: ladder.OnePerElement, Reads: ladder.Unshared, Elements: ladder.Across,
}
