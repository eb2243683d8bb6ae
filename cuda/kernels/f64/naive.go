package f64

import "gemm/cuda/ladder"

// Naive is the first rung.
var Naive = ladder.Rung{
	Name: "naive", Type: "f64", Least: 70,
	Tiles:   []ladder.Tile{{BM: 8, BN: 32}},
	Threads: ladder.OnePerElement, Reads: ladder.Unshared, Elements: ladder.Across,
}
