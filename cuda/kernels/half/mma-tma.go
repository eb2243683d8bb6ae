package half

import (
	"gemm/cuda/ladder"
)

// MMATMA leaves copies to the copy engine.
var MMATMA = ladder.Rung{
	Name: "mma-tma", Type: "half", Least: 90, Copies: true, AsStored: true, Fetch: "engine",
	Doc:        "slices are copied by the copy engine (TMA), which one thread starts",
	Arithmetic: truncated, Operands: ladder.Boxed,
	Tiles:   []ladder.Tile{{BM: 128, BN: 128, BK: 64, WM: 64, WN: 64, Stages: 3}},
	Threads: ladder.WarpPerTile, Shared: ladder.Ring(2, 64), Registers: ladder.WarpFragments(1, 16),
	Reads: ladder.Warp, Barriers: ladder.Barriers{Slice: 1, Besides: 2}, Banks: boxes,
}
