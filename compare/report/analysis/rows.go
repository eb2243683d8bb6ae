package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gemm"
	"gemm/compare/record"
)

// Pick returns the rows that keep says to keep, nil if there are none. A row is large: each is copied once.
func Pick[R any](rows []R, keep func(R) bool) []R {
	var kept []int
	for i := range rows {
		if keep(rows[i]) {
			kept = append(kept, i)
		}
	}
	if kept == nil {
		return nil
	}
	out := make([]R, len(kept))
	for to, from := range kept {
		out[to] = rows[from]
	}
	return out
}

// Find returns the first row that is what is says. It reports false if there is none.
func Find[R any](rows []R, is func(R) bool) (found R, ok bool) {
	if i := slices.IndexFunc(rows, is); i >= 0 {
		return rows[i], true
	}
	return found, false
}

// MinBy returns the row of the least value, the first of equal ones. Rows with the value NaN have no part in it.
func MinBy[R any](rows []R, value func(R) float64) (least R, ok bool) {
	best := -1
	low := math.NaN()
	for i := range rows {
		if x := value(rows[i]); x < low || best < 0 && !math.IsNaN(x) {
			best, low = i, x
		}
	}
	if best < 0 {
		return least, false
	}
	return rows[best], true
}

// leastOf is MinBy for the rows that keep says to keep.
func leastOf[R any](rows []R, keep func(R) bool, value func(R) float64) (R, bool) {
	return MinBy(rows, func(r R) float64 {
		if !keep(r) {
			return math.NaN()
		}
		return value(r)
	})
}

// MaxOf returns the highest value of rows, 0 of none.
func MaxOf[R any](rows []R, value func(R) float64) float64 {
	highest := 0.0
	for _, r := range rows {
		highest = max(highest, value(r))
	}
	return highest
}

// GroupBy returns the rows with equal keys, in order of first appearance.
func GroupBy[R any, K comparable](rows []R, key func(R) K) [][]R {
	var out [][]R
	at := map[K]int{}
	for _, r := range rows {
		k := key(r)
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k], out = i, append(out, nil)
		}
		out[i] = append(out[i], r)
	}
	return out
}

// LargestGroup returns the rows of the key that the most different values have, of level ones the last in order.
func LargestGroup[R any, K, V comparable](rows []R, key func(R) K, value func(R) V,
	order func(x, y K) int) (fullest []R) {
	most := 0
	for _, own := range GroupBy(rows, key) {
		n := len(Distinct(own, value))
		if n > most || n == most && order(key(own[0]), key(fullest[0])) > 0 {
			most, fullest = n, own
		}
	}
	return fullest
}

// Timed returns the rows that have a speed.
func Timed(rows []record.Record) []record.Record { return Pick(rows, record.Record.Speed) }

// Known returns a figure of a row that has a speed, NaN of one that has none.
func Known(r record.Record, x record.Number) float64 {
	if !r.Speed() {
		return float64(record.None())
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

// Value returns a parameter, zero if there is none of the type.
func Value[T any](p gemm.Params, name string) T {
	value, _ := p[name].(T)
	return value
}

// ChunkOf returns the requested chunk, 0 for the schedule's default.
func ChunkOf(p gemm.Params) int { return Value[int](p, "chunk") }

// Requested returns a parameter of a row as requested, or else as run; zero if it has none.
func Requested[T comparable](r record.Record, name string) (value T) {
	for _, p := range []gemm.Params{r.Params, r.Resolved} {
		if x, ok := p[name].(T); ok && x != value {
			return x
		}
	}
	return value
}

// Anchor returns text with everything but letters and digits as a dash, fit for the ID of a section.
func Anchor(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, text)
}

// Types returns the element types of rows, in the order of gemm.Types, those it lacks last.
func Types(rows []record.Record) []string {
	known := gemm.TypeNames()
	place := func(t string) int { return (slices.Index(known, t) + len(known) + 1) % (len(known) + 1) }
	out := Ascending(rows, func(r record.Record) string { return r.Type })
	slices.SortStableFunc(out, func(a, b string) int { return cmp.Compare(place(a), place(b)) })
	return out
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

// Ascending returns the same in ascending order.
func Ascending[R any, K cmp.Ordered](rows []R, of func(R) K) []K {
	out := Distinct(rows, of)
	slices.Sort(out)
	return out
}

// VariantOf returns the variant of a row.
func VariantOf(r record.Record) string { return r.Variant }

func sizeOf(r record.Record) int { return r.N }

// At returns the row of a variant at a point: with its default parameters if it was measured with several.
func At(rows []record.Record, variant string, p Problem) (record.Record, bool) {
	is := func(r record.Record) bool { return r.Variant == variant && ProblemOf(r) == p }
	return leastOf(rows, is, func(r record.Record) float64 { return float64(len(r.Params)) })
}

// FastestAt returns the row of the least time at p among those that keep says.
func FastestAt(rows []record.Record, p Problem, keep func(record.Record) bool) (record.Record, bool) {
	return leastOf(rows, func(r record.Record) bool { return ProblemOf(r) == p && keep(r) }, median)
}

// median is the measured time of a row, of a GPU without copies, NaN of a row without a speed.
func median(r record.Record) float64 { return Known(r, r.Median) }

// Speed returns a row's speed in the unit of its type: GFLOP/s, or for the field
// of bytes Gmul/s. It is absent if the row is not ok.
func Speed(r record.Record) (record.Number, string) {
	value, unit := r.Gflops, "GFLOP/s"
	if r.Type == "gf256" {
		value, unit = r.Rate, "Gmul/s"
	}
	if !r.Speed() {
		return record.None(), unit
	}
	return value, unit
}
