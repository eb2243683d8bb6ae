package plan

import (
	"errors"
	"slices"

	"gemm"
	"gemm/compare/record"
)

// Comparison is a profile and the requests of the user. The zero value of a field leaves the profile's value.
type Comparison struct {
	Profile  Profile
	Variants []gemm.Variant // that are compared
	Shapes   []gemm.Shape
	Types    []string
	Threads  []int // numbers of threads, also of libraries of others
	Ranks    []int // numbers of ranks
	// Largest requests a timeline of each variant that can have one, at its largest product of the main tables.
	Largest bool
}

// ErrNoTimeline: timelines are requested, and no row can have one.
var ErrNoTimeline = errors.New("none of the rows has a timeline: choose variants on threads, ranks or a GPU")

// Budget returns the limits of the rows: a size that the user requests is measured, however long a call takes.
func (c Comparison) Budget() Budget {
	b := c.Profile.Budget
	if c.Shapes != nil {
		b.Call = 0
	}
	return b
}

// Cases returns the rows of the main tables, and then of the profile's experiments, as far as they have the requested
// sizes, types and numbers of threads and ranks. The error is ErrNoTimeline.
func (c Comparison) Cases() ([]Case, error) {
	p := c.Profile
	l := Ladder{Variants: c.Variants, Shapes: p.Shapes, Types: p.Types, Ops: []string{"nn"}, Alpha: 1,
		Processors: p.Processors, Sweep: c.sweep()}
	if c.Types != nil {
		l.Types = c.Types
	}
	if l.Types == nil {
		l.Types = gemm.TypeNames()
	}
	if c.Threads == nil && p.LibraryThreads != nil {
		l.Libraries = map[string][]any{"threads": anys(p.LibraryThreads)}
	}
	l.Keep = func(k Case) bool { return p.Ladder.keep(k) && (c.Shapes != nil || p.Sizes.keep(k)) }
	if c.Shapes != nil {
		l.Shapes = c.Shapes
	}
	cases := l.Cases()
	for i, k := range cases {
		cases[i].Timeline = p.Timelines != nil && k.Experiment == record.MainLadder && p.Timelines.Has(k)
	}
	requested := func(k Case, any bool, param string) bool {
		return any || k.Params[param] == nil || slices.Contains(l.Sweep[param], k.Params[param])
	}
	for _, k := range p.planned(l.Variants, l.Types) {
		if (c.Shapes == nil || slices.Contains(c.Shapes, k.Base())) &&
			requested(k, c.Threads == nil, "threads") && requested(k, c.Ranks == nil, "ranks") {
			cases = append(cases, k)
		}
	}
	if !c.Largest || len(cases) == 0 {
		return cases, nil
	}
	drawLargest(cases)
	if !slices.ContainsFunc(cases, func(k Case) bool { return k.Timeline }) {
		return cases, ErrNoTimeline
	}
	return cases, nil
}

// sweep returns the numbers of threads and ranks, without numbers of threads of the profile that exceed the processors.
func (c Comparison) sweep() map[string][]any {
	p, sweep := c.Profile, map[string][]any{}
	if c.Ranks == nil {
		c.Ranks = p.Ranks
	}
	if c.Threads == nil {
		c.Threads = slices.DeleteFunc(slices.Clone(p.Threads), func(n int) bool { return n > p.Processors })
	}
	for name, numbers := range map[string][]int{"ranks": c.Ranks, "threads": c.Threads} {
		if len(numbers) > 0 {
			sweep[name] = anys(numbers)
		}
	}
	return sweep
}

// drawLargest requests a timeline of each variant that can have one, at the largest product of the main tables.
func drawLargest(cases []Case) {
	largest := map[string]int{}
	for i, k := range cases {
		at, ok := largest[k.Variant.Name]
		serial := k.Variant.Family() == "serial" || k.Variant.Role.Outside()
		if !serial && k.Experiment == record.MainLadder && (!ok || k.Terms() > cases[at].Terms()) {
			largest[k.Variant.Name] = i
		}
	}
	for _, i := range largest {
		cases[i].Timeline = true
	}
}

// Summary returns the rows that a command shows of a comparison: of the first experiment, at the largest shape with a
// speed of each variant and type; and all rows that failed. Unavailable rows are left out.
func Summary(rows []record.Record) []record.Record {
	type series struct{ variant, typ, params string }
	of := func(r record.Record) series { return series{r.Variant, r.Type, r.Params.String()} }
	best := map[series]record.Record{}
	for _, r := range rows {
		was, ok := best[of(r)]
		if r.Experiment == rows[0].Experiment && (!ok || r.Speed() && (!was.Speed() || r.Terms() > was.Terms())) {
			best[of(r)] = r
		}
	}
	return slices.DeleteFunc(slices.Clone(rows), func(r record.Record) bool {
		is := r.Experiment == rows[0].Experiment && r.Shape == best[of(r)].Shape
		return !r.Status.Bad() && !is || r.Status == record.Unavailable
	})
}
