// Package half has the rungs of half precision: f16 and bf16 have the same sources.
package half

import (
	"gemm/cuda/ladder"
	"gemm/roundoff"
)

// matrices reads matrices of 8×8, of A along k and of B across it: a lane gives one row of each four. atA and atB
// return the place of k index x of row or column y.
func matrices(t ladder.Tile, atA, atB func(x, y int) int) []ladder.Request {
	across := t.BN / t.WN
	read := func(operand string, edge int, at func(low, middle, high, warp, p, i int) int) ladder.Request {
		return ladder.Read(operand, 16, edge/16*t.BK/16, func(thread, i int) int {
			return at(thread%8, thread/8%2*8, thread%32/16*8, thread/32, i/(edge/16)*16, i%(edge/16)*16)
		})
	}
	return []ladder.Request{
		read("A", t.WM, func(low, middle, high, warp, p, i int) int {
			return atA(p+high, warp/across*t.WM+i+middle+low)
		}),
		read("B", t.WN, func(low, middle, high, warp, p, i int) int {
			return atB(p+middle+low, warp%across*t.WN+i+high)
		}),
	}
}

// truncated is the arithmetic of sums by tensor cores, whose additions in single precision have an error of at most 2u,
// as in TF32.
var truncated = ladder.Arithmetic{Bound: ladder.Componentwise(
	func(k, u float64) float64 { return roundoff.Gamma(k, 2*u) })}

// boxes reads matrices from swizzled boxes of 64×64, of A along k and of B across it.
func boxes(t ladder.Tile, _ ladder.Widths) []ladder.Request {
	return matrices(t, alongK, func(x, y int) int { return y/64*64*128 + alongK(y%64, x) })
}

// alongK returns the place of element x of row y of a box. Unit i of row r is in place i ^ r%8.
func alongK(x, y int) int { return y*128 + (x/8^y%8)*16 }
