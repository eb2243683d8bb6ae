package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gemm"
	"gemm/compare/record"
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

// Case is one shape with all rows of one turn, on one number of threads.
type Case struct {
	Problem
	Own   record.Record   // of the suite; its status says whether it has a speed
	Peers []record.Record // of libraries and of the user, those without a speed too
}

// LibraryComparison is the cases of one host, by type, threads and size.
type LibraryComparison struct {
	*View
	Cases []Case
}

// NewLibraryComparison returns the cases of v: the rows of the ladder that were interleaved with a library. Ours is the
// serial production variant on one thread, and the parallel one on several.
func NewLibraryComparison(v *View) LibraryComparison {
	c := LibraryComparison{View: v}
	rows := v.Pick(func(r record.Record) bool {
		return r.Experiment == record.MainLadder && r.Turn != "" && r.Type != "gf256" && !ByGPU(r) && len(r.Ranks) == 0 &&
			(production(r) || OfLibrary(r) || OfUser(r))
	})
	types := Types(rows)
	for _, here := range GroupBy(rows, ProblemOf) {
		m := Case{Problem: ProblemOf(here[0]), Peers: Pick(here, func(r record.Record) bool { return !production(r) })}
		slices.Reverse(here)
		m.Own, _ = Find(here, production)
		if m.Own.Variant != "" && slices.ContainsFunc(m.Peers, OfLibrary) {
			c.Cases = append(c.Cases, m)
		}
	}
	slices.SortFunc(c.Cases, func(a, b Case) int {
		return cmp.Or(cmp.Compare(slices.Index(types, a.Type), slices.Index(types, b.Type)),
			cmp.Compare(a.Threads, b.Threads), a.Compare(b.Problem))
	})
	return c
}

// production reports whether a row is ours in a case: of production, serial on one thread and parallel on several.
func production(r record.Record) bool {
	family := Family(r.Variant)
	return Of(r).Role == gemm.Production && (family == Serial && r.Threads <= 1 || family == Parallel && r.Threads > 1)
}

// Group is the cases of one type, number of threads and kind: the rows of one table.
type Group struct {
	Kind    kind
	Type    string
	Threads int
	Cases   []Case
	Count   int    // of the cases
	Own     string // our variant
}

// Groups returns the groups that have cases, in the order of the report.
func (c LibraryComparison) Groups() []Group {
	type place struct {
		typ     string
		threads int
	}
	var out []Group
	for _, here := range GroupBy(c.Cases, func(m Case) place { return place{m.Type, m.Threads} }) {
		for _, k := range kinds {
			if own := Pick(here, func(m Case) bool { return k.has(m.Problem) }); len(own) > 0 {
				out = append(out, Group{k, own[0].Type, own[0].Threads, own, len(own), own[0].Own.Variant})
			}
		}
	}
	return out
}

// Figure is the ID of the figure of g, without the host.
func (g Group) Figure() string { return fmt.Sprintf("%s-%s-%d", g.Kind.Id, g.Type, g.Threads) }

// slowerCase is a case in which a library is faster, or may be.
type slowerCase struct {
	Case
	Peer record.Record // the fastest library
	Comparison
}

// SlowerGroup is where the fastest library is faster in a group.
type SlowerGroup struct {
	Group
	Problems []Problem  // all
	Worst    slowerCase // of them
}

// Summary is how often the fastest library is faster, and where.
type Summary struct {
	Compared int          // cases that ours and a library were timed on
	Slower   []slowerCase // cases in which the fastest library is faster, the worst first
	Level    int          // cases in which it may be
	Rows     []SlowerGroup
}

// Summary returns the slower cases by group.
func (c LibraryComparison) Summary() Summary {
	var s Summary
	for _, g := range c.Groups() {
		b := SlowerGroup{Group: g}
		for _, m := range g.Cases {
			best, ok := m.best()
			if !ok {
				continue
			}
			s.Compared++
			switch l := (slowerCase{m, best, ComparePair(best, m.Own)}); {
			case l.Outcome == Slower:
				s.Slower = append(s.Slower, l)
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
	slices.SortStableFunc(s.Slower, func(a, b slowerCase) int { return cmp.Compare(a.Ratio, b.Ratio) })
	return s
}

// Contender is a variant that was timed, with what it says of itself.
type Contender struct {
	Variant string
	Version string
	Kernels []string
}

// Contenders returns the variants that were timed, ours first.
func (c LibraryComparison) Contenders() []Contender {
	var out []Contender
	var rows []record.Record
	for _, m := range c.Cases {
		rows = append(rows, Timed(m.rows())...)
	}
	for _, own := range GroupBy(rows, VariantOf) {
		x := Contender{Variant: own[0].Variant}
		for _, r := range own {
			x.Version = cmp.Or(Value[string](r.Resolved, "version"), x.Version)
			if kernel, ok := r.Resolved["kernel"].(string); ok && !slices.Contains(x.Kernels, kernel) {
				x.Kernels = append(x.Kernels, kernel)
			}
		}
		out = append(out, x)
	}
	slices.SortStableFunc(out, func(x, y Contender) int { return cmp.Compare(c.Order(x.Variant), c.Order(y.Variant)) })
	return out
}

func (m Case) rows() []record.Record { return append([]record.Record{m.Own}, m.Peers...) }

// Row returns the row of a variant in m.
func (m Case) Row(variant string) (record.Record, bool) {
	return Find(m.rows(), func(r record.Record) bool { return r.Variant == variant })
}

// Peer returns the row of a peer; false if it has no speed or we have none.
func (m Case) Peer(variant string) (record.Record, bool) {
	return Find(m.Peers, func(r record.Record) bool { return r.Variant == variant && r.Speed() && m.Own.Speed() })
}

// Resumed returns the number of cases with a peer that was not interleaved with our row.
func (c LibraryComparison) Resumed() int {
	return len(Pick(c.Cases, func(m Case) bool {
		apart := func(r record.Record) bool { return !Interleaved(r, m.Own) }
		return m.Own.Speed() && slices.ContainsFunc(Timed(m.Peers), apart)
	}))
}

func (m Case) best() (record.Record, bool) {
	best, ok := MinBy(Pick(m.Peers, OfLibrary), median)
	return best, ok && m.Own.Speed()
}

// Mean is a geometric mean of ratios with its 95 % interval.
type Mean struct {
	Ratio, Lo, Hi float64 // NaN if there is none
	Count, Of     int     // the cases in which the peer was timed, and all
}

// Mean returns the mean over the cases in which the peer was timed.
func (g Group) Mean(p Peer) Mean {
	var sum, down, up, n float64
	for _, m := range g.Cases {
		if r, ok := m.Peer(string(p)); ok {
			c := ComparePair(r, m.Own) // without an interval if they were not interleaved and the noise is not known
			sum += math.Log(c.Ratio)
			down += math.Pow(math.Log(c.Ratio/c.Lo), 2)
			up += math.Pow(math.Log(c.Hi/c.Ratio), 2)
			n++
		}
	}
	ratio := math.Exp(sum / n)
	return Mean{ratio, ratio * math.Exp(-math.Sqrt(down)/n), ratio * math.Exp(math.Sqrt(up)/n), int(n), len(g.Cases)}
}

// Peer is a variant whose short name heads a column.
type Peer string

// String returns the short name.
func (p Peer) String() string { return Short(string(p)) }

// Peers returns the peers of all cases.
func (c LibraryComparison) Peers() []Peer {
	var out []Peer
	for _, name := range c.PeersOf(c.Cases) {
		out = append(out, Peer(name))
	}
	return out
}

// Order is the place of a variant in tables: ours first, then libraries with all of BLAS, then others.
func (v *View) Order(variant string) int {
	rank := func(of record.Variant) int {
		switch library := of.Role == gemm.Library || of.Role == gemm.Baseline; {
		case of.Location != gemm.InProcess:
		case of.Role == gemm.Production:
			return 0
		case library && of.Can.Has(gemm.Gemms):
			return 1
		case library:
			return 2
		}
		return 3
	}
	all := Pick(v.Variants, func(of record.Variant) bool { return rank(of) < 3 })
	slices.SortStableFunc(all, func(x, y record.Variant) int { return rank(x) - rank(y) })
	i := slices.IndexFunc(all, func(of record.Variant) bool { return of.Name == variant })
	return (i + len(all) + 1) % (len(all) + 1)
}

// PeersOf returns the peers of cases in the order of tables, without peers that were not available in any case.
func (v *View) PeersOf(matches []Case) []string {
	var rows []record.Record
	for _, m := range matches {
		rows = append(rows, Pick(m.Peers, func(r record.Record) bool { return r.Status != record.Unavailable })...)
	}
	names := Distinct(rows, VariantOf)
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(v.Order(a), v.Order(b)) })
	return names
}

// Top returns the ceiling of the turn of m, and NaN if there is none.
func (m Case) Top() float64 {
	r, _ := Find(m.rows(), func(r record.Record) bool { return r.Ceiling > 0 })
	return positive(r.Ceiling)
}

// Middle returns the median of samples.
func Middle(samples []float64) float64 {
	s := slices.Sorted(slices.Values(samples))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
