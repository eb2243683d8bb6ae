package f64

import "gemm/cuda/ladder"

// PackedConflictfree changes the layout of A's block.
var PackedConflictfree = ladder.Rung{
	Name: "packed-conflictfree", Type: "f64", Least: 70, Operands: ladder.Packed,
	Doc:     "packed blocks of A are transposed in shared memory: no bank conflicts",
	Tiles:   packedCubes(),
	Threads: ladder.OnePerElement, Reads: ladder.Sliced, Barriers: ladder.Barriers{Slice: 2},
	Banks: func(t ladder.Tile, _ ladder.Widths) []ladder.Request { return packedSlices(t, 1, t.BM) },
}
