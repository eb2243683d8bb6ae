// Package gf256 has the rungs of the field of 256 elements.
package gf256

import (
	"gemm"
	"gemm/cuda/ladder"
)

// fewRows returns the tile with at most as many rows and k indices as the shape. If the shape needs
// several tiles or slices, they have about equal sizes.
func fewRows(t ladder.Tile, s gemm.Shape) ladder.Tile {
	share := func(n, most int) int { return max(1, ceil(n, max(1, ceil(n, most)))) }
	t.BM, t.BK = share(s.M, t.BM), share(s.K, t.BK)
	return t
}

func ceil(n, by int) int { return (n + by - 1) / by }

// words reads bytes of As[BM][BK] and words of a thread's bytes of Bs[BK][BN]. A row of threads copies a row of A's
// slice, a column of threads a column of B's.
func words(t ladder.Tile, _ ladder.Widths) []ladder.Request {
	width := max(t.TN, 1)
	across := t.BN / width
	return []ladder.Request{
		ladder.Read("A", 1, t.BK, func(thread, i int) int { return thread/across*t.BK + i }),
		ladder.Read("B", width, t.BK, func(thread, i int) int { return i*t.BN + thread%across*width }),
		ladder.Write("A", 1, ceil(t.BK, across), func(thread, i int) int {
			p := thread%across + i*across
			if p >= t.BK {
				return -1
			}
			return thread/across*t.BK + p
		}),
		ladder.Write("B", width, ceil(t.BK, t.BM), func(thread, i int) int {
			p := thread/across + i*t.BM
			if p >= t.BK {
				return -1
			}
			return p*t.BN + thread%across*width
		}),
	}
}

// allRows is fewRows with all rows of a block in each thread.
func allRows(t ladder.Tile, s gemm.Shape) ladder.Tile {
	t = fewRows(t, s)
	t.TM = t.BM
	return t
}

// wholeThreads returns the tile with rows of n threads.
func wholeThreads(own ladder.Tile, n, _ int) ladder.Tile {
	own.BN = n * own.TN
	return own
}
