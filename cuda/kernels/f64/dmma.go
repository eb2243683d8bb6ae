package f64

import (
	"cmp"

	"gemm"
	"gemm/cuda/ladder"
)

// DMMA keeps fragments in registers of its own.
var DMMA = ladder.Rung{
	Name: "dmma", Type: "f64", Role: gemm.Production, Least: 80, Splits: true, Copies: true,
	Doc:        "warp tiles by tensor cores, by mma",
	Arithmetic: ladder.Arithmetic{Pipe: "f64-tensor"}, Narrow: 0.96,
	Tiles: []ladder.Tile{
		{BM: 128, BN: 128, BK: 16, WM: 64, WN: 32, Stages: 3}, {BM: 128, BN: 128, BK: 16, WM: 64, WN: 32, Stages: 2},
		{BM: 128, BN: 64, BK: 16, WM: 64, WN: 32, Stages: 3}, {BM: 64, BN: 64, BK: 16, WM: 32, WN: 32, Stages: 3},
	},
	Speeds: map[string]ladder.Speed{
		"128x128x16/64x32": {Share: 0.95, Blocks: 1, Alone: 0.95, Ends: 2e-6},
		"128x64x16/64x32":  {Share: 0.905, Blocks: 2, Alone: 0.77, Ends: 4e-6},
		"64x64x16/32x32":   {Share: 0.86, Blocks: 3, Alone: 0.66, Ends: 3e-6},
	},
	Threads: ladder.WarpPerTile, Shared: ladder.Slices(8, 4, 4), Reads: ladder.Warp,
	Barriers: ladder.Barriers{Slice: 1, Besides: 1},
	Registers: func(t ladder.Tile) int { // two fragments of A, and B's of the warp, as on 9.0
		depth := cmp.Or(t.MMAK, 16)
		return 2 * (t.WM*t.WN/32 + 2*16*depth/32 + t.WN*depth/32)
	},
	Banks: func(t ladder.Tile, w ladder.Widths) []ladder.Request {
		return append(fragments(t), ladder.Units(8, 4, 4)(t, w)...)
	},
}

// fragments reads those of mma from a_slice[BM][BK + 4] and b_slice[BK][BN + 4]. Lane 4g + t has row g and column t of
// 8×4 elements of A, and row t and column g of 4×8 elements of B. Larger fragments consist of several of these.
func fragments(t ladder.Tile) []ladder.Request {
	warpsN, depths := t.BN/t.WN, t.BK/4
	return []ladder.Request{
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
	}
}
