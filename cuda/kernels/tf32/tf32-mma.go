package tf32

import (
	"gemm"
	"gemm/cuda/ladder"
)

// MMA reads fragments itself.
var MMA = ladder.Rung{
	Name: "tf32-mma", Type: "f32", Former: gemm.Production, Least: 80, Copies: true,
	Doc:        "the kernel reads fragments itself and multiplies them by mma, TF32",
	Arithmetic: ladder.TF32,
	Tiles:      Multistage.Tiles,
	Threads:    ladder.WarpPerTile, Shared: Multistage.Shared, Registers: ladder.WarpFragments(1, 8),
	Reads: ladder.Warp, Barriers: ladder.Barriers{Slice: 1},
	// Elements of As[BM][BK + 4] and Bs[BK][BN + 8]: lane 4g + t has row or column g, and k index t.
	Banks: func(t ladder.Tile, w ladder.Widths) []ladder.Request {
		warpsN := t.BN / t.WN
		read := func(operand string, edge int, at func(warp, x, p int) int) ladder.Request {
			return ladder.Read(operand, 4, edge/8*t.BK/4, func(thread, i int) int {
				warp, lane := thread/ladder.Lanes, thread%ladder.Lanes
				return 4 * at(warp, i%(edge/8)*8+lane/4, i/(edge/8)*4+lane%4)
			})
		}
		return append([]ladder.Request{
			read("A", t.WM, func(warp, x, p int) int { return (warp/warpsN*t.WM+x)*(t.BK+4) + p }),
			read("B", t.WN, func(warp, x, p int) int { return p*(t.BN+8) + warp%warpsN*t.WN + x }),
		}, ladder.Units(4, 4, 8)(t, w)...)
	},
}
