package f32

import "gemm/cuda/ladder"

// Doublebuffer adds a second slice.
var Doublebuffer = ladder.Rung{
	Name: "doublebuffer", Type: "f32", Least: 70, Capped: true, Copies: true,
	Doc:     "the next slice is loaded while this one is multiplied",
	Advice:  "G4",
	Tiles:   squares(0),
	Threads: ladder.OnePerTile, Reads: ladder.Thread, Barriers: ladder.Barriers{Slice: 1}, Banks: scatteredQuads,
	Registers: func(t ladder.Tile) int { // and what is on its way to shared memory
		return t.TM*t.TN + t.TM + t.TN + t.BK*(t.BM+t.BN)/ladder.OnePerTile(t)
	},
}
