package f32

import "gemm/cuda/ladder"

// Transposed changes the layout of A's slice.
var Transposed = ladder.Rung{
	Name: "transposed", Type: "f32", Least: 70, Capped: true, Copies: true,
	Doc:     "A is transposed in shared memory, so both fragments are read 16 bytes at a time",
	Tiles:   squares(0),
	Threads: ladder.OnePerTile, Reads: ladder.Thread, Barriers: ladder.Barriers{Slice: 2},
	// Quads of As[BK][BM] and Bs[BK][BN], neighbours in the tile of a thread; units of A are written down a column.
	Banks: func(t ladder.Tile, w ladder.Widths) []ladder.Request {
		across, m, n := t.BN/t.TN, t.TM/4, t.TN/4
		return []ladder.Request{
			ladder.Read("A", 16, t.BK*m, func(thread, i int) int {
				return 4 * (i/m*t.BM + thread/across*t.TM + i%m*4)
			}),
			ladder.Read("B", 16, t.BK*n, func(thread, i int) int {
				return 4 * (i/n*t.BN + thread%across*t.TN + i%n*4)
			}),
			ladder.Scattered(t, 4, w.A, 0),
			ladder.InOrder("B", t.BK*t.BN, ladder.OnePerTile(t), 4, w.B),
		}
	},
}
