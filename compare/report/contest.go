package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gemm/compare"
)

// kind is a sort of shape that is averaged and tabled together.
type kind struct {
	id, title string // title: in figures
	has       func(p problem) bool
}

// kinds are all kinds of shapes, in the order of the report.
var kinds = []kind{
	{"square", "Square matrices", func(p problem) bool { return p.cube() && p.n >= 64 }},
	{"small", "Small matrices", func(p problem) bool { return p.cube() && p.n < 64 }},
	{"skinny", "Skinny matrices", func(p problem) bool { return !p.cube() }},
}

// match is one shape with all that was measured in turn on it at as many threads.
type match struct {
	problem
	own   compare.Record   // of the suite; its status says whether it has a speed
	peers []compare.Record // of others, those without a speed too
}

// contest is the matches of one host, by type, threads and size.
type contest struct {
	*view
	matches []match
}

// newContest returns the matches of v: the rows of the ladder that were measured in
// turn with a library. On one thread we are serial/packed, on several parallel/packed.
func newContest(v *view) contest {
	c := contest{view: v}
	rows := v.pick(func(r compare.Record) bool {
		return r.Experiment == "ladder" && r.Turn != "" && r.Type != "gf256" && !byGPU(r) && len(r.Ranks) == 0 && (entrant(r) || !ours(r))
	})
	for _, typ := range types(rows) {
		var found []match
		for _, p := range problems(rows) {
			if p.typ != typ {
				continue
			}
			m := match{problem: p}
			for _, r := range rows {
				switch {
				case problemOf(r) != p:
				case entrant(r):
					m.own = r
				default:
					m.peers = append(m.peers, r)
				}
			}
			if m.own.Variant != "" && len(m.peers) > 0 {
				found = append(found, m)
			}
		}
		slices.SortStableFunc(found, func(a, b match) int { return cmp.Compare(a.threads, b.threads) })
		c.matches = append(c.matches, found...)
	}
	return c
}

// entrant reports whether a row is the one that we enter: serial/packed on one thread
// and parallel/packed on several.
func entrant(r compare.Record) bool {
	return r.Variant == packed && r.Threads <= 1 || r.Variant == parallelPacked && r.Threads > 1
}

const parallelPacked = "parallel/packed"

// matchRows returns the rows of matches, each ours first.
func matchRows(matches []match) []compare.Record {
	var rows []compare.Record
	for _, m := range matches {
		rows = append(append(rows, m.own), m.peers...)
	}
	return rows
}

// of returns the matches of a type, number of threads and kind.
func (c contest) of(typ string, threads int, k kind) []match {
	var out []match
	for _, m := range c.matches {
		if m.typ == typ && m.threads == threads && k.has(m.problem) {
			out = append(out, m)
		}
	}
	return out
}

// group is the matches of one type, number of threads and kind: those of one table.
type group struct {
	kind    kind
	typ     string
	threads int
	matches []match
}

// groups returns the groups that have matches, in the order of the report.
func (c contest) groups() []group {
	var out []group
	type place struct {
		typ     string
		threads int
	}
	for _, at := range distinct(c.matches, func(m match) place { return place{m.typ, m.threads} }) {
		for _, k := range kinds {
			if matches := c.of(at.typ, at.threads, k); len(matches) > 0 {
				out = append(out, group{k, at.typ, at.threads, matches})
			}
		}
	}
	return out
}

// figure is the ID of the figure of g, without the host.
func (g group) figure() string { return fmt.Sprintf("%s-%s-%d", g.kind.id, g.typ, g.threads) }

// id is the ID of the section of g, without the host.
func (g group) id() string { return "shapes-" + g.figure() }

// own returns the variant that we enter in g.
func (g group) own() string { return g.matches[0].own.Variant }

// loss is a match that a library wins, or may win.
type loss struct {
	match
	peer compare.Record // the fastest library
	comparison
}

// losses returns the matches at which the fastest library is ahead, the worst first, those
// of the others at which the ratio is below 1 though they cannot be told apart, and how many
// matches were compared.
func (c contest) losses() (losses, level []loss, compared int) {
	for _, m := range c.matches {
		best, ok := m.best()
		if !ok {
			continue
		}
		compared++
		l := loss{m, best, contrast(best, m.own)}
		switch {
		case l.Outcome == slower:
			losses = append(losses, l)
		case !(l.Ratio >= 1):
			level = append(level, l)
		}
	}
	slices.SortStableFunc(losses, func(a, b loss) int { return cmp.Compare(a.Ratio, b.Ratio) })
	return losses, level, compared
}

// row returns the row of a variant in m.
func (m match) row(variant string) (compare.Record, bool) {
	for _, r := range append([]compare.Record{m.own}, m.peers...) {
		if r.Variant == variant {
			return r, true
		}
	}
	return compare.Record{}, false
}

// peer returns the row of a peer; false where it has no speed or we have none.
func (m match) peer(variant string) (compare.Record, bool) {
	for _, r := range m.peers {
		if r.Variant == variant && r.Speed() && m.own.Speed() {
			return r, true
		}
	}
	return compare.Record{}, false
}

// best returns the peer that takes the least time.
func (m match) best() (compare.Record, bool) {
	best := compare.Record{Median: compare.None()}
	for _, r := range m.peers {
		if r.Speed() && m.own.Speed() && !(r.Median >= best.Median) {
			best = r
		}
	}
	return best, best.Median.Known()
}

// share returns the part of the ceiling that a row reaches, NaN where it is not known.
func share(r compare.Record) float64 { return known(r, r.PercentPeak) / 100 }

// mean is a geometric mean of ratios with its 95 % interval.
type mean struct {
	Ratio, Lo, Hi float64 // NaN where there is none
	Count         int
}

// meanOf returns the mean over the matches in which the peer was timed.
func meanOf(matches []match, variant string) mean {
	var sum, down, up float64
	n := 0
	for _, m := range matches {
		r, ok := m.peer(variant)
		if !ok {
			continue
		}
		c := contrast(r, m.own)
		sum += math.Log(c.Ratio)
		down += math.Pow(math.Log(c.Ratio/c.Lo), 2)
		up += math.Pow(math.Log(c.Hi/c.Ratio), 2)
		n++
	}
	if n == 0 {
		return mean{math.NaN(), math.NaN(), math.NaN(), 0}
	}
	ratio := math.Exp(sum / float64(n))
	return mean{ratio, ratio * math.Exp(-math.Sqrt(down)/float64(n)), ratio * math.Exp(math.Sqrt(up)/float64(n)), n}
}

// order is that of contenders in tables and figures.
var order = []string{packed, parallelPacked, "reference/openblas", "reference/mkl", "reference/blis", "serial/gonum"}

func rank(variant string) int {
	i := slices.Index(order, variant)
	if i < 0 {
		return len(order)
	}
	return i
}

// peersOf returns the peers of matches in the order of tables.
func peersOf(matches []match) []string {
	var rows []compare.Record
	for _, m := range matches {
		rows = append(rows, m.peers...)
	}
	names := distinct(rows, variantOf)
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	return names
}

// top returns the ceiling that was measured in turn with m, NaN where none was.
func (m match) top() float64 {
	for _, r := range append([]compare.Record{m.own}, m.peers...) {
		if r.Ceiling > 0 {
			return r.Ceiling
		}
	}
	return math.NaN()
}

// scaling returns our speed on several threads over as many times that on one; false
// where one of the two was not timed.
func (c contest) scaling(m match) (float64, bool) {
	one := m.problem
	one.threads = 1
	for _, o := range c.matches {
		if o.problem == one && o.own.Speed() && m.own.Speed() {
			return float64(o.own.Median) / float64(m.own.Median) / float64(m.threads), true
		}
	}
	return math.NaN(), false
}

// speedAt returns our GFLOP/s on one thread for n×n matrices, NaN where it was not
// measured.
func (c contest) speedAt(typ string, n int) float64 {
	for _, m := range c.matches {
		if m.typ == typ && m.threads == 1 && m.cube() && m.n == n {
			return known(m.own, m.own.Gflops)
		}
	}
	return math.NaN()
}

// middle returns the median of samples.
func middle(samples []float64) float64 {
	s := slices.Sorted(slices.Values(samples))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
