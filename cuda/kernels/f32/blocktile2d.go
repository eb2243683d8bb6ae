package f32

import "gemm/cuda/ladder"

// Blocktile2D adds registers for a tile of C.
var Blocktile2D = ladder.Rung{
	Name: "blocktile2d", Type: "f32", Least: 70, Capped: true,
	Doc:     "a thread keeps a tile of elements of C in registers",
	Tiles:   squares(0),
	Threads: ladder.OnePerTile, Reads: ladder.Thread, Barriers: ladder.Barriers{Slice: 2}, Banks: ladder.Plain(4),
}

// squares returns the settings of the table of the 2024 report: thread blocks of 16×16 and 8×8,
// slices of 8 and 16, 8×8 elements per thread.
func squares(stages int) []ladder.Tile {
	var out []ladder.Tile
	for _, block := range []int{16, 8} {
		for _, slice := range []int{8, 16} {
			out = append(out, ladder.Tile{BM: 8 * block, BN: 8 * block, BK: slice, TM: 8, TN: 8, Stages: stages})
		}
	}
	return out
}
