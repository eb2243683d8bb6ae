// Package half has the rungs of half precision: f16 and bf16 have the same sources.
package half

import (
	"gemm"
	"gemm/cuda/ladder"
)

// MMA has warp tiles of products of the tensor cores.
var MMA = ladder.Rung{
	Name: "mma", Type: "half", Least: 80, Copies: true, AsStored: true,
	Doc:        "warp tiles by tensor cores in half precision, by mma",
	Arithmetic: truncated,
	Tiles: []ladder.Tile{
		{BM: 128, BN: 256, BK: 64, WM: 64, WN: 64, Stages: 3}, {BM: 128, BN: 128, BK: 64, WM: 64, WN: 64, Stages: 3},
		{BM: 128, BN: 128, BK: 64, WM: 64, WN: 32, Stages: 3},
	},
	Speeds: map[string]ladder.Speed{
		"128x256x64/64x64": {Share: 0.34, Blocks: 1, Alone: 0.34, Ends: 2e-6},
		"128x128x64/64x64": {Share: 0.31, Blocks: 2, Alone: 0.23, Ends: 2e-6},
		"128x128x64/64x32": {Share: 0.27, Blocks: 1, Alone: 0.27, Ends: 2e-6},
	},
	Threads: ladder.WarpPerTile, Shared: ladder.Slices(2, 0, 0), Registers: ladder.WarpFragments(1, 16),
	Reads: ladder.Warp, Barriers: ladder.Barriers{Slice: 1, Besides: 1}, Banks: swizzledBoxes,
}

// truncated is the arithmetic of sums by tensor cores, whose additions in single precision have an error of at most 2u,
// as in TF32.
var truncated = ladder.Arithmetic{Bound: ladder.Componentwise(func(k, u float64) float64 { return gemm.Gamma(k, 2*u) })}

// swizzledBoxes copies units of 8 elements to boxes of 64×64, of A along k and of B across it, and reads matrices of
// 8×8: a lane gives one row of each four. The unit i of row r is in place i ^ r%8.
func swizzledBoxes(t ladder.Tile, _ ladder.Widths) []ladder.Request {
	const unit, row, box = 16, 128, 64 * 128 // bytes
	threads, across := ladder.WarpPerTile(t), t.BN/t.WN
	written := func(operand string, rows int) ladder.Request {
		return ladder.Write(operand, unit, rows*t.BK/8/threads, func(thread, i int) int {
			r := thread/8 + i*threads/8
			return r*row + (thread%8^r%8)*unit
		})
	}
	read := func(operand string, edge int, at func(thread, p, i int) int) ladder.Request {
		return ladder.Read(operand, unit, edge/16*t.BK/16, func(thread, i int) int {
			return at(thread, i/(edge/16)*16, i%(edge/16)*16)
		})
	}
	parts := func(thread int) (low, middle, high int) { return thread % 8, thread / 8 % 2 * 8, thread % 32 / 16 * 8 }
	return []ladder.Request{
		written("A", t.BM), written("B", t.BN),
		read("A", t.WM, func(thread, p, i int) int {
			low, middle, high := parts(thread)
			x, y := p+high, thread/32/across*t.WM+i+middle+low
			return y*row + (x/8^y%8)*unit
		}),
		read("B", t.WN, func(thread, p, i int) int {
			low, middle, high := parts(thread)
			x, y := p+middle+low, thread/32%across*t.WN+i+high
			return y/64*box + x*row + (y%64/8^x%8)*unit
		}),
	}
}
