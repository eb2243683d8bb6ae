package f64

import (
	"gemm/cuda/ladder"
)

// PackedRowmajor is naive with other layouts of A and B.
var PackedRowmajor = ladder.Rung{
	Name: "packed-rowmajor", Type: "f64", Least: 70, Operands: ladder.Packed,
	Doc:     "A and B are first copied into blocks in global memory",
	Tiles:   packedCubes(),
	Threads: ladder.OnePerElement, Reads: ladder.Unshared, Fetch: "uncoalesced",
	Elements: func(t ladder.Tile, thread int) (a, b int) { return thread % t.BM * t.BK, thread / t.BM },
}
