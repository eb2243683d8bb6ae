package f64

import "gemm/cuda/ladder"

// Conflictfree spreads accesses over the banks, and adds a second buffer.
var Conflictfree = ladder.Rung{
	Name: "conflictfree", Type: "f64", Least: 70, Copies: true,
	Tiles:   squares(),
	Threads: ladder.OnePerTile, Reads: ladder.Thread, Barriers: ladder.Barriers{Slice: 1, Besides: 1},
	Registers: func(t ladder.Tile) int { // and what is on its way to shared memory
		return 2 * (t.TM*t.TN + t.TM + t.TN + t.BK*(t.BM+t.BN)/ladder.OnePerTile(t))
	},
	// Pairs of a_slice[BK][BM + pad] and b_slice[BK][BN]: the elements of a thread are in halves, BM/2 and BN/2 apart.
	Banks: func(t ladder.Tile, w ladder.Widths) []ladder.Request {
		pad, across := t.PadOf(2), t.BN/t.TN
		read := func(operand string, tile, stride, edge int, place func(thread int) int) ladder.Request {
			pairs := tile / 2
			return ladder.Read(operand, 16, t.BK*pairs, func(thread, i int) int {
				pair := i % pairs
				col := place(thread)*(tile/2) + pair%(tile/4)*2
				if pair >= tile/4 {
					col += edge / 2
				}
				return 8 * (i/pairs*stride + col)
			})
		}
		return []ladder.Request{
			read("A", t.TM, t.BM+pad, t.BM, func(thread int) int { return thread / across }),
			read("B", t.TN, t.BN, t.BN, func(thread int) int { return thread % across }),
			ladder.Scattered(t, 8, w.A, pad),
			ladder.InOrder("B", t.BK*t.BN, ladder.OnePerTile(t), 8, w.B), // the compiler joins the elements of a unit
		}
	},
}
