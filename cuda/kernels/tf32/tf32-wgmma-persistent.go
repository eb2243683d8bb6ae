package tf32

import (
	"gemm"
	"gemm/cuda/ladder"
)

// WGMMAPersistent has blocks that compute tile after tile, and clusters.
var WGMMAPersistent = ladder.Rung{
	Name: "tf32-wgmma-persistent", Type: "f32", Role: gemm.Production, Least: 90, Exact: true, Splits: true,
	Persistent: true, Cluster: 2,
	Doc:        "a block on each multiprocessor computes tile after tile, TF32",
	Arithmetic: ladder.TF32, Operands: ladder.Rounded,
	Tiles:   []ladder.Tile{{BM: 256, BN: 128, BK: 32, Stages: 4}},
	Speeds:  map[string]ladder.Speed{"256x128x32": {Share: 0.75, Blocks: 1, Alone: 0.75}},
	Threads: ladder.ColumnGroups(1), Shared: ladder.Ring(4, 64), Reads: ladder.ByColumns,
	Barriers: ladder.Barriers{Besides: 2},
}
