package half

import "gemm/cuda/ladder"

// WGMMASpecialised has warps with roles.
var WGMMASpecialised = ladder.Rung{
	Name: "wgmma-ws", Type: "half", Least: 90, Exact: true, Copies: true, AsStored: true,
	Doc:        "one warp copies ahead through a ring of slices, two warpgroups multiply, half precision",
	Arithmetic: truncated, Operands: ladder.Boxed,
	Tiles:   []ladder.Tile{{BM: 128, BN: 256, BK: 64, Stages: 4}},
	Threads: ladder.RowGroups(1), Shared: ladder.Ring(2, 64), Reads: ladder.ByRows,
	Barriers: ladder.Barriers{Besides: 1},
}
