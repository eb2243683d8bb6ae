package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gemm"
	"gemm/compare"
)

// Timed returns the rows that have a speed.
func Timed(rows []compare.Record) []compare.Record {
	var out []compare.Record
	for _, r := range rows {
		if r.Speed() {
			out = append(out, r)
		}
	}
	return out
}

// Listed reports whether the parameters of rows have columns of their own.
func Listed(rows []compare.Record) bool {
	return rows[0].Experiment != compare.MainLadder || Family(rows[0].Variant) == OverRanks.Family
}

// Guest returns the family whose tables have the serial rows of an experiment: parallel,
// unless it is mpi alone that the experiment has rows of.
func (v *View) Guest(experiment compare.Experiment) string {
	for _, a := range []Axis{OverThreads, OverRanks} {
		if slices.ContainsFunc(v.Records, func(r compare.Record) bool {
			return r.Experiment == experiment && Family(r.Variant) == a.Family
		}) {
			return a.Family
		}
	}
	return OverThreads.Family
}

// Constants returns the parameters with the same value in all rows that have them, except those named.
func Constants(rows []compare.Record, but ...string) gemm.Params {
	out := gemm.Params{}
	several := map[string]bool{}
	for _, r := range rows {
		for name, value := range Omit(r.Params, but...) {
			if old, ok := out[name]; ok && old != value {
				several[name] = true
			}
			out[name] = value
		}
	}
	return Omit(out, slices.Collect(maps.Keys(several))...)
}

// Known returns a figure of a row that has a speed, NaN of one that has none.
func Known(r compare.Record, x compare.Number) float64 {
	if !r.Speed() {
		return float64(compare.None())
	}
	return float64(x)
}

// Omit returns p without the parameters named.
func Omit(p gemm.Params, names ...string) gemm.Params {
	out := maps.Clone(p)
	for _, name := range names {
		delete(out, name)
	}
	return out
}

// Setting describes parameters other than the threads for a reader: the schedule by its name,
// others as name=value. Parameters that are off are left out.
func Setting(p gemm.Params) string {
	var parts []string
	if schedule, ok := p["schedule"].(string); ok {
		parts = append(parts, schedule)
	}
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if value := p[name]; name != "schedule" && name != "threads" && value != 0 && value != "none" {
			parts = append(parts, fmt.Sprintf("%s=%v", name, value))
		}
	}
	return strings.Join(parts, " ")
}

// SettingOf returns the setting of a row, with the schedule that was run where
// another word was asked for, as auto and default are.
func SettingOf(r compare.Record) string {
	text := Setting(r.Params)
	asked, ran := r.Params["schedule"], r.Resolved["schedule"]
	if asked == nil || ran == nil || asked == ran {
		return text
	}
	text += fmt.Sprintf(" → %v", ran)
	if chunk, ok := r.Resolved["chunk"].(int); ok && chunk > 0 {
		text += fmt.Sprintf(" %d", chunk)
	}
	return text
}

// ChunkOf returns the chunk asked for, 0 for the schedule's default.
func ChunkOf(p gemm.Params) int {
	chunk, _ := p["chunk"].(int)
	return chunk
}

// Anchor returns text with everything but letters and digits as a dash, fit for
// the ID of a section.
func Anchor(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, text)
}

// Types returns the element types of rows, in the order of gemm.Types, those it lacks last.
func Types(rows []compare.Record) []string {
	known := gemm.TypeNames()
	rank := func(t string) int { return (slices.Index(known, t) + len(known) + 1) % (len(known) + 1) }
	seen := map[string]bool{}
	for _, r := range rows {
		seen[r.Type] = true
	}
	return slices.SortedFunc(maps.Keys(seen), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
}

// Distinct returns what of says of each row, in order of first appearance.
func Distinct[R any, K comparable](rows []R, of func(R) K) []K {
	var out []K
	seen := map[K]bool{}
	for _, r := range rows {
		if k := of(r); !seen[k] {
			seen[k] = true
			out = append(out, k)
		}
	}
	return out
}

// VariantOf returns the variant of a row.
func VariantOf(r compare.Record) string { return r.Variant }

// At returns the row of a variant at a point: with its default parameters if it
// was measured with several.
func At(rows []compare.Record, variant string, p Problem) (compare.Record, bool) {
	var found *compare.Record
	for i, r := range rows {
		if r.Variant == variant && ProblemOf(r) == p && (found == nil || len(r.Params) < len(found.Params)) {
			found = &rows[i]
		}
	}
	if found == nil {
		return compare.Record{}, false
	}
	return *found, true
}

// Quickest returns the row of the least time at p among those that keep says.
func Quickest(rows []compare.Record, p Problem, keep func(compare.Record) bool) (compare.Record, bool) {
	best := compare.Record{Median: compare.None()}
	for _, r := range rows {
		if r.Speed() && ProblemOf(r) == p && keep(r) && !(r.Median >= best.Median) {
			best = r
		}
	}
	return best, best.Median.Known()
}

// Speed returns a row's speed in the unit of its type: GFLOP/s, or for the field
// of bytes Gmul/s. It is absent if the row is not ok.
func Speed(r compare.Record) (compare.Number, string) {
	value, unit := r.Gflops, "GFLOP/s"
	if r.Type == "gf256" {
		value, unit = r.Rate, "Gmul/s"
	}
	if !r.Speed() {
		return compare.None(), unit
	}
	return value, unit
}

// Unavailable returns the rows without those that were unavailable for a reason that another row
// has too, and the latter in groups of one reason.
func Unavailable(rows []compare.Record) (others []compare.Record, groups [][]compare.Record) {
	named := func(r compare.Record) bool { return r.Status == compare.Unavailable && r.Reason != "" }
	count, at := map[string]int{}, map[string]int{}
	for _, r := range rows {
		if named(r) {
			count[r.Reason]++
		}
	}
	for _, r := range rows {
		if !named(r) || count[r.Reason] < 2 {
			others = append(others, r)
			continue
		}
		i, found := at[r.Reason]
		if !found {
			i = len(groups)
			at[r.Reason], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], r)
	}
	return others, groups
}
