package f32

import (
	"gemm"
	"gemm/cuda/ladder"
)

// Warptile adds the tiles of warps.
var Warptile = ladder.Rung{
	Name: "warptile", Type: "f32", Former: gemm.Production, Least: 80, Single: true, Capped: true, Copies: true,
	Doc:     "warp tiles between block and thread tiles",
	Tiles:   []ladder.Tile{{BM: 128, BN: 128, BK: 8, WM: 32, WN: 64, TM: 8, TN: 8, Stages: 3}},
	Threads: ladder.WarpPerTile, Shared: transposedSlices, Registers: twoFragments, Reads: ladder.Thread,
	Barriers: ladder.Barriers{Slice: 1, Besides: 1}, Banks: quadsOfWarps,
}
