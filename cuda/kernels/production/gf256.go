package production

import (
	"gemm"
	"gemm/cuda/kernels/gf256"
	"gemm/cuda/ladder"
)

// GF256 looks products up in registers, and reads every byte of B once for 16 rows of C.
var GF256 = ladder.Rung{
	Name: "tuned", Type: "gf256", Source: "production/gf256", Role: gemm.Production, Least: 70, Single: true, Copies: true,
	Tiles: []ladder.Tile{
		{BM: 16, BN: 2048, BK: 48, TM: 16, TN: 16}, {BM: 8, BN: 2048, BK: 48, TM: 8, TN: 16},
	},
	Threads: ladder.OnePerTile, Barriers: ladder.Barriers{Slice: 2},
	// A thread has all rows of its block, and slices a multiple of three k indices.
	Fit: func(t ladder.Tile, s gemm.Shape) ladder.Tile {
		t = gf256.Tiled.Fit(t, s)
		t.TM, t.BK = t.BM, (t.BK+2)/3*3
		return t
	},
	Rows: gf256.WordRows.Rows,
	// Sums, three rows of B, and what looks them up.
	Registers: func(t ladder.Tile) int { return t.TN / 4 * (t.TM + 3 + 4*2) },
	// Rows of B are in registers, and three elements of A are 64 bytes of tables.
	Reads: func(t ladder.Tile) (global, block float64) {
		return ladder.PerTile(t.BM, t.BN), 64.0 / 3 / float64(t.TN)
	},
}
