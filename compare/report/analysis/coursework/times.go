package coursework

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gemm"
	"gemm/compare"
	"gemm/compare/report/analysis"
)

// Times is a table of times over sizes.
type Times struct {
	Sizes []int
	Lines []Line
	Local string // the variant that computes the part of a worker; empty: there are several, or none is known
}

// Line is a line of a table of times: rows that differ in their size alone.
type Line struct {
	Variant string
	Set     string // schedule, or parameters besides the defaults
	Count   int    // threads or ranks
	Crowded bool   // more than there are processors
	rows    map[int]compare.Record
}

// At returns the row of a size. It reports false if the records have none.
func (l Line) At(n int) (compare.Record, bool) {
	r, ok := l.rows[n]
	return r, ok
}

// Rows returns all rows of a table.
func (t Times) Rows() []compare.Record {
	var rows []compare.Record
	for _, l := range t.Lines {
		for _, n := range t.Sizes {
			if r, ok := l.At(n); ok {
				rows = append(rows, r)
			}
		}
	}
	return rows
}

// ByRanks returns the times of strong scaling on ranks, by variant: of those that the report of 2024
// compares.
func ByRanks(v *analysis.View, typ string) (Times, bool) {
	return timesOf(v, analysis.OverRanks, v.Pick(func(r compare.Record) bool {
		return r.Type == typ && r.Experiment == compare.StrongScaling && slices.Contains(v.Ways(), r.Variant)
	}))
}

// ByThreads returns the times of strong scaling on threads by schedule, of the loop whose outermost
// index is divided.
func ByThreads(v *analysis.View, typ string) (Times, bool) {
	return timesOf(v, analysis.OverThreads, v.Pick(func(r compare.Record) bool {
		_, scheduled := r.Params["schedule"]
		return r.Type == typ && r.Experiment == compare.StrongScaling && r.Variant == v.Playing(gemm.ReportOuter) && scheduled
	}))
}

// timesOf returns the table of rows. It reports false unless there are times on two counts at least.
func timesOf(v *analysis.View, a analysis.Axis, rows []compare.Record) (Times, bool) {
	var t Times
	counts := map[int]bool{}
	for _, r := range rows {
		if !analysis.ProblemOf(r).Cube() {
			continue
		}
		l := Line{Variant: r.Variant, Set: v.Trait(r.Variant, analysis.Omit(r.Params, a.Param)), Count: a.Count(r),
			Crowded: v.Crowds(r)}
		i := slices.IndexFunc(t.Lines, func(o Line) bool {
			return o.Variant == l.Variant && o.Set == l.Set && o.Count == l.Count
		})
		if i < 0 {
			i = len(t.Lines)
			l.rows = map[int]compare.Record{}
			t.Lines = append(t.Lines, l)
		}
		t.Lines[i].rows[r.N] = r
		t.Sizes = append(t.Sizes, r.N)
		if r.Speed() {
			counts[a.Count(r)] = true
		}
	}
	slices.Sort(t.Sizes)
	t.Sizes = slices.Compact(t.Sizes)
	slices.SortStableFunc(t.Lines, func(x, y Line) int {
		return cmp.Or(cmp.Compare(slices.Index(v.Ways(), x.Variant), slices.Index(v.Ways(), y.Variant)),
			cmp.Compare(schedule(x), schedule(y)), strings.Compare(x.Set, y.Set), cmp.Compare(x.Count, y.Count))
	})
	locals := analysis.Distinct(analysis.Timed(rows), func(r compare.Record) string {
		return fmt.Sprint(r.Resolved["local"])
	})
	if len(locals) == 1 && locals[0] != fmt.Sprint(nil) {
		t.Local = locals[0]
	}
	return t, len(counts) > 1
}

// schedule returns the place of the schedule of a line among those of OpenMP.
func schedule(l Line) int {
	name, _, _ := strings.Cut(l.Set, " ")
	return slices.Index([]string{"default", "static", "dynamic", "guided", "auto"}, name)
}

// manySizes is the number of sizes from which there is a table of averages.
const manySizes = 16

// Sweep is a variant over many sizes.
type Sweep struct {
	Variant string
	Rows    []compare.Record // one for each size, ascending
	Mean    float64          // share of the peak, in percent, in the mean of all sizes
	Least   float64
	Most    float64
}

// Sweeps returns the variants of one thread that were timed at 16 cubes or more, in the order of the
// records.
func Sweeps(v *analysis.View, typ string) []Sweep {
	rows := v.Pick(func(r compare.Record) bool {
		return r.Experiment == compare.MainLadder && r.Type == typ && r.Threads <= 1 && r.Speed() &&
			analysis.ProblemOf(r).Cube() && !analysis.ByGPU(r) && len(r.Ranks) == 0
	})
	var out []Sweep
	for _, variant := range analysis.Distinct(rows, analysis.VariantOf) {
		s := Sweep{Variant: variant, Least: math.Inf(1), Most: math.Inf(-1)}
		for _, r := range rows {
			if r.Variant == variant && !slices.ContainsFunc(s.Rows, func(o compare.Record) bool { return o.N == r.N }) {
				s.Rows = append(s.Rows, r)
			}
		}
		slices.SortFunc(s.Rows, func(x, y compare.Record) int { return cmp.Compare(x.N, y.N) })
		for _, r := range s.Rows {
			share := analysis.Percent(r)
			s.Mean += share / float64(len(s.Rows))
			s.Least, s.Most = min(s.Least, share), max(s.Most, share)
		}
		if len(s.Rows) >= manySizes && !math.IsNaN(s.Mean) {
			out = append(out, s)
		}
	}
	return out
}

// Share returns the share of the peak at a size, in percent; NaN if it was not timed.
func (s Sweep) Share(n int) float64 {
	for _, r := range s.Rows {
		if r.N == n {
			return analysis.Percent(r)
		}
	}
	return math.NaN()
}

// multiple is what the sizes of a course are around.
const multiple = 32

// Around returns the multiples of 32 that the sizes of all sweeps are at, or one less or one more. It
// returns nil if a size is not.
func Around(sweeps []Sweep) []int {
	var out []int
	for _, s := range sweeps {
		for _, r := range s.Rows {
			near := (r.N + multiple/2) / multiple * multiple
			if r.N < near-1 || r.N > near+1 {
				return nil
			}
			out = append(out, near)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
