package tf32

import "gemm/cuda/ladder"

// WGMMA has products of warpgroups, and the copy engine.
var WGMMA = ladder.Rung{
	Name: "tf32-wgmma", Type: "f32", Least: 90, Exact: true,
	Doc:        "warpgroups multiply slices that the copy engine brings, operands rounded to TF32",
	Arithmetic: ladder.TF32, Operands: ladder.Rounded,
	Tiles:   []ladder.Tile{{BM: 128, BN: 128, BK: 32, Stages: 2}},
	Threads: ladder.ColumnGroups(0), Shared: ladder.Ring(4, 64), Reads: ladder.ByColumns,
	Barriers: ladder.Barriers{Slice: 1, Besides: 1},
}
