package analysis

import (
	"cmp"
	"fmt"
	"slices"

	"gemm"
	"gemm/compare"
)

// Bout is rows of one variant on one problem that differ in one parameter.
type Bout struct {
	Problem
	Variant string
	Rest    gemm.Params // the other parameters, but for the threads
	Set     string      // rest in words
	Rows    []compare.Record
	rivalry
}

// Count returns the threads of the rows, or their ranks.
func (g Bout) Count() int { return AxisOf(g.Variant).Count(g.Rows[0]) }

// Bouts pairs rows off by one parameter and has them compete.
func Bouts(rows []compare.Record, param string) []Bout {
	out := Pairings(rows, param)
	for i := range out {
		out[i].rivalry = compete(out[i].Rows)
	}
	return out
}

// Pairings groups rows that differ in one parameter only. There is a group for each setting of the
// others with several values of the parameter, in the order of variants and sizes. If two
// experiments have such rows, the group comes from the one with more of them.
func Pairings(rows []compare.Record, param string) []Bout {
	var out []Bout
	at := map[string]int{}
	for _, r := range rows {
		p := ProblemOf(r)
		rest := Omit(r.Params, "threads", param)
		key := fmt.Sprint(r.Experiment, r.Variant, p, rest)
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			out = append(out, Bout{Problem: p, Variant: r.Variant, Rest: rest, Set: Setting(rest)})
		}
		out[i].Rows = append(out[i].Rows, r)
	}
	largest := map[string]*Bout{}
	name := func(g Bout) string { return fmt.Sprint(g.Variant, g.Problem, Setting(g.Rest)) }
	for i, g := range out {
		if old := largest[name(g)]; old == nil || len(g.Rows) > len(old.Rows) {
			largest[name(g)] = &out[i]
		}
	}
	var kept []Bout
	for i, g := range out {
		if len(g.Rows) >= 2 && largest[name(g)] == &out[i] {
			kept = append(kept, g)
		}
	}
	variants := Distinct(rows, VariantOf)
	slices.SortStableFunc(kept, func(x, y Bout) int {
		return cmp.Or(cmp.Compare(slices.Index(variants, x.Variant), slices.Index(variants, y.Variant)),
			x.Problem.Compare(y.Problem))
	})
	return kept
}

// Chunked are the rows between which chunks are compared: all but those under auto,
// which chooses its own.
func (v *View) Chunked(typ string) []compare.Record {
	return slices.DeleteFunc(v.Shared(typ, compare.ChunkSizes, compare.StrongScaling), func(r compare.Record) bool {
		return r.Params["schedule"] == "auto"
	})
}

// ChunkBouts are those between chunks.
func (v *View) ChunkBouts(typ string) []Bout {
	if _, done := v.chunkTests[typ]; !done {
		v.chunkTests[typ] = Bouts(slices.DeleteFunc(v.Chunked(typ), starves), "chunk")
	}
	return v.chunkTests[typ]
}

// starves reports whether r's chunks are so large that some worker has none: larger than
// an equal part of the loop.
func starves(r compare.Record) bool {
	length := r.M // of rows
	switch Algorithm(r.Variant) {
	case "inner":
		length = r.N
	case "collapse-inner-atomic", "collapse-atomic", "collapse-reduce":
		length = r.M * r.K
	case "tiles":
		if tile, ok := r.Resolved["tile"].(int); ok && tile > 0 {
			length = ((r.M + tile - 1) / tile) * ((r.N + tile - 1) / tile)
		}
	}
	return ChunkOf(r.Params)*r.Threads > length
}

// ScheduleBouts are those between schedules, all with their default chunk.
func (v *View) ScheduleBouts(typ string) []Bout {
	return Bouts(slices.DeleteFunc(v.Shared(typ, compare.ChunkSizes, compare.StrongScaling), func(r compare.Record) bool {
		return ChunkOf(r.Params) != 0
	}), "schedule")
}

// RowsOf returns all rows of bouts.
func RowsOf(all []Bout) []compare.Record {
	var rows []compare.Record
	for _, g := range all {
		rows = append(rows, g.Rows...)
	}
	return rows
}
