package f32

import (
	"gemm"
	"gemm/cuda/ladder"
)

// Warptile adds the tiles of warps, and settings for each shape.
var Warptile = ladder.Rung{
	Name: "warptile", Type: "f32", Role: gemm.Production, Least: 80, Single: true, Pads: true, Splits: true,
	Batches: true, Capped: true, Copies: true,
	Doc:    "warp tiles between block and thread tiles, chosen for the shape",
	Narrow: 0.85,
	Tiles: []ladder.Tile{
		{BM: 128, BN: 256, BK: 16, WM: 64, WN: 64, TM: 8, TN: 16, Stages: 3},
		{BM: 128, BN: 128, BK: 16, WM: 64, WN: 32, TM: 8, TN: 8, Stages: 3},
		{BM: 128, BN: 128, BK: 16, WM: 64, WN: 64, TM: 8, TN: 16, Stages: 3},
		{BM: 64, BN: 128, BK: 16, WM: 32, WN: 64, TM: 8, TN: 8, Stages: 3},
		{BM: 64, BN: 64, BK: 16, WM: 32, WN: 32, TM: 4, TN: 8, Stages: 3},
	},
	Small: []ladder.Tile{{BM: 32, BN: 32, BK: 16, WM: 32, WN: 32, TM: 4, TN: 8, Stages: 3}},
	Speeds: map[string]ladder.Speed{
		"128x256x16/64x64/8x16": {Share: 0.815, Blocks: 1, Alone: 0.815, Ends: 9e-6},
		"128x128x16/64x32/8x8":  {Share: 0.785, Blocks: 2, Alone: 0.75, Ends: 1e-6},
		"128x128x16/64x64/8x16": {Share: 0.8, Blocks: 2, Alone: 0.72, Ends: 5e-6},
		"64x128x16/32x64/8x8":   {Share: 0.79, Blocks: 4, Alone: 0.71, Ends: 4e-6},
		"64x64x16/32x32/4x8":    {Share: 0.65, Blocks: 4, Alone: 0.58, Ends: 3e-6},
		"32x32x16/32x32/4x8":    {Share: 0.45, Blocks: 16, Alone: 0.2, Ends: 1.3e-6},
	},
	Threads: ladder.WarpPerTile, Shared: transposedSlices, Registers: twoFragments, Reads: ladder.Thread,
	Barriers: ladder.Barriers{Slice: 1, Besides: 1},
	// Quads of As[BK][BM + 4] and Bs[BK][BN] within the tile of the warp.
	Banks: func(t ladder.Tile, w ladder.Widths) []ladder.Request {
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
	},
}
