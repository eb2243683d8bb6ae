package f64

import (
	"gemm"
	"gemm/cuda/ladder"
)

// PackedGlobal is naive with other layouts of A and B.
var PackedGlobal = ladder.Rung{
	Name: "packed-global", Type: "f64", Least: 70, Operands: ladder.Packed,
	Doc:     "A and B are first copied into blocks in global memory",
	Part:    gemm.LabPacked,
	Tiles:   packedCubes(),
	Threads: ladder.OnePerElement, Reads: ladder.Unshared,
	Elements: func(t ladder.Tile, thread int) (a, b int) { return thread / t.BN * t.BK, thread % t.BN * t.BK },
	// Blocks of BK elements a row, and a column.
}

// packedCubes are the blocks that operands are packed in.
func packedCubes() []ladder.Tile {
	return []ladder.Tile{{BM: 8, BN: 8, BK: 8}, {BM: 16, BN: 16, BK: 16}, {BM: 32, BN: 32, BK: 32}}
}
