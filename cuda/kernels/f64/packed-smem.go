package f64

import "gemm/cuda/ladder"

// PackedSmem adds shared memory.
var PackedSmem = ladder.Rung{
	Name: "packed-smem", Type: "f64", Least: 70, Operands: ladder.Packed,
	Doc:     "packed blocks of A and B are read once a block, into shared memory",
	Tiles:   packedCubes(),
	Threads: ladder.OnePerElement, Reads: ladder.Sliced, Barriers: ladder.Barriers{Slice: 2},
	Banks: func(t ladder.Tile, _ ladder.Widths) []ladder.Request { return packedSlices(t, t.BK, 1) },
}
