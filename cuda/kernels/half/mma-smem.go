package half

import "gemm/cuda/ladder"

// MMASmem multiplies slices in shared memory by tensor cores.
var MMASmem = ladder.Rung{
	Name: "mma-smem", Type: "half", Parent: "f32/smem", Least: 80,
	Doc:        "warp tiles by tensor cores in half precision, by mma",
	Arithmetic: truncated,
	Tiles:      []ladder.Tile{{BM: 128, BN: 128, BK: 32, WM: 64, WN: 64}},
	Threads:    ladder.WarpPerTile, Registers: ladder.WarpFragments(1, 8),
	Reads: ladder.Warp, Barriers: ladder.Barriers{Slice: 2},
	// Pairs of As[BM][BK + 8] and Bs[BN][BK + 8]: a lane has row lane/4 of each 8, and pair lane%4 of each 8 k indices.
	Banks: func(t ladder.Tile, _ ladder.Widths) []ladder.Request {
		across := t.BN / t.WN
		read := func(operand string, edge int, first func(warp int) int) ladder.Request {
			return ladder.Read(operand, 4, edge/8*t.BK/8, func(thread, i int) int {
				row, col := first(thread/32)+i%(edge/8)*8+thread%32/4, i/(edge/8)*8+thread%4*2
				return 2 * (row*(t.BK+8) + col)
			})
		}
		return []ladder.Request{
			read("A", t.WM, func(warp int) int { return warp / across * t.WM }),
			read("B", t.WN, func(warp int) int { return warp % across * t.WN }),
			ladder.Units(2, 8, 0)(t, ladder.Widths{A: 1, B: 1})[0],
			ladder.Write("B", 2, t.BK*t.BN/ladder.WarpPerTile(t), func(thread, u int) int {
				e := thread + u*ladder.WarpPerTile(t)
				return 2 * (e%t.BN*(t.BK+8) + e/t.BN)
			}),
		}
	},
}
