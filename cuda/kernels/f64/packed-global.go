package f64

import (
	"gemm"
	"gemm/cuda/ladder"
)

// PackedGlobal changes the layout of B's blocks.
var PackedGlobal = ladder.Rung{
	Name: "packed-global", Type: "f64", Least: 70, Operands: ladder.Packed,
	Doc:     "blocks of B are packed by columns: what a thread reads is contiguous",
	Part:    gemm.LabPacked,
	Tiles:   packedCubes(),
	Threads: ladder.OnePerElement, Reads: ladder.Unshared,
	// Blocks of BK elements a row, and a column.
	Elements: func(t ladder.Tile, thread int) (a, b int) { return thread / t.BN * t.BK, thread % t.BN * t.BK },
}
