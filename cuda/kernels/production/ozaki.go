package production

import (
	"gemm"
	"gemm/cuda/ladder"
)

// OzakiMMA has products of int8 by mma.
var OzakiMMA = ladder.Rung{
	Name: "ozaki-mma", Type: "f64", Source: "i8/i8-mma", Parent: "f16/mma", Role: gemm.Production, Least: 80,
	Doc:        "double precision from residues modulo small numbers, by products of int8",
	Arithmetic: ladder.ByResidues, Operands: ladder.ByResidue, AsStored: true, Fetch: "wide",
	Tiles: []ladder.Tile{{BM: 128, BN: 256, BK: 128, WM: 64, WN: 64, Stages: 3},
		{BM: 128, BN: 128, BK: 128, WM: 64, WN: 32, Stages: 3}},
	Speeds: map[string]ladder.Speed{ // of as many products as there are moduli
		"128x256x128/64x64": {Share: 0.024, Blocks: 1, Alone: 0.024, Ends: 2e-6},
		"128x128x128/64x32": {Share: 0.02, Blocks: 1, Alone: 0.02, Ends: 2e-6},
	},
	Threads: ladder.WarpPerTile, Shared: ladder.Slices(1, 0, 0), Registers: ladder.WarpFragments(1, 16),
	Reads: ladder.Warp, Barriers: ladder.Barriers{Slice: 1, Besides: 1},
}

// OzakiWGMMA has products of int8 by warpgroups.
var OzakiWGMMA = ladder.Rung{
	Name: "ozaki-wgmma", Type: "f64", Source: "i8/i8-wgmma", Parent: "f16/wgmma-persistent", Role: gemm.Production, Least: 90,
	Exact: true, Persistent: true, Cluster: 2, Stacked: true,
	Doc:        "double precision from residues, by products of int8 in warpgroups and clusters",
	Arithmetic: ladder.ByResidues, Operands: ladder.ByResidue, AsStored: true,
	Tiles:   []ladder.Tile{{BM: 128, BN: 256, BK: 128, Stages: 4}},
	Speeds:  map[string]ladder.Speed{"128x256x128": {Share: 0.054, Blocks: 1, Alone: 0.054}},
	Threads: ladder.RowGroups(1), Shared: ladder.Ring(1, 64), Reads: ladder.ByRows,
	Barriers: ladder.Barriers{Besides: 1},
}
