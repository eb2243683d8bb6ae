package half

import "gemm/cuda/ladder"

// MMALdmatrix reads fragments by one instruction.
var MMALdmatrix = ladder.Rung{
	Name: "mma-ldmatrix", Type: "half", Least: 80,
	Doc:        "fragments are read by ldmatrix, which transposes B's",
	Arithmetic: truncated,
	Tiles:      []ladder.Tile{{BM: 128, BN: 128, BK: 32, WM: 64, WN: 64}},
	Threads:    ladder.WarpPerTile, Registers: ladder.WarpFragments(1, 8),
	Reads: ladder.Warp, Barriers: ladder.Barriers{Slice: 2},
	// Single elements are written to As[BM][BK + 8] and Bs[BK][BN + 8].
	Banks: func(t ladder.Tile, _ ladder.Widths) []ladder.Request {
		return append(matrices(t, func(x, y int) int { return 2 * (y*(t.BK+8) + x) },
			func(x, y int) int { return 2 * (x*(t.BN+8) + y) }), ladder.Units(2, 8, 8)(t, ladder.Widths{A: 1, B: 1})...)
	},
}
