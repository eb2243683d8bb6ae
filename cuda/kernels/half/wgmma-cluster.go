package half

import "gemm/cuda/ladder"

// WGMMACluster has clusters of blocks.
var WGMMACluster = ladder.Rung{
	Name: "wgmma-cluster", Type: "half", Least: 90, Exact: true, Copies: true, AsStored: true,
	Cluster: 2, Stacked: true,
	Doc:        "two blocks share the copies of B (multicast), half precision",
	Arithmetic: truncated, Operands: ladder.Boxed,
	Tiles:   []ladder.Tile{{BM: 128, BN: 256, BK: 64, Stages: 4}},
	Threads: ladder.RowGroups(1), Shared: ladder.Ring(2, 64), Reads: ladder.ByRows,
	Barriers: ladder.Barriers{Besides: 1},
}
