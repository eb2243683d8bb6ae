package tf32

import "gemm/cuda/ladder"

// WGMMASpecialised has warps with roles.
var WGMMASpecialised = ladder.Rung{
	Name: "tf32-wgmma-ws", Type: "f32", Least: 90, Exact: true,
	Doc:        "one warp copies ahead through a ring of slices, two warpgroups multiply, TF32",
	Arithmetic: ladder.TF32, Operands: ladder.Rounded,
	Tiles:   []ladder.Tile{{BM: 256, BN: 128, BK: 32, Stages: 4}},
	Threads: ladder.ColumnGroups(1), Shared: ladder.Ring(4, 64), Reads: ladder.ByColumns,
	Barriers: ladder.Barriers{Besides: 1},
}
