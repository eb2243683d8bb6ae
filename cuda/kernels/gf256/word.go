package gf256

import (
	"fmt"

	"gemm/cuda/ladder"
)

// Word has several bytes a thread.
var Word = ladder.Rung{
	Name: "word", Type: "gf256", Least: 70, AtLaunch: true, Single: true, Copies: true,
	Doc: "4, 8 or 16 bytes are copied at once, and multiplied as words",
	Tiles: []ladder.Tile{
		{BM: 16, BN: 1024, BK: 32, TM: 1, TN: 16}, {BM: 16, BN: 512, BK: 32, TM: 1, TN: 8},
		{BM: 16, BN: 256, BK: 32, TM: 1, TN: 4},
	},
	Threads: ladder.OnePerTile, Reads: ladder.Thread, Barriers: ladder.Barriers{Slice: 2}, Banks: words,
	Fit: fewRows,
	Refuses: func(t ladder.Tile) string {
		if t.TM != 1 || t.BN%t.TN != 0 {
			return fmt.Sprintf("a thread has bytes of one row, and a block whole threads, not %dx%d of %dx%d", t.TM, t.TN,
				t.BM, t.BN)
		}
		return ""
	},
	Rows: func(own ladder.Tile, threads, bytes int) ladder.Tile {
		own.BM, own.BN, own.TN = min(own.BM, 1024/threads), threads*bytes, bytes
		return own
	},
	Shared:    func(t ladder.Tile) int { return ceil(t.BM*t.BK, 16)*16 + t.BK*t.BN }, // B's begins at a multiple of 16
	Registers: func(t ladder.Tile) int { return 3 * t.TN / 4 },                       // a word, its product and its sum
}
