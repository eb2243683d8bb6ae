package analysis

import (
	"math"
	"slices"

	"gemm/compare"
)

// Counted returns the rows of a type whose bytes were counted.
func (v *View) Counted(typ string) []compare.Record {
	return slices.DeleteFunc(v.OfRanksIn(typ), func(r compare.Record) bool { return len(r.Ranks) == 0 })
}

// OverLeast returns the ratio of the counted bytes to the lower bound. It is NaN if nothing is
// sent: there is one rank, or only one rank has something to compute.
func OverLeast(r compare.Record) float64 {
	if !(r.BytesBound > 0) || r.BytesCounted == 0 {
		return math.NaN()
	}
	return float64(r.BytesCounted) / r.BytesBound
}
