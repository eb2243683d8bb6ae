package f64

import "gemm/cuda/ladder"

// Coalesced is naive with warps along the rows of C.
var Coalesced = ladder.Rung{
	Name: "coalesced", Type: "f64", Parent: "naive", Least: 70,
	Tiles:   Naive.Tiles,
	Threads: ladder.OnePerElement, Reads: ladder.Unshared, Elements: ladder.Across,
}
