package coursework

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gemm/compare/record"
	"gemm/compare/report/analysis"
)

// Times is a table of times over sizes.
type Times struct {
	Sizes []int
	Rows  []TimesRow
	Local string // the variant that computes the part of a worker; empty: there are several, or none is known
}

// TimesRow is a row of a table of times: records that differ in their size alone.
type TimesRow struct {
	identity
	Oversubscribed bool // more workers than there are processors
	rows           map[int]record.Record
}

// identity is what the records of a row have in common.
type identity struct {
	Variant string
	Set     string // schedule, or parameters besides the defaults
	Count   int    // threads or ranks
}

func identify(v *analysis.View, a analysis.Axis, r record.Record) identity {
	return identity{r.Variant, v.DistinctSetting(r.Variant, analysis.Omit(r.Params, a.Param)), a.Count(r)}
}

// Workers returns the threads or ranks, with an asterisk if there are more than processors.
func (l TimesRow) Workers() string {
	if l.Oversubscribed {
		return fmt.Sprint(l.Count, "*")
	}
	return fmt.Sprint(l.Count)
}

// Ms returns the time at a size in milliseconds, NaN if there is none.
func (l TimesRow) Ms(n int) float64 { return 1e3 * analysis.Known(l.rows[n], l.rows[n].Median) }

// Oversubscribed reports whether a row has more workers than there are processors.
func (t Times) Oversubscribed() bool {
	return slices.ContainsFunc(t.Rows, func(l TimesRow) bool { return l.Oversubscribed })
}

// Faults returns the rows without a time.
func (t Times) Faults() []analysis.Fault {
	var rows []record.Record
	for _, l := range t.Rows {
		for _, n := range t.Sizes {
			if r, ok := l.rows[n]; ok {
				rows = append(rows, r)
			}
		}
	}
	return analysis.FaultsOf(rows)
}

// ByRanks returns the times on ranks, by variant: of the variants that the report of 2024 compares, with its local
// kernel if they were timed with it. What strong scaling lacks is from the ladder.
func ByRanks(v *analysis.View, typ string) (Times, bool) {
	rows := func(experiment record.Experiment) []record.Record {
		return v.Pick(func(r record.Record) bool {
			return r.Type == typ && r.Experiment == experiment && slices.Contains(v.Ways(), r.Variant)
		})
	}
	if t, ok := timesOf(v, analysis.OverRanks, rows(record.Distributions)); ok {
		return t, true
	}
	t, ok := timesOf(v, analysis.OverRanks, rows(record.StrongScaling))
	for _, r := range rows(record.MainLadder) {
		l, found := analysis.Find(t.Rows, func(l TimesRow) bool { return l.identity == identify(v, analysis.OverRanks, r) })
		if found && r.Speed() && analysis.ProblemOf(r).Cube() && slices.Contains(t.Sizes, r.N) && !l.rows[r.N].Speed() {
			l.rows[r.N] = r
		}
	}
	return t, ok
}

// ByThreads returns the times of strong scaling on threads by schedule: of the kernel of the report of 2024, or else of
// the loop whose outermost index is divided.
func ByThreads(v *analysis.View, typ string) (Times, bool) {
	if t, ok := scheduled(v, typ, v.WithPart(record.ReportKernel)); ok {
		return t, true
	}
	return scheduled(v, typ, v.WithPart(record.ReportOuter))
}

// ByOpenMP is ByThreads for the program of the report of 2024 with OpenMP.
func ByOpenMP(v *analysis.View, typ string) (Times, bool) {
	return scheduled(v, typ, v.Counterpart(v.WithPart(record.ReportKernel)))
}

func scheduled(v *analysis.View, typ, variant string) (Times, bool) {
	return timesOf(v, analysis.OverThreads, v.Pick(func(r record.Record) bool {
		_, scheduled := r.Params["schedule"]
		return r.Type == typ && r.Experiment == record.StrongScaling && scheduled && r.Variant == variant
	}))
}

// timesOf returns the table of rows. It reports false unless there are times on two counts at least.
func timesOf(v *analysis.View, a analysis.Axis, rows []record.Record) (Times, bool) {
	rows = analysis.Pick(rows, func(r record.Record) bool { return analysis.ProblemOf(r).Cube() })
	t := Times{Sizes: analysis.Ascending(rows, func(r record.Record) int { return r.N })}
	timed := analysis.Timed(rows)
	locals := analysis.Distinct(timed, func(r record.Record) any { return r.Resolved["local"] })
	if len(locals) == 1 {
		t.Local, _ = locals[0].(string)
	}
	of := func(r record.Record) identity {
		if t.Local != "" {
			r.Params = analysis.Omit(r.Params, "local")
		}
		return identify(v, a, r)
	}
	for _, own := range analysis.GroupBy(rows, of) {
		l := TimesRow{of(own[0]), v.Oversubscribes(own[0]), map[int]record.Record{}}
		for _, r := range own {
			l.rows[r.N] = r
		}
		t.Rows = append(t.Rows, l)
	}
	slices.SortStableFunc(t.Rows, func(x, y TimesRow) int {
		return cmp.Or(cmp.Compare(slices.Index(v.Ways(), x.Variant), slices.Index(v.Ways(), y.Variant)),
			cmp.Compare(schedule(x), schedule(y)), strings.Compare(x.Set, y.Set), cmp.Compare(x.Count, y.Count))
	})
	return t, len(analysis.Distinct(timed, a.Count)) > 1
}

// schedule returns the place of the schedule of a row among the schedules of OpenMP.
func schedule(l TimesRow) int {
	name, _, _ := strings.Cut(l.Set, " ")
	return slices.Index([]string{"default", "static", "dynamic", "guided", "auto", "none"}, name)
}

// manySizes is the number of sizes from which there is a table of averages.
const manySizes = 16

// Sweep is a variant over many sizes.
type Sweep struct {
	Variant string
	Count   int     // sizes
	Mean    float64 // share of the peak, in percent, in the mean of all sizes
	Least   float64
	Most    float64
}

// Sweeps returns the variants of one thread that were timed at 16 cubes or more, in the order of the records.
func Sweeps(v *analysis.View, typ string) []Sweep {
	rows := v.Pick(func(r record.Record) bool {
		return r.Experiment == record.MainLadder && r.Type == typ && r.Threads <= 1 && r.Speed() &&
			analysis.ProblemOf(r).Cube() && !analysis.ByGPU(r) && len(r.Ranks) == 0
	})
	var out []Sweep
	for _, own := range analysis.GroupBy(rows, analysis.VariantOf) {
		sizes := analysis.GroupBy(own, func(r record.Record) int { return r.N })
		s := Sweep{Variant: own[0].Variant, Count: len(sizes), Least: math.Inf(1), Most: math.Inf(-1)}
		for _, same := range sizes {
			share := analysis.Percent(same[0])
			s.Mean += share / float64(len(sizes))
			s.Least, s.Most = min(s.Least, share), max(s.Most, share)
		}
		if s.Count >= manySizes && !math.IsNaN(s.Mean) {
			out = append(out, s)
		}
	}
	return out
}
