package analysis

import (
	"math"
	"slices"

	"gemm"
	"gemm/compare"
)

// CubesFirst returns the problems of rows, cubes before other shapes.
func CubesFirst(rows []compare.Record) []Problem {
	out := Problems(rows)
	slices.SortStableFunc(out, func(x, y Problem) int {
		switch {
		case x.Cube() == y.Cube():
			return 0
		case x.Cube():
			return -1
		}
		return 1
	})
	return out
}

// Digits is the number of decimal digits that a row's error leaves, NaN where it is not
// known or there is none.
func Digits(r compare.Record) float64 {
	if !r.Speed() || !(r.Residual > 0) {
		return math.NaN()
	}
	return -math.Log10(float64(r.Residual))
}

// DigitsLost is what b has fewer of than a.
func DigitsLost(a, b compare.Record) float64 { return Digits(a) - Digits(b) }

// Kept is a rung at a size next to a multiple of 32, and at that one.
type Kept struct{ Ragged, Even compare.Record }

// Share is the part of the rate that it keeps.
func (k Kept) Share() float64 { return float64(k.Ragged.Gflops / k.Even.Gflops) }

// Kept returns the rows at cubes that are one more or less than a multiple of 32 with
// those at that multiple, by size and rung.
func (v *View) Kept(typ string) []Kept {
	rows := v.Rungs(typ)
	var out []Kept
	for _, r := range rows {
		for _, even := range []int{r.N + 1, r.N - 1} {
			if !ProblemOf(r).Cube() || even%32 != 0 || even == 0 {
				continue
			}
			if o, ok := At(rows, r.Variant, cubeOf(typ, even)); ok {
				out = append(out, Kept{r, o})
			}
		}
	}
	return out
}

// SgemmShapes are the eight of the SGEMM collection.
var SgemmShapes = func() []Problem {
	var out []Problem
	for _, m := range []int{2048, 4096} {
		for _, n := range []int{2048, 4096} {
			for _, k := range []int{512, 1024} {
				out = append(out, shapeOf("f32", m, n, k))
			}
		}
	}
	return out
}()

// shapeOf returns the plain product of a type and shape.
func shapeOf(typ string, m, n, k int) Problem { return plainOf(typ, gemm.Shape{M: m, N: n, K: k}, 1) }

func cubeOf(typ string, n int) Problem { return shapeOf(typ, n, n, n) }
