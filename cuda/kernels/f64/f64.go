// Package f64 has the rungs of double precision.
package f64

import "gemm/cuda/ladder"

// packedCubes are the blocks that operands are packed in.
func packedCubes() []ladder.Tile {
	return []ladder.Tile{{BM: 8, BN: 8, BK: 8}, {BM: 16, BN: 16, BK: 16}, {BM: 32, BN: 32, BK: 32}}
}

// packedSlices reads a row of A's block and a column of B's, and writes both; warps go down rows of C. Rows of A's
// block are `row` doubles apart, and columns `col`; B's block lies by rows.
func packedSlices(t ladder.Tile, row, col int) []ladder.Request {
	i := func(thread int) int { return thread % t.BM }
	j := func(thread int) int { return thread / t.BM }
	return []ladder.Request{
		ladder.Read("A", 8, t.BK, func(thread, kk int) int { return 8 * (i(thread)*row + kk*col) }),
		ladder.Read("B", 8, t.BK, func(thread, kk int) int { return 8 * (kk*t.BN + j(thread)) }),
		ladder.Write("A", 8, 1, func(thread, _ int) int { return 8 * (i(thread)*row + j(thread)*col) }),
		ladder.Write("B", 8, 1, func(thread, _ int) int { return 8 * (i(thread)*t.BN + j(thread)) }),
	}
}

// squares are blocks of 16×16 threads with slices of 8 and 16.
func squares() []ladder.Tile {
	return []ladder.Tile{{BM: 64, BN: 64, BK: 8, TM: 4, TN: 4}, {BM: 64, BN: 64, BK: 16, TM: 4, TN: 4}}
}

// paddedFragments reads fragments from a_slice[BM][BK + 4] and b_slice[BK][BN + 4], which are copied in units. Lane
// 4g + t has row g and column t of 8×4 elements of A, and row t and column g of 4×8 elements of B. Larger fragments
// consist of several of these.
func paddedFragments(t ladder.Tile, w ladder.Widths) []ladder.Request {
	warpsN, depths := t.BN/t.WN, t.BK/4
	return append([]ladder.Request{
		ladder.Read("A", 8, t.WM/8*depths, func(thread, i int) int {
			warp, lane := thread/ladder.Lanes, thread%ladder.Lanes
			row, col := warp/warpsN*t.WM+i/depths*8+lane/4, i%depths*4+lane%4
			return 8 * (row*(t.BK+4) + col)
		}),
		ladder.Read("B", 8, t.WN/8*depths, func(thread, i int) int {
			warp, lane := thread/ladder.Lanes, thread%ladder.Lanes
			row, col := i%depths*4+lane%4, warp%warpsN*t.WN+i/depths*8+lane/4
			return 8 * (row*(t.BN+4) + col)
		}),
	}, ladder.Units(8, 4, 4)(t, w)...)
}
