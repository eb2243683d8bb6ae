package coursework

import (
	"cmp"
	"slices"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/analysis/claim"
)

// Contest is two orders of the loops that are compared, and what explains the difference.
type Contest struct {
	Slow, Quick Order
	analysis.Comparison
	Outcome claim.Outcome // of the claim that Quick is faster
	// Alike says that the innermost loops are the same.
	Alike bool
	// Chained says that the innermost loop of Slow, and it alone, adds to one element: a step waits for the
	// addition of the step before.
	Chained bool
	// Cache is the outermost cache, L1, L2 or last, that Slow moves much more to and from than Quick by the
	// model of the traffic, and More the ratio. Cache is empty if there is none.
	Cache string
	More  float64
}

// much is the ratio of traffic from which it explains a ratio of times.
const much = 1.5

// Contests compares the fastest order with the fastest of those with another innermost loop, and the two
// orders of each innermost loop.
func Contests(orders []Order) []Contest {
	timed := slices.DeleteFunc(slices.Clone(orders), func(o Order) bool { return !o.Speed() })
	slices.SortStableFunc(timed, func(x, y Order) int { return cmp.Compare(x.Median, y.Median) })
	fastest := map[byte]Order{} // by the index of the innermost loop
	var rivals, alike []Contest
	for _, o := range timed {
		quick, known := fastest[o.Name[2]]
		switch {
		case known:
			alike = append(alike, Contest{Slow: o, Quick: quick, Alike: true})
		case len(fastest) > 0:
			rivals = append(rivals, Contest{Slow: o, Quick: timed[0]})
		}
		if !known {
			fastest[o.Name[2]] = o
		}
	}
	all := slices.Concat(rivals, alike)
	var duels []analysis.Duel
	for _, c := range all {
		duels = append(duels, analysis.Duel{First: c.Slow.Record, Second: c.Quick.Record})
	}
	for i, f := range analysis.Fight(duels) {
		c := &all[i]
		c.Comparison, c.Outcome = f.Comparison, claim.Faster.Judge(f.Lo, f.Hi)
		c.Chained = c.Slow.Name[2] == 'k' && !c.Alike
		c.Cache, c.More = busier(c.Slow.Record, c.Quick.Record)
	}
	return all
}

// busier returns the outermost cache whose traffic is much larger for slow than for quick, and the ratio.
func busier(slow, quick compare.Record) (cache string, more float64) {
	if slow.Predicted == nil || quick.Predicted == nil {
		return "", 0
	}
	for _, of := range []struct {
		cache       string
		slow, quick float64
	}{
		{"last", slow.Predicted.Traffic, quick.Predicted.Traffic},
		{"l2", slow.Predicted.L2Traffic, quick.Predicted.L2Traffic},
		{"l1", slow.Predicted.L1Traffic, quick.Predicted.L1Traffic},
	} {
		if of.quick > 0 && of.slow >= much*of.quick {
			return of.cache, of.slow / of.quick
		}
	}
	return "", 0
}
