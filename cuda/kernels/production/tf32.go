package production

import (
	"gemm"
	"gemm/cuda/kernels/tf32"
	"gemm/cuda/ladder"
)

// TF32 is tf32-wgmma-persistent with cuts along k.
var TF32 = ladder.Rung{
	Name: "tuned-tf32", Type: "f32", Source: "production/tf32", Parent: "tf32-wgmma-persistent",
	Role: gemm.Production, Least: 90, Exact: true, Splits: true, Persistent: true, Cluster: 2,
	Doc:        "the kernel for use with operands rounded to TF32, with the cut along k that suits the shape",
	Arithmetic: ladder.TF32, Operands: ladder.Rounded,
	Tiles:   tf32.WGMMAPersistent.Tiles,
	Speeds:  map[string]ladder.Speed{"256x128x32": {Share: 0.75, Blocks: 1, Alone: 0.75}},
	Threads: tf32.WGMMAPersistent.Threads, Shared: tf32.WGMMAPersistent.Shared, Reads: ladder.ByColumns,
	Barriers: ladder.Barriers{Besides: 2},
}
