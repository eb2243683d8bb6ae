package f64

import (
	"gemm/cuda/ladder"
)

// Naive is the first rung. Its warps go down the columns of C.
var Naive = ladder.Rung{
	Name: "naive", Type: "f64", Least: 70, Fetch: "uncoalesced",
	Tiles:   []ladder.Tile{{BM: 16, BN: 16}, {BM: 8, BN: 8}, {BM: 32, BN: 32}},
	Threads: ladder.OnePerElement, Reads: ladder.Unshared,
	Elements: func(t ladder.Tile, thread int) (a, b int) { return thread % t.BM * ladder.Apart, thread / t.BM },
}
