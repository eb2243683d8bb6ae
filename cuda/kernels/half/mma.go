package half

import "gemm/cuda/ladder"

// MMA copies slices asynchronously.
var MMA = ladder.Rung{
	Name: "mma", Type: "half", Least: 80, Copies: true, AsStored: true,
	Doc:        "slices are copied ahead without registers (cp.async), in swizzled units, for products by mma",
	Arithmetic: truncated,
	Tiles: []ladder.Tile{
		{BM: 128, BN: 256, BK: 64, WM: 64, WN: 64, Stages: 3}, {BM: 128, BN: 128, BK: 64, WM: 64, WN: 64, Stages: 3},
		{BM: 128, BN: 128, BK: 64, WM: 64, WN: 32, Stages: 3},
	},
	Speeds: map[string]ladder.Speed{
		"128x256x64/64x64": {Share: 0.34, Blocks: 1, Alone: 0.34, Ends: 2e-6},
		"128x128x64/64x64": {Share: 0.31, Blocks: 2, Alone: 0.23, Ends: 2e-6},
		"128x128x64/64x32": {Share: 0.27, Blocks: 1, Alone: 0.27, Ends: 2e-6},
	},
	Threads: ladder.WarpPerTile, Shared: ladder.Slices(2, 0, 0), Registers: ladder.WarpFragments(1, 16),
	Reads: ladder.Warp, Barriers: ladder.Barriers{Slice: 1, Besides: 1},
	// Units of 8 elements are written to boxes of 64×64.
	Banks: func(t ladder.Tile, _ ladder.Widths) []ladder.Request {
		threads := ladder.WarpPerTile(t)
		written := func(operand string, rows int) ladder.Request {
			return ladder.Write(operand, 16, rows*t.BK/8/threads, func(thread, i int) int {
				return alongK(thread%8*8, thread/8+i*threads/8)
			})
		}
		return append(boxes(t, ladder.Widths{}), written("A", t.BM), written("B", t.BN))
	},
}
