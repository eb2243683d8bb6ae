package coursework

import (
	"cmp"
	"slices"
	"strings"

	"gemm/compare/record"
	"gemm/compare/report/analysis"
	"gemm/compare/report/analysis/claim"
)

// Order is a row of the table of loop orders.
type Order struct {
	record.Record
	Name    string
	A, B, C string  // how the innermost loop reads each: row, column, stays
	Over    float64 // speed-up over the first order
}

// Ms returns the time in milliseconds.
func (o Order) Ms() float64 { return 1e3 * analysis.Known(o.Record, o.Median) }

// Ordered is a table of orders of the loops.
type Ordered []Order

// Orders returns the orders of the loops of a type, at the largest size that the most were timed at, in
// their order in the alphabet.
func Orders(v *analysis.View, typ string) Ordered {
	var all Ordered
	for _, r := range v.Records {
		name, ok := r.Params[string(record.LoopOrders)].(string)
		known := func(o Order) bool { return o.Name == name && o.N == r.N }
		if ok && len(name) == 3 && r.Type == typ && analysis.ProblemOf(r).Cube() && !slices.ContainsFunc(all, known) {
			all = append(all, Order{Record: r, Name: name,
				A: walk(name[2], "ik"), B: walk(name[2], "kj"), C: walk(name[2], "ij")})
		}
	}
	best := analysis.LargestGroup(analysis.Pick(all, func(o Order) bool { return o.Speed() }),
		func(o Order) int { return o.N }, func(o Order) string { return o.Name }, cmp.Compare)
	if len(best) < 2 {
		return nil
	}
	out := analysis.Pick(all, func(o Order) bool { return o.N == best[0].N })
	slices.SortFunc(out, func(x, y Order) int { return strings.Compare(x.Name, y.Name) })
	for i := range out {
		out[i].Over = out[0].Ms() / out[i].Ms()
	}
	return out
}

// walk returns how a loop over an index reads a matrix with two indices, which is stored by rows.
func walk(index byte, indices string) string {
	return []string{"stays", "column", "row"}[strings.IndexByte(indices, index)+1]
}

// OrderComparison is two orders of the loops that are compared, and what explains the difference.
type OrderComparison struct {
	Slow, Fast Order
	analysis.Comparison
	Verdict string // faster, level, few or open
	// Alike says that the innermost loops are the same.
	Alike bool
	// Chained says that the innermost loop of Slow, and it alone, adds to one element: a step waits for the
	// addition of the step before.
	Chained bool
	// Cache is the outermost cache, L1, L2 or last, that Slow moves much more to and from than Fast by the
	// model of the traffic, and More the ratio. Cache is empty if there is none.
	Cache string
	More  float64
}

// verdicts are the keys of the words for the claim that Fast is faster; of other outcomes it is open.
var verdicts = map[claim.Outcome]string{claim.Holds: "faster", claim.Level: "level", claim.TooFew: "few"}

// much is the ratio of traffic from which it explains a ratio of times.
const much = 1.5

// Comparisons compares the fastest order with the fastest order of each other innermost loop, and the two orders of
// each innermost loop.
func (o Ordered) Comparisons() []OrderComparison {
	timed := analysis.Pick(o, func(o Order) bool { return o.Speed() })
	slices.SortStableFunc(timed, func(x, y Order) int { return cmp.Compare(x.Median, y.Median) })
	var others, alike []OrderComparison
	for _, same := range analysis.GroupBy(timed, func(o Order) byte { return o.Name[2] }) {
		if same[0].Name != timed[0].Name {
			others = append(others, OrderComparison{Slow: same[0], Fast: timed[0]})
		}
		for _, slow := range same[1:] {
			alike = append(alike, OrderComparison{Slow: slow, Fast: same[0], Alike: true})
		}
	}
	slices.SortStableFunc(alike, func(x, y OrderComparison) int { return cmp.Compare(x.Slow.Median, y.Slow.Median) })
	all := slices.Concat(others, alike)
	for i := range all {
		c := &all[i]
		c.Comparison = analysis.ComparePair(c.Slow.Record, c.Fast.Record)
		c.Verdict = cmp.Or(verdicts[claim.Faster.Evaluate(c.Lo, c.Hi)], "open")
		c.Chained = c.Slow.Name[2] == 'k' && !c.Alike
		c.Cache, c.More = busier(c.Slow.Record, c.Fast.Record)
	}
	return all
}

// Alike returns the comparisons of orders with the same innermost loop.
func (o Ordered) Alike() []OrderComparison {
	return analysis.Pick(o.Comparisons(), func(c OrderComparison) bool { return c.Alike })
}

// busier returns the outermost cache whose traffic is much larger for slow than for quick, and the ratio.
func busier(slow, quick record.Record) (cache string, more float64) {
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
