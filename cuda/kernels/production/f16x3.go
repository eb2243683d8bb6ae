package production

import (
	"gemm"
	"gemm/cuda/ladder"
)

// F16x3 has products of f16 whose sum is as accurate as single precision.
var F16x3 = ladder.Rung{
	Name: "f16x3", Type: "f32", Source: "production/f16x3", Role: gemm.Production, Least: 90, Exact: true,
	Splits: true, Persistent: true,
	Doc:        "the accuracy of single precision from three products of half precision",
	Arithmetic: split, Operands: ladder.Split, Fallback: "tuned", Instead: TF32.Name,
	Tiles:   []ladder.Tile{{BM: 128, BN: 128, BK: 64, Stages: 3}},
	Speeds:  map[string]ladder.Speed{"128x128x64": {Share: 0.21, Blocks: 1, Alone: 0.21}}, // of three products
	Threads: ladder.RowGroups(1), Shared: ladder.Ring(4, 64), Reads: ladder.ByColumns,
	Barriers: ladder.Barriers{Besides: 1},
}
