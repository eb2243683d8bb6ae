package f64

import "gemm/cuda/ladder"

// DMMAWMMA multiplies packed blocks by tensor cores. Both warps of a block compute the whole product.
var DMMAWMMA = ladder.Rung{
	Name: "dmma-wmma", Type: "f64", Least: 80, Operands: ladder.Packed,
	Doc:        "packed blocks in shared memory are multiplied by tensor cores, 8x8x4 by wmma",
	Arithmetic: ladder.Arithmetic{Pipe: "f64-tensor"},
	Tiles:      packedCubes()[:1],
	Threads:    ladder.OnePerElement, Barriers: ladder.Barriers{Slice: 2, Besides: 1},
	Reads: func(t ladder.Tile) (global, block float64) {
		return ladder.PerTile(t.BM, t.BN), 2 * ladder.PerTile(t.BM, t.BN)
	},
	Banks: func(t ladder.Tile, _ ladder.Widths) []ladder.Request { return packedSlices(t, 1, t.BM)[2:] },
}
