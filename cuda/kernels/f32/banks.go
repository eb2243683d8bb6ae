package f32

import "gemm/cuda/ladder"

// quadsOfRows reads four elements of As[BM][BK] along k, and of Bs[BK][BN] along n.
func quadsOfRows(t ladder.Tile, w ladder.Widths) []ladder.Request {
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
}

// neighbouringQuads reads quads of As[BK][BM] and Bs[BK][BN], neighbours in the tile of a thread. Units of A are
// written down a column.
func neighbouringQuads(t ladder.Tile, w ladder.Widths) []ladder.Request {
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

// asyncQuads is quadReads with copies without registers.
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

// quadsOfWarps reads quads of As[BK][BM + 4] and Bs[BK][BN] within the tile of the warp.
func quadsOfWarps(t ladder.Tile, w ladder.Widths) []ladder.Request {
	lanesM, lanesN, warpsN := t.WM/t.TM, t.WN/t.TN, t.BN/t.WN
	m, n := t.TM/4, t.TN/4
	return append([]ladder.Request{
		ladder.Read("A", 16, t.BK*m, func(thread, i int) int {
			warp, lane := thread/ladder.Lanes, thread%ladder.Lanes
			row := warp/warpsN*t.WM + (lane/(2*lanesN)*2+lane%2)*4
			return 4 * (i/m*(t.BM+4) + row + i%m*4*lanesM)
		}),
		ladder.Read("B", 16, t.BK*n, func(thread, i int) int {
			warp, lane := thread/ladder.Lanes, thread%ladder.Lanes
			col := warp%warpsN*t.WN + lane/2%lanesN*4
			return 4 * (i/n*t.BN + col + i%n*4*lanesN)
		}),
	}, copiedQuads(t, w, ladder.WarpPerTile(t))...)
}
