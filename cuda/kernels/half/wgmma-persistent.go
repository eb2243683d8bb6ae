package half

import (
	"gemm"
	"gemm/cuda/ladder"
)

// WGMMAPersistent has blocks that compute tile after tile.
var WGMMAPersistent = ladder.Rung{
	Name: "wgmma-persistent", Type: "half", Former: gemm.Production, Least: 90, Exact: true, Copies: true, AsStored: true,
	Persistent: true, Cluster: 2, Stacked: true,
	Doc:        "a block on each multiprocessor computes tile after tile, half precision",
	Arithmetic: truncated, Operands: ladder.Boxed,
	Tiles:   []ladder.Tile{{BM: 128, BN: 256, BK: 64, Stages: 4}},
	Threads: ladder.RowGroups(1), Shared: ladder.Ring(2, 64), Reads: ladder.ByRows,
	Barriers: ladder.Barriers{Besides: 1},
}
