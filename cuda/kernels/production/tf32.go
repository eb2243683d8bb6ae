package production

import (
	"gemm"
	"gemm/cuda/ladder"
)

// TF32 is tf32-wgmma-persistent with tiles for slender products and cuts along k.
var TF32 = ladder.Rung{
	Name: "tuned-tf32", Type: "f32", Source: "production/tf32", Parent: "tf32-wgmma-persistent",
	Role: gemm.Production, Least: 90, Exact: true, Splits: true, Persistent: true, Cluster: 2,
	Doc:        "the kernel for use with operands rounded to TF32, with the tile and the cut that suit the shape",
	Arithmetic: ladder.TF32, Operands: ladder.Rounded, Turns: true, Instead: TF32MMA.Name,
	Tiles: []ladder.Tile{
		{BM: 256, BN: 128, BK: 32, Stages: 4}, {BM: 128, BN: 256, BK: 32, Stages: 4},
		{BM: 128, BN: 128, BK: 32, Stages: 6},
		{BM: 64, BN: 128, BK: 32, Stages: 8}, {BM: 128, BN: 64, BK: 32, Stages: 8},
	},
	Speeds: map[string]ladder.Speed{ // of the small ones as L2 permits
		"256x128x32": {Share: 0.75, Blocks: 1, Alone: 0.75},
		"128x256x32": {Share: 0.745, Blocks: 1, Alone: 0.745},
		"128x128x32": {Share: 0.5, Blocks: 1, Alone: 0.5},
		"64x128x32":  {Share: 0.3, Blocks: 1, Alone: 0.3},
		"128x64x32":  {Share: 0.3, Blocks: 1, Alone: 0.3},
	},
	Threads: func(ladder.Tile) int { return 384 }, Shared: ladder.Ring(4, 128),
	Reads: func(t ladder.Tile) (global, block float64) {
		return ladder.PerTile(t.BM, t.BN), ladder.PerTile(64, t.BM*t.BN/128)
	},
	Barriers: ladder.Barriers{Besides: 2},
}
