package gf256

import "gemm/cuda/ladder"

// WordRows has all rows of a block in each thread.
var WordRows = ladder.Rung{
	Name: "word-rows", Type: "gf256", Least: 70, Single: true, Copies: true,
	Doc:     "every byte of B read once for 16 rows of C, into registers",
	Tiles:   []ladder.Tile{{BM: 16, BN: 2048, BK: 48, TM: 16, TN: 16}},
	Threads: ladder.OnePerTile, Barriers: ladder.Barriers{Slice: 2},
	Fit:  allRows,
	Rows: wholeThreads,
	// Sums, and a word of B.
	Registers: func(t ladder.Tile) int { return t.TN / 4 * (t.TM + 1) },
	// Rows of B are in registers.
	Reads: func(t ladder.Tile) (global, block float64) { return ladder.PerTile(t.BM, t.BN), 1 / float64(t.TN) },
	// Bytes of As[BK][TM].
	Banks: func(t ladder.Tile, _ ladder.Widths) []ladder.Request {
		return []ladder.Request{
			ladder.Read("A", 1, t.BK*t.TM, func(_, i int) int { return i }),
			ladder.InOrder("A", t.BK*t.TM, ladder.OnePerTile(t), 1, 1),
		}
	},
}
