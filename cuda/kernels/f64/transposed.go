package f64

import "gemm/cuda/ladder"

// Transposed changes the layout of A's slice.
var Transposed = ladder.Rung{
	Name: "transposed", Type: "f64", Least: 70, Copies: true,
	Tiles:   squares(),
	Threads: ladder.OnePerTile, Reads: ladder.Thread, Barriers: ladder.Barriers{Slice: 2},
	// Pairs of a_slice[BK][BM] and b_slice[BK][BN], neighbours in the tile of a thread.
	Banks: func(t ladder.Tile, w ladder.Widths) []ladder.Request {
		across := t.BN / t.TN
		read := func(operand string, tile, edge int, place func(thread int) int) ladder.Request {
			pairs := tile / 2
			return ladder.Read(operand, 16, t.BK*pairs, func(thread, i int) int {
				return 8 * (i/pairs*edge + place(thread)*tile + i%pairs*2)
			})
		}
		return []ladder.Request{
			read("A", t.TM, t.BM, func(thread int) int { return thread / across }),
			read("B", t.TN, t.BN, func(thread int) int { return thread % across }),
			ladder.Scattered(t, 8, w.A, 0),
			ladder.InOrder("B", t.BK*t.BN, ladder.OnePerTile(t), 8, w.B),
		}
	},
}
