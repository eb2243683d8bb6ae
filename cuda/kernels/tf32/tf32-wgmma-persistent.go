package tf32

import (
	"gemm"
	"gemm/cuda/ladder"
)

// WGMMAPersistent has blocks that compute tile after tile.
var WGMMAPersistent = ladder.Rung{
	Name: "tf32-wgmma-persistent", Type: "f32", Former: gemm.Production, Least: 90, Exact: true, Persistent: true,
	Cluster:    2,
	Doc:        "a block on each multiprocessor computes tile after tile, TF32",
	Arithmetic: ladder.TF32, Operands: ladder.Rounded,
	Tiles:   WGMMASpecialised.Tiles,
	Threads: WGMMASpecialised.Threads, Shared: WGMMASpecialised.Shared, Reads: ladder.ByColumns,
	Barriers: ladder.Barriers{Besides: 2},
}
