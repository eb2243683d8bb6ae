package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gemm/compare/record"

	"gemm"
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
	Own   record.Record   // of the suite; its status says whether it has a speed
	Peers []record.Record // of libraries and of the user, those without a speed too
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
	rows := v.Pick(func(r record.Record) bool {
		return r.Experiment == record.MainLadder && r.Turn != "" && r.Type != "gf256" && !ByGPU(r) && len(r.Ranks) == 0 &&
			(entrant(r) || Rival(r) || Brought(r))
	})
	types := Types(rows)
	for _, here := range GroupBy(rows, ProblemOf) {
		m := Match{Problem: ProblemOf(here[0]), Peers: Pick(here, func(r record.Record) bool { return !entrant(r) })}
		slices.Reverse(here)
		m.Own, _ = Find(here, entrant)
		if m.Own.Variant != "" && slices.ContainsFunc(m.Peers, Rival) {
			c.Matches = append(c.Matches, m)
		}
	}
	slices.SortFunc(c.Matches, func(a, b Match) int {
		return cmp.Or(cmp.Compare(slices.Index(types, a.Type), slices.Index(types, b.Type)),
			cmp.Compare(a.Threads, b.Threads), a.Compare(b.Problem))
	})
	return c
}

// entrant reports whether a row is the one that we enter: of production, serial on one thread and parallel on several.
func entrant(r record.Record) bool {
	family := Family(r.Variant)
	return Of(r).Role == gemm.Production && (family == Serial && r.Threads <= 1 || family == Parallel && r.Threads > 1)
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
	type place struct {
		typ     string
		threads int
	}
	var out []Group
	for _, here := range GroupBy(c.Matches, func(m Match) place { return place{m.Type, m.Threads} }) {
		for _, k := range kinds {
			if own := Pick(here, func(m Match) bool { return k.has(m.Problem) }); len(own) > 0 {
				out = append(out, Group{k, own[0].Type, own[0].Threads, own})
			}
		}
	}
	return out
}

// Figure is the ID of the figure of g, without the host.
func (g Group) Figure() string { return fmt.Sprintf("%s-%s-%d", g.Kind.Id, g.Type, g.Threads) }

// Count returns the number of matches.
func (g Group) Count() int { return len(g.Matches) }

// Own returns the variant that we enter in g.
func (g Group) Own() string { return g.Matches[0].Own.Variant }

// loss is a match that a library wins, or may win.
type loss struct {
	Match
	Peer record.Record // the fastest library
	Comparison
}

// Setback is where the fastest library is ahead in a group.
type Setback struct {
	Group
	Problems []Problem // all
	Worst    loss      // of them
}

// Score is how often the fastest library is ahead, and where.
type Score struct {
	Compared int    // cases that ours and a library were timed on
	Lost     []loss // cases at which the fastest library is ahead, the worst first
	Level    int    // cases at which it may be
	Rows     []Setback
}

// Score returns the losses by group.
func (c Contest) Score() Score {
	var s Score
	for _, g := range c.Groups() {
		b := Setback{Group: g}
		for _, m := range g.Matches {
			best, ok := m.best()
			if !ok {
				continue
			}
			s.Compared++
			switch l := (loss{m, best, m.against(best)}); {
			case l.Outcome == Slower:
				s.Lost = append(s.Lost, l)
				b.Problems = append(b.Problems, m.Problem)
				if len(b.Problems) == 1 || l.Ratio < b.Worst.Ratio {
					b.Worst = l
				}
			case !(l.Ratio >= 1):
				s.Level++
			}
		}
		if len(b.Problems) > 0 {
			s.Rows = append(s.Rows, b)
		}
	}
	slices.SortStableFunc(s.Lost, func(a, b loss) int { return cmp.Compare(a.Ratio, b.Ratio) })
	return s
}

// Contender is a variant that was timed, with what it says of itself.
type Contender struct {
	Variant string
	Version string
	Kernels []string
}

// Contenders returns the variants that were timed, ours first.
func (c Contest) Contenders() []Contender {
	var out []Contender
	var rows []record.Record
	for _, m := range c.Matches {
		rows = append(rows, Timed(m.rows())...)
	}
	for _, own := range GroupBy(rows, VariantOf) {
		x := Contender{Variant: own[0].Variant}
		for _, r := range own {
			if version, ok := r.Resolved["version"].(string); ok {
				x.Version = version
			}
			if kernel, ok := r.Resolved["kernel"].(string); ok && !slices.Contains(x.Kernels, kernel) {
				x.Kernels = append(x.Kernels, kernel)
			}
		}
		out = append(out, x)
	}
	slices.SortStableFunc(out, func(x, y Contender) int { return cmp.Compare(c.Order(x.Variant), c.Order(y.Variant)) })
	return out
}

// rows returns our row and those of the others.
func (m Match) rows() []record.Record { return append([]record.Record{m.Own}, m.Peers...) }

// Row returns the row of a variant in m.
func (m Match) Row(variant string) (record.Record, bool) {
	return Find(m.rows(), func(r record.Record) bool { return r.Variant == variant })
}

// Peer returns the row of a peer; false if it has no speed or we have none.
func (m Match) Peer(variant string) (record.Record, bool) {
	return Find(m.Peers, func(r record.Record) bool { return r.Variant == variant && r.Speed() && m.Own.Speed() })
}

// against compares a peer with our row. Peers that were not interleaved with it, as in a run that was resumed,
// have an interval only if the noise of such times is known.
func (m Match) against(peer record.Record) Comparison {
	return Fight([]Duel{{First: peer, Second: m.Own}})[0].Comparison
}

// Resumed returns the number of matches with a peer that was not interleaved with our row.
func (c Contest) Resumed() int {
	return len(Pick(c.Matches, func(m Match) bool {
		return m.Own.Speed() && slices.ContainsFunc(Timed(m.Peers), func(r record.Record) bool { return !InTurn(r, m.Own) })
	}))
}

// best returns the library that takes the least time.
func (m Match) best() (record.Record, bool) {
	best, ok := Least(Pick(m.Peers, Rival), median)
	return best, ok && m.Own.Speed()
}

// Mean is a geometric mean of ratios with its 95 % interval.
type Mean struct {
	Ratio, Lo, Hi float64 // NaN if there is none
	Count, Of     int     // the matches in which the peer was timed, and all
}

// Mean returns the mean over the matches in which the peer was timed.
func (g Group) Mean(p Peer) Mean {
	var sum, down, up, n float64
	for _, m := range g.Matches {
		if r, ok := m.Peer(string(p)); ok {
			c := m.against(r)
			sum += math.Log(c.Ratio)
			down += math.Pow(math.Log(c.Ratio/c.Lo), 2)
			up += math.Pow(math.Log(c.Hi/c.Ratio), 2)
			n++
		}
	}
	ratio := math.Exp(sum / n)
	return Mean{ratio, ratio * math.Exp(-math.Sqrt(down)/n), ratio * math.Exp(math.Sqrt(up)/n), int(n), len(g.Matches)}
}

// Peer is a variant whose short name heads a column.
type Peer string

// String returns the short name.
func (p Peer) String() string { return Short(string(p)) }

// Peers returns the peers of all matches.
func (c Contest) Peers() []Peer {
	var out []Peer
	for _, name := range c.PeersOf(c.Matches) {
		out = append(out, Peer(name))
	}
	return out
}

// Order is the place of a variant in tables: ours first, then libraries with all of BLAS, then others.
func (v *View) Order(variant string) int {
	var names [4][]string
	for _, of := range v.Variants {
		at := 3
		switch others := of.Role == gemm.Library || of.Role == gemm.Baseline; {
		case of.Location != gemm.InProcess:
		case of.Role == gemm.Production:
			at = 0
		case others && of.Can.Has(gemm.Gemms):
			at = 1
		case others:
			at = 2
		}
		names[at] = append(names[at], of.Name)
	}
	all := slices.Concat(names[:3]...)
	if i := slices.Index(all, variant); i >= 0 {
		return i
	}
	return len(all)
}

// PeersOf returns the peers of matches in the order of tables, without those that were not available in any match.
func (v *View) PeersOf(matches []Match) []string {
	var rows []record.Record
	for _, m := range matches {
		rows = append(rows, Pick(m.Peers, func(r record.Record) bool { return r.Status != record.Unavailable })...)
	}
	names := Distinct(rows, VariantOf)
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(v.Order(a), v.Order(b)) })
	return names
}

// Top returns the ceiling of the turn of m, and NaN if there is none.
func (m Match) Top() float64 {
	r, _ := Find(m.rows(), func(r record.Record) bool { return r.Ceiling > 0 })
	return positive(r.Ceiling)
}

// Middle returns the median of samples.
func Middle(samples []float64) float64 {
	s := slices.Sorted(slices.Values(samples))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
