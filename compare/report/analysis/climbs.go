package analysis

import (
	"fmt"
	"slices"

	"gemm/compare"
)

// ladderSize is the size at which the ladder is read, where it was measured.
const ladderSize = 4096

// LeastGain is what a rung has to gain over the one before it to be said to gain.
const LeastGain = 0.02

// Climb is a step of the ladder on the GPU.
type Climb struct {
	Before, After compare.Record
	Comparison
}

// Gains reports whether the step is one up: by leastGain, and not within the noise.
func (c Climb) Gains() bool {
	return c.Ratio >= 1+LeastGain && c.Outcome != Level && c.Outcome != Slower
}

// LadderRows returns the rows of a type at the size at which its ladder is read: that of
// ladderSize, or else the largest at which most rungs were timed.
func (v *View) LadderRows(typ string) []compare.Record {
	rows := v.Rungs(typ)
	var best []compare.Record
	for _, p := range Problems(rows) {
		if !p.Cube() {
			continue
		}
		here := slices.DeleteFunc(slices.Clone(rows), func(r compare.Record) bool { return ProblemOf(r) != p })
		switch {
		case p.N == ladderSize && len(here) > 2:
			return here
		case len(here) >= len(best):
			best = here
		}
	}
	return best
}

// Climbs returns the steps between neighbours of the ladder among rows of one size.
func Climbs(rows []compare.Record) []Climb {
	var out []Climb
	rungs := slices.DeleteFunc(slices.Clone(rows), func(r compare.Record) bool { return !Ours(r) })
	for i := 1; i < len(rungs); i++ {
		out = append(out, Climb{rungs[i-1], rungs[i], Beside(rungs[i-1], rungs[i])})
	}
	return out
}

// unshared are the rungs whose threads read all that they need from global memory
// themselves.
var unshared = []string{"naive", "packed-global", "coalesced"}

// ReadsOf is the elements of global memory that are read and written for a multiply-add, by
// the tile of a block as it was run: its rows of A and columns of B once (equations 11 and
// 12 of the report of 2024), and C once. Where the tile is not known, or has no part in it,
// it is what the model of the variant says; 0 where neither is known.
func ReadsOf(r compare.Record) float64 {
	if !Ours(r) {
		return 0
	}
	var rows, cols, slice int
	if n, _ := fmt.Sscanf(TileOf(r), "%dx%dx%d", &rows, &cols, &slice); n == 3 && rows > 0 && cols > 0 && r.K > 0 && !slices.Contains(unshared, Algorithm(r.Variant)) {
		return 1/float64(rows) + 1/float64(cols) + 1/float64(r.K)
	}
	if r.Predicted == nil {
		return 0
	}
	return r.Predicted.Accesses / (float64(r.M) * float64(r.N) * float64(r.K))
}

// NearPeak is the share of the peak from which little is left to gain.
const NearPeak = 0.9
