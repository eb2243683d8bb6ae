package half

import "gemm/cuda/ladder"

// WGMMA has products of warpgroups.
var WGMMA = ladder.Rung{
	Name: "wgmma", Type: "half", Least: 90, Exact: true, Copies: true, AsStored: true,
	Doc:        "warpgroups multiply slices in shared memory (wgmma), in half precision",
	Arithmetic: truncated, Operands: ladder.Boxed,
	Tiles:   []ladder.Tile{{BM: 128, BN: 128, BK: 64, Stages: 2}},
	Threads: ladder.RowGroups(0), Shared: ladder.Ring(2, 64), Reads: ladder.ByRows,
	Barriers: ladder.Barriers{Slice: 1, Besides: 1},
}
