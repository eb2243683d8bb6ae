package gf256

import "gemm/cuda/ladder"

// Lookup looks products up in registers.
var Lookup = ladder.Rung{
	Name: "lookup", Type: "gf256", Least: 70, Single: true, Copies: true,
	Doc:     "products by look-ups in registers, four bytes at once",
	Tiles:   []ladder.Tile{{BM: 16, BN: 2048, BK: 48, TM: 16, TN: 16}},
	Threads: ladder.OnePerTile, Barriers: ladder.Barriers{Slice: 2},
	Fit:  allRows,
	Rows: wholeThreads,
	// Sums, digits, and the tables of an element of A.
	Registers: func(t ladder.Tile) int { return t.TN/4*(t.TM+3) + 5 },
	// Rows of B are in registers, and an element of A is 20 bytes of tables.
	Reads: func(t ladder.Tile) (global, block float64) { return ladder.PerTile(t.BM, t.BN), 20 / float64(t.TN) },
}
