package f32

import "gemm/cuda/ladder"

// Async copies past the registers.
var Async = ladder.Rung{
	Name: "async", Type: "f32", Least: 80, Single: true, Capped: true, Copies: true,
	Doc:     "slices are copied to shared memory without registers (cp.async)",
	Tiles:   squares(0),
	Threads: ladder.OnePerTile, Reads: ladder.Thread, Barriers: ladder.Barriers{Slice: 1}, Banks: asyncQuads,
}

// asyncQuads is quadReads with copies past the registers.
func asyncQuads(t ladder.Tile, w ladder.Widths) []ladder.Request {
	return append(quadReads(t, 4), copiedQuads(t, w, ladder.OnePerTile(t))...)
}

// copiedQuads copies single elements of A, 8 threads along k, to As[BK][BM + 4], and units of B.
func copiedQuads(t ladder.Tile, w ladder.Widths, threads int) []ladder.Request {
	eights := t.BK / 8
	return []ladder.Request{
		ladder.Write("A", 4, t.BM/(threads/8)*eights, func(thread, i int) int {
			row, col := thread/8+i/eights*(threads/8), thread%8+i%eights*8
			return 4 * (col*(t.BM+4) + row)
		}),
		ladder.InOrder("B", t.BK*t.BN, threads, 4, w.B),
	}
}
