package f32

import "gemm/cuda/ladder"

// Async copies without registers.
var Async = ladder.Rung{
	Name: "async", Type: "f32", Least: 80, Single: true, Capped: true, Copies: true,
	Doc:     "slices are copied to shared memory without registers (cp.async)",
	Tiles:   squares(0),
	Threads: ladder.OnePerTile, Reads: ladder.Thread, Barriers: ladder.Barriers{Slice: 1}, Banks: asyncQuads,
}
