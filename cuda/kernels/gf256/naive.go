package gf256

import "gemm/cuda/ladder"

// Naive is the first rung.
var Naive = ladder.Rung{
	Name: "naive", Type: "gf256", Least: 70,
	Tiles:   []ladder.Tile{{BM: 4, BN: 64}},
	Threads: ladder.OnePerElement, Reads: ladder.Unshared, Elements: ladder.Across,
}
