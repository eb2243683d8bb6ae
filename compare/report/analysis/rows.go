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

// picked returns the rows that keep says to keep. A row is large: each is copied once.
func picked(rows []compare.Record, keep func(compare.Record) bool) []compare.Record {
	var kept []int
	for i := range rows {
		if keep(rows[i]) {
			kept = append(kept, i)
		}
	}
	if kept == nil {
		return nil
	}
	out := make([]compare.Record, len(kept))
	for to, from := range kept {
		out[to] = rows[from]
	}
	return out
}

// Timed returns the rows that have a speed.
func Timed(rows []compare.Record) []compare.Record { return picked(rows, compare.Record.Speed) }

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
	for i := range rows {
		r := &rows[i]
		if r.Variant == variant && ProblemOf(*r) == p && (found == nil || len(r.Params) < len(found.Params)) {
			found = r
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
	named := func(r compare.Record) bool { return r.Status == compare.Unavailable && r.Reason.Text != "" }
	count, at := map[string]int{}, map[string]int{}
	for _, r := range rows {
		if named(r) {
			count[r.Reason.Text]++
		}
	}
	for _, r := range rows {
		if !named(r) || count[r.Reason.Text] < 2 {
			others = append(others, r)
			continue
		}
		i, found := at[r.Reason.Text]
		if !found {
			i = len(groups)
			at[r.Reason.Text], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], r)
	}
	return others, groups
}

// plain reports whether p is C = A·B of operands without gaps.
func (p Problem) plain() bool {
	return p.Label() == p.Shape.Label()
}

// OfOne returns the problem of one thread or rank, if m grows with the given number of them.
func (p Problem) OfOne(count int) Problem {
	m := p.M / count
	if strings.HasPrefix(p.Op, "t") { // A is stored in rows of m
		p.LDA -= p.M - m
	}
	p.M, p.Threads = m, 1
	return p
}

// Problem is a case: what must be equal of two rows for their times to be compared.
type Problem struct {
	compare.Problem
	Threads int
}

// ProblemOf returns the case of a row.
func ProblemOf(r compare.Record) Problem { return Problem{r.Problem, max(r.Threads, 1)} }

// String returns all that p consists of.
func (p Problem) String() string { return fmt.Sprint(p.Problem, " ", p.Threads) }

// Cube reports whether p is C = A·B with square operands.
func (p Problem) Cube() bool {
	return p.IsCube() && p.Batch == 0 && (p.Op == "nn" || p.Op == "") && p.Alpha == 1 && p.Beta == 0
}

// Compare orders points by work, then by shape.
func (p Problem) Compare(q Problem) int {
	return cmp.Or(
		p.Shape.Compare(q.Shape), cmp.Compare(p.Batch, q.Batch), cmp.Compare(p.Threads, q.Threads),
		cmp.Compare(p.Op, q.Op), cmp.Compare(p.Alpha, q.Alpha), cmp.Compare(p.Beta, q.Beta),
		cmp.Compare(p.LDA, q.LDA), cmp.Compare(p.LDB, q.LDB), cmp.Compare(p.LDC, q.LDC))
}

// Label returns the shape of p, with what makes it more than a plain product.
func (p Problem) Label() string {
	text := p.Problem.Label()
	if p.Op != "nn" && p.Op != "" {
		text += " " + p.Op
	}
	if p.Alpha != 1 || p.Beta != 0 {
		text += fmt.Sprintf(" α=%g β=%g", p.Alpha, p.Beta)
	}
	if p.LDA > p.K || p.LDB > p.N || p.LDC > p.N {
		text += fmt.Sprintf(" ld %d,%d,%d", p.LDA, p.LDB, p.LDC)
	}
	return text
}

// Problems returns the problems of rows, the smallest first.
func Problems(rows []compare.Record) []Problem {
	out := Distinct(rows, ProblemOf)
	slices.SortFunc(out, Problem.Compare)
	return out
}

// plainOf returns the plain product of a type and shape on the given number of threads.
func plainOf(typ string, s gemm.Shape, threads int) Problem {
	return Problem{compare.Problem{Type: typ, Op: "nn", Alpha: 1, Shape: s, LDA: s.K, LDB: s.N, LDC: s.N}, threads}
}

// shapeOf returns the plain product of a type and shape.
func shapeOf(typ string, m, n, k int) Problem { return plainOf(typ, gemm.Shape{M: m, N: n, K: k}, 1) }

func cubeOf(typ string, n int) Problem { return shapeOf(typ, n, n, n) }
