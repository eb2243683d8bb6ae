package f64

import (
	"gemm"
	"gemm/cuda/ladder"
)

// DMMA loads fragments while it multiplies others.
var DMMA = ladder.Rung{
	Name: "dmma", Type: "f64", Former: gemm.Production, Least: 80, Copies: true,
	Doc:        "fragments are loaded one step ahead, and copies are spread over the products",
	Arithmetic: ladder.Arithmetic{Pipe: "f64-tensor"},
	Tiles:      []ladder.Tile{{BM: 128, BN: 128, BK: 16, WM: 64, WN: 32, Stages: 3}},
	Threads:    ladder.WarpPerTile, Shared: ladder.Slices(8, 4, 4), Reads: ladder.Warp,
	Barriers: ladder.Barriers{Slice: 1, Besides: 1}, Banks: paddedFragments,
	// Two fragments of A, and B's of the warp, as on 9.0.
	Registers: func(t ladder.Tile) int { return 2 * (t.WM*t.WN + 2*16*16 + t.WN*16) / ladder.Lanes },
}
