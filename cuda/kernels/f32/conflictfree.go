package f32

import "gemm/cuda/ladder"

// Conflictfree changes the layout of both slices.
var Conflictfree = ladder.Rung{
	Name: "conflictfree", Type: "f32", Least: 70, Capped: true, Copies: true,
	Doc:     "the layout of slices in shared memory avoids bank conflicts",
	Advice:  "G3",
	Tiles:   squares(0),
	Threads: ladder.OnePerTile, Reads: ladder.Thread, Barriers: ladder.Barriers{Slice: 2}, Banks: scatteredQuads,
}

// quadReads reads quads of As[BK][BM + pad] and Bs[BK][BN], BM/(TM/4) and BN/(TN/4) apart.
func quadReads(t ladder.Tile, pad int) []ladder.Request {
	across := t.BN / t.TN
	m, n := t.TM/4, t.TN/4
	return []ladder.Request{
		ladder.Read("A", 16, t.BK*m, func(thread, i int) int {
			return 4 * (i/m*(t.BM+pad) + thread/across*4 + i%m*(t.BM/m))
		}),
		ladder.Read("B", 16, t.BK*n, func(thread, i int) int {
			return 4 * (i/n*t.BN + thread%across*4 + i%n*(t.BN/n))
		}),
	}
}

// scatteredQuads is quadReads with units of A that each thread scatters down a column.
func scatteredQuads(t ladder.Tile, w ladder.Widths) []ladder.Request {
	pad := t.PadOf(4)
	return append(quadReads(t, pad), ladder.Scattered(t, 4, w.A, pad),
		ladder.InOrder("B", t.BK*t.BN, ladder.OnePerTile(t), 4, w.B))
}
