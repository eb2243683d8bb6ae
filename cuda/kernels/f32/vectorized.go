package f32

import "gemm/cuda/ladder"

// Vectorized adds copies of several elements.
var Vectorized = ladder.Rung{
	Name: "vectorized", Type: "f32", Least: 70, Capped: true, Copies: true,
	Doc:     "copies of up to 16 bytes, as alignment permits",
	Tiles:   squares(0),
	Threads: ladder.OnePerTile, Reads: ladder.Thread, Barriers: ladder.Barriers{Slice: 2},
	Registers: func(t ladder.Tile) int { return t.TM*t.TN + 4*t.TM + t.TN }, // four columns of A at once
	// Four elements of As[BM][BK] along k, and of Bs[BK][BN] along n.
	Banks: func(t ladder.Tile, w ladder.Widths) []ladder.Request {
		across, quads := t.BN/t.TN, t.TN/4
		threads := ladder.OnePerTile(t)
		return []ladder.Request{
			ladder.Read("A", 16, t.BK/4*t.TM, func(thread, i int) int {
				return 4 * ((thread/across*t.TM+i%t.TM)*t.BK + i/t.TM*4)
			}),
			ladder.Read("B", 16, t.BK*quads, func(thread, i int) int {
				return 4 * (i/quads*t.BN + thread%across*t.TN + i%quads*4)
			}),
			ladder.InOrder("A", t.BM*t.BK, threads, 4, w.A),
			ladder.InOrder("B", t.BK*t.BN, threads, 4, w.B),
		}
	},
}
