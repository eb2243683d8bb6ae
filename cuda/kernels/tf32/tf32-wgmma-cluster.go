package tf32

import "gemm/cuda/ladder"

// WGMMACluster has blocks in pairs.
var WGMMACluster = ladder.Rung{
	Name: "tf32-wgmma-cluster", Type: "f32", Least: 90, Exact: true, Cluster: 2,
	Doc:        "two blocks share the copies of A, TF32",
	Arithmetic: ladder.TF32, Operands: ladder.Rounded,
	Tiles:   WGMMASpecialised.Tiles,
	Threads: WGMMASpecialised.Threads, Shared: WGMMASpecialised.Shared, Reads: ladder.ByColumns,
	Barriers: ladder.Barriers{Besides: 2},
}
