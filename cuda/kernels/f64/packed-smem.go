package f64

import (
	"gemm"
	"gemm/cuda/ladder"
)

// PackedSmem adds shared memory.
var PackedSmem = ladder.Rung{
	Name: "packed-smem", Type: "f64", Least: 70, Operands: ladder.Packed,
	Doc:     "packed blocks of A and B are read once a block, into shared memory",
	Part:    gemm.LabShared,
	Tiles:   packedCubes(),
	Threads: ladder.OnePerElement, Reads: ladder.Sliced, Barriers: ladder.Barriers{Slice: 2},
	Banks: func(t ladder.Tile, _ ladder.Widths) []ladder.Request { return packedSlices(t, t.BK, 1) },
}

// packedSlices reads a row of A's block and a column of B's, whose threads go down a column of C. Rows of A's block are
// `row` doubles apart, and columns `col`; B's block lies by columns.
func packedSlices(t ladder.Tile, row, col int) []ladder.Request {
	i := func(thread int) int { return thread % t.BM }
	j := func(thread int) int { return thread / t.BM }
	return []ladder.Request{
		ladder.Read("A", 8, t.BK, func(thread, kk int) int { return 8 * (i(thread)*row + kk*col) }),
		ladder.Read("B", 8, t.BK, func(thread, kk int) int { return 8 * (j(thread)*t.BK + kk) }),
		ladder.Write("A", 8, 1, func(thread, _ int) int { return 8 * (i(thread)*row + j(thread)*col) }),
		ladder.Write("B", 8, 1, func(thread, _ int) int { return 8 * (j(thread)*t.BK + i(thread)) }),
	}
}
