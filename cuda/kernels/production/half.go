package production

import (
	"gemm"
	"gemm/cuda/kernels/half"
	"gemm/cuda/ladder"
)

// Half has blocks that compute tile after tile, in clusters, with settings for each shape.
var Half = ladder.Rung{
	Name: "tuned", Type: "half", Source: "production/half", Role: gemm.Production, Least: 90, Exact: true,
	Copies: true, AsStored: true, Persistent: true, Cluster: 2, Stacked: true, ByEngine: true,
	Arithmetic: half.MMA.Arithmetic, Operands: ladder.Boxed,
	Tiles: []ladder.Tile{
		{BM: 128, BN: 256, BK: 64, Stages: 4}, {BM: 128, BN: 192, BK: 64, Stages: 4},
		{BM: 128, BN: 128, BK: 64, Stages: 6}, {BM: 128, BN: 64, BK: 64, Stages: 8},
	},
	Speeds: map[string]ladder.Speed{
		"128x256x64": {Share: 0.70, Blocks: 1, Alone: 0.70},
		"128x192x64": {Share: 0.69, Blocks: 1, Alone: 0.69},
		"128x128x64": {Share: 0.67, Blocks: 1, Alone: 0.67},
		"128x64x64":  {Share: 0.44, Blocks: 1, Alone: 0.44},
	},
	Threads: ladder.RowGroups(1), Reads: ladder.ByRows, Barriers: ladder.Barriers{Besides: 1},
	// And two chunks of 16×64 elements of C for each warp.
	Shared: func(t ladder.Tile) int { return ladder.Ring(2, 128)(t) + 2*2*16*64*(t.BM/16) },
}
