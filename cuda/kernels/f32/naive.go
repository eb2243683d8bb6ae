package f32

import (
	"gemm"
	"gemm/cuda/ladder"
)

// Naive is the first rung. Its warps go down the columns of C.
var Naive = ladder.Rung{
	Name: "naive", Type: "f32", Least: 70, Class: gemm.Textbook, Fetch: "uncoalesced",
	Doc:     "each thread computes one element of C",
	Tiles:   []ladder.Tile{{BM: 32, BN: 32}},
	Threads: ladder.OnePerElement, Reads: ladder.Unshared,
	Elements: func(t ladder.Tile, thread int) (a, b int) { return thread % t.BM * ladder.Apart, thread / t.BM },
}
