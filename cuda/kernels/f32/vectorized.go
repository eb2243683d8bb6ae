package f32

import "gemm/cuda/ladder"

// Vectorized adds copies of several elements.
var Vectorized = ladder.Rung{
	Name: "vectorized", Type: "f32", Least: 70, Capped: true, Copies: true,
	Doc:     "copies of up to 16 bytes, as alignment permits",
	Tiles:   squares(0),
	Threads: ladder.OnePerTile, Reads: ladder.Thread, Barriers: ladder.Barriers{Slice: 2},
	Registers: func(t ladder.Tile) int { return t.TM*t.TN + 4*t.TM + t.TN }, // four columns of A at once
	Banks:     quadsOfRows,
}
