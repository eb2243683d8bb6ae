package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gemm"
	"gemm/compare"
)

// kind is a sort of shape that is averaged and tabled together.
type kind struct {
	Id, Title string // title: in figures
	has       func(p Problem) bool
}

// kinds are all kinds of shapes, in the order of the report.
var kinds = []kind{
	{"square", "Square matrices", func(p Problem) bool { return p.Cube() && p.N >= 64 }},
	{"small", "Small matrices", func(p Problem) bool { return p.Cube() && p.N < 64 }},
	{"skinny", "Skinny matrices", func(p Problem) bool { return !p.Cube() }},
}

// Match is one shape with all rows of one turn, on one number of threads.
type Match struct {
	Problem
	Own   compare.Record   // of the suite; its status says whether it has a speed
	Peers []compare.Record // of libraries and of the user, those without a speed too
}

// Contest is the matches of one host, by type, threads and size.
type Contest struct {
	*View
	Matches []Match
}

// NewContest returns the matches of v: the rows of the ladder that were measured in
// turn with a library. On one thread we are the serial production variant, on several the parallel one.
func NewContest(v *View) Contest {
	c := Contest{View: v}
	rows := v.Pick(func(r compare.Record) bool {
		return r.Experiment == compare.MainLadder && r.Turn != "" && r.Type != "gf256" && !ByGPU(r) && len(r.Ranks) == 0 &&
			(entrant(r) || Rival(r) || Brought(r))
	})
	for _, typ := range Types(rows) {
		var found []Match
		for _, p := range Problems(rows) {
			if p.Type != typ {
				continue
			}
			m := Match{Problem: p}
			for _, r := range rows {
				switch {
				case ProblemOf(r) != p:
				case entrant(r):
					m.Own = r
				default:
					m.Peers = append(m.Peers, r)
				}
			}
			if m.Own.Variant != "" && slices.ContainsFunc(m.Peers, Rival) {
				found = append(found, m)
			}
		}
		slices.SortStableFunc(found, func(a, b Match) int { return cmp.Compare(a.Threads, b.Threads) })
		c.Matches = append(c.Matches, found...)
	}
	return c
}

// entrant reports whether a row is the one that we enter: of production, serial on one thread and parallel on several.
func entrant(r compare.Record) bool {
	family := Family(r.Variant)
	return Of(r).Role == gemm.Production && (family == Serial && r.Threads <= 1 || family == Parallel && r.Threads > 1)
}

// MatchRows returns the rows of matches, each ours first.
func MatchRows(matches []Match) []compare.Record {
	var rows []compare.Record
	for _, m := range matches {
		rows = append(append(rows, m.Own), m.Peers...)
	}
	return rows
}

// of returns the matches of a type, number of threads and kind.
func (c Contest) of(typ string, threads int, k kind) []Match {
	var out []Match
	for _, m := range c.Matches {
		if m.Type == typ && m.Threads == threads && k.has(m.Problem) {
			out = append(out, m)
		}
	}
	return out
}

// Group is the matches of one type, number of threads and kind: the rows of one table.
type Group struct {
	Kind    kind
	Type    string
	Threads int
	Matches []Match
}

// Groups returns the groups that have matches, in the order of the report.
func (c Contest) Groups() []Group {
	var out []Group
	type place struct {
		typ     string
		threads int
	}
	for _, at := range Distinct(c.Matches, func(m Match) place { return place{m.Type, m.Threads} }) {
		for _, k := range kinds {
			if matches := c.of(at.typ, at.threads, k); len(matches) > 0 {
				out = append(out, Group{k, at.typ, at.threads, matches})
			}
		}
	}
	return out
}

// Figure is the ID of the figure of g, without the host.
func (g Group) Figure() string { return fmt.Sprintf("%s-%s-%d", g.Kind.Id, g.Type, g.Threads) }

// Own returns the variant that we enter in g.
func (g Group) Own() string { return g.Matches[0].Own.Variant }

// loss is a match that a library wins, or may win.
type loss struct {
	Match
	Peer compare.Record // the fastest library
	Comparison
}

// Losses returns the matches at which the fastest library is ahead, the worst first. close are the
// other matches with a ratio below 1, which cannot be told apart. compared is the number of matches
// with a library.
func (c Contest) Losses() (losses, level []loss, compared int) {
	for _, m := range c.Matches {
		best, ok := m.best()
		if !ok {
			continue
		}
		compared++
		l := loss{m, best, Contrast(best, m.Own)}
		switch {
		case l.Outcome == Slower:
			losses = append(losses, l)
		case !(l.Ratio >= 1):
			level = append(level, l)
		}
	}
	slices.SortStableFunc(losses, func(a, b loss) int { return cmp.Compare(a.Ratio, b.Ratio) })
	return losses, level, compared
}

// Row returns the row of a variant in m.
func (m Match) Row(variant string) (compare.Record, bool) {
	for _, r := range append([]compare.Record{m.Own}, m.Peers...) {
		if r.Variant == variant {
			return r, true
		}
	}
	return compare.Record{}, false
}

// Peer returns the row of a peer; false if it has no speed or we have none.
func (m Match) Peer(variant string) (compare.Record, bool) {
	for _, r := range m.Peers {
		if r.Variant == variant && r.Speed() && m.Own.Speed() {
			return r, true
		}
	}
	return compare.Record{}, false
}

// best returns the library that takes the least time.
func (m Match) best() (compare.Record, bool) {
	best := compare.Record{Median: compare.None()}
	for _, r := range m.Peers {
		if Rival(r) && r.Speed() && m.Own.Speed() && !(r.Median >= best.Median) {
			best = r
		}
	}
	return best, best.Median.Known()
}

// mean is a geometric mean of ratios with its 95 % interval.
type mean struct {
	Ratio, Lo, Hi float64 // NaN if there is none
	Count         int
}

// MeanOf returns the mean over the matches in which the peer was timed.
func MeanOf(matches []Match, variant string) mean {
	var sum, down, up float64
	n := 0
	for _, m := range matches {
		r, ok := m.Peer(variant)
		if !ok {
			continue
		}
		c := Contrast(r, m.Own)
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

// Order is the place of a variant in tables: ours first, then libraries with the whole of BLAS's operation, then others.
func (v *View) Order(variant string) int {
	var names []string
	for _, whole := range []bool{true, false} {
		names = append(names, v.Named(func(of compare.Variant) bool {
			return of.Location == gemm.InProcess && of.Can.Has(gemm.Gemms) == whole &&
				(of.Role == gemm.Library || of.Role == gemm.Baseline)
		})...)
	}
	names = append(v.Named(func(of compare.Variant) bool {
		return of.Location == gemm.InProcess && of.Role == gemm.Production
	}), names...)
	if i := slices.Index(names, variant); i >= 0 {
		return i
	}
	return len(names)
}

// PeersOf returns the peers of matches in the order of tables, without those that were not available in any
// match.
func (v *View) PeersOf(matches []Match) []string {
	var rows []compare.Record
	for _, m := range matches {
		rows = append(rows, m.Peers...)
	}
	rows = slices.DeleteFunc(rows, func(r compare.Record) bool { return r.Status == compare.Unavailable })
	names := Distinct(rows, VariantOf)
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(v.Order(a), v.Order(b)) })
	return names
}

// Top returns the ceiling of the turn of m, and NaN if there is none.
func (m Match) Top() float64 {
	for _, r := range append([]compare.Record{m.Own}, m.Peers...) {
		if r.Ceiling > 0 {
			return r.Ceiling
		}
	}
	return math.NaN()
}

// Middle returns the median of samples.
func Middle(samples []float64) float64 {
	s := slices.Sorted(slices.Values(samples))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
