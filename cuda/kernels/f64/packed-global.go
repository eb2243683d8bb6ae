package f64

import (
	"gemm/cuda/ladder"
)

// PackedGlobal lays B out by columns: blocks, and elements inside.
var PackedGlobal = ladder.Rung{
	Name: "packed-global", Type: "f64", Least: 70, Operands: ladder.Packed,
	Doc:     "blocks of B are packed by columns: what a thread reads is contiguous",
	Tiles:   packedCubes(),
	Threads: ladder.OnePerElement, Reads: ladder.Unshared, Fetch: "uncoalesced",
	// Blocks of BK elements a row, and a column.
	Elements: func(t ladder.Tile, thread int) (a, b int) { return thread % t.BM * t.BK, thread / t.BM * t.BK },
}
