package report

import (
	"cmp"
	"math"
	"slices"

	"gemm/compare"
)

// tolerance is the difference below which two times are called the same, as a part
// of them.
const tolerance = 0.05

// spreadOutcome is what a comparison of all pairs of some rows says.
type spreadOutcome int

const (
	untold spreadOutcome = iota // the samples do not decide
	same                        // no pair can be told apart, and none differs by more than the tolerance
	slight                      // some can, but none differs by more than the tolerance
	differ                      // some can, and not all are known to be within the tolerance
)

// rivalry is what the pairs of some rows say together.
type rivalry struct {
	Outcome spreadOutcome
	// The pair that differs most, of those that can be told apart if any can.
	Quick, Slow compare.Record
	comparison         // of Slow with Quick; P is adjusted for the number of pairs
	Bounded     bool   // the intervals of all pairs lie within the tolerance
	Apart       int    // pairs that can be told apart
	Pairs       int    // all of them
	Turn        string // that all rows were sampled in; empty: not all in one
}

// compete compares every two of rows, two at least, as beside does. Which pairs
// can be told apart is decided by Holm's procedure (A simple sequentially rejective
// multiple test procedure, Scandinavian Journal of Statistics 6, 1979): that one pair
// or more of rows that do not differ is called different has the probability
// significance at most, however many they are. That a test did not find a difference
// does not show that there is none, so that same takes the intervals too.
func compete(rows []compare.Record) rivalry {
	type pair struct {
		slow, quick compare.Record
		comparison
	}
	var pairs []pair
	out := rivalry{Bounded: true, Turn: rows[0].Turn}
	for i, a := range rows {
		if a.Turn != out.Turn {
			out.Turn = ""
		}
		for _, b := range rows[i+1:] {
			if a.Median < b.Median {
				pairs = append(pairs, pair{b, a, beside(b, a)})
			} else {
				pairs = append(pairs, pair{a, b, beside(a, b)})
			}
		}
	}
	out.Pairs = len(pairs)
	p := make([]float64, len(pairs))
	for i := range pairs {
		p[i] = pairs[i].P
	}
	for i, adjusted := range holm(p) {
		pairs[i].P = adjusted
	}
	slices.SortStableFunc(pairs, func(x, y pair) int {
		apart := func(q pair) int {
			if q.P < significance {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(apart(y), apart(x)), cmp.Compare(y.Ratio, x.Ratio))
	})
	for _, q := range pairs {
		if q.P < significance {
			out.Apart++
		}
		if !(q.Lo >= 1/(1+tolerance) && q.Hi <= 1+tolerance) {
			out.Bounded = false
		}
	}
	worst := pairs[0]
	out.Slow, out.Quick, out.comparison = worst.slow, worst.quick, worst.comparison
	switch {
	case out.Apart > 0 && out.Bounded:
		out.Outcome = slight
	case out.Apart > 0:
		out.Outcome = differ
	case out.Bounded:
		out.Outcome = same
	}
	return out
}

// holm returns p values adjusted for their number: one is below a level exactly
// where Holm's procedure rejects its hypothesis at that level. NaN stays NaN, and
// counts as a test that was made.
func holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	key := func(i int) float64 {
		if math.IsNaN(p[i]) {
			return math.Inf(1)
		}
		return p[i]
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(key(i), key(j)) })
	adjusted := make([]float64, len(p))
	highest := 0.0
	for rank, i := range order {
		if math.IsNaN(p[i]) {
			adjusted[i] = p[i]
			continue
		}
		highest = max(highest, min(1, float64(len(p)-rank)*p[i]))
		adjusted[i] = highest
	}
	return adjusted
}
