package analysis

import (
	"cmp"
	"fmt"
	"slices"

	"gemm"
	"gemm/compare/record"
)

// Variation is rows of one variant on one problem that differ in one parameter.
type Variation struct {
	Problem
	Variant string
	Rest    gemm.Params // the other parameters, but for the threads
	Rows    []record.Record
}

// Variations groups rows that differ in one parameter only. There is a group for each setting of the
// others with several values of the parameter, in the order of variants and sizes. If two
// experiments have such rows, the group comes from the one with more of them.
func Variations(rows []record.Record, param string) []Variation {
	var all []Variation
	rest := func(r record.Record) gemm.Params { return Omit(r.Params, "threads", param) }
	for _, own := range GroupBy(rows, func(r record.Record) string {
		return fmt.Sprint(r.Experiment, r.Variant, ProblemOf(r), rest(r))
	}) {
		all = append(all, Variation{Problem: ProblemOf(own[0]), Variant: own[0].Variant, Rest: rest(own[0]), Rows: own})
	}
	var kept []Variation
	for _, same := range GroupBy(all, func(g Variation) string {
		return fmt.Sprint(g.Variant, g.Problem, Setting(g.Rest))
	}) {
		g := slices.MaxFunc(same, func(x, y Variation) int { return cmp.Compare(len(x.Rows), len(y.Rows)) })
		if len(g.Rows) >= 2 {
			kept = append(kept, g)
		}
	}
	variants := Distinct(rows, VariantOf)
	slices.SortStableFunc(kept, func(x, y Variation) int {
		return cmp.Or(cmp.Compare(slices.Index(variants, x.Variant), slices.Index(variants, y.Variant)),
			x.Problem.Compare(y.Problem))
	})
	return kept
}

// Chunked are the rows between which chunks are compared: all but those under auto, which chooses its own.
func (v *View) Chunked(typ string) []record.Record {
	return Pick(v.Along(OverThreads, typ, record.ChunkSizes, record.StrongScaling), func(r record.Record) bool {
		return r.Params["schedule"] != "auto"
	})
}

// Starves reports whether r's chunks are so large that some worker has none: larger than an equal part of the loop.
func Starves(r record.Record) bool {
	length := r.M // of rows
	switch Of(r).Loop.Level {
	case record.InnerLevel:
		length = r.N
	case record.CollapsedLevel:
		length = r.M * r.K
	case record.TilesLevel:
		if tile := Value[int](r.Resolved, "tile"); tile > 0 {
			length = ((r.M + tile - 1) / tile) * ((r.N + tile - 1) / tile)
		}
	}
	return ChunkOf(r.Params)*r.Threads > length
}

// Collapsed is the times of the kernel of the 2024 report, and of the same program with OpenMP, by
// schedule, threads and size. All have one chunk.
type Collapsed struct {
	Chunk          int // 0: the schedule's own
	Schedules      []string
	Threads, Sizes []int // ascending
	Rows           []record.Record
}

// The schedules of the 2024 report, and the experiments that have rows in them, the best first: in
// strong scaling a kernel's rows of one size are interleaved.
var (
	reportSchedules = []string{"default", "static", "dynamic"}
	sharing         = []record.Experiment{record.StrongScaling, record.ChunkSizes, record.OpenMPLoops}
)

// Collapsed returns those times for square matrices of a type, of the smallest chunk. It reports false
// unless there are several schedules and numbers of threads.
func (v *View) Collapsed(typ string) (Collapsed, bool) {
	of := v.WithPart(record.ReportKernel)
	counterpart := v.Counterpart(of)
	chunk := func(r record.Record) int { return ChunkOf(r.Params) }
	rows := Timed(v.Pick(func(r record.Record) bool {
		return r.Type == typ && (r.Variant == of || r.Variant == counterpart) && ProblemOf(r).Cube() &&
			slices.Contains(sharing, r.Experiment) && slices.Contains(reportSchedules, scheduleOf(r)) &&
			Setting(Omit(r.Params, "schedule", "chunk")) == ""
	}))
	slices.SortStableFunc(rows, func(x, y record.Record) int {
		return cmp.Compare(slices.Index(sharing, x.Experiment), slices.Index(sharing, y.Experiment))
	})
	var out Collapsed
	smallest, _ := MinBy(rows, func(r record.Record) float64 { return float64(chunk(r)) })
	out.Chunk = chunk(smallest)
	out.Rows = Pick(rows, func(r record.Record) bool { return chunk(r) == out.Chunk })
	kernel := Pick(out.Rows, func(r record.Record) bool { return r.Variant == of })
	out.Schedules = Pick(reportSchedules, func(s string) bool {
		return slices.ContainsFunc(kernel, func(r record.Record) bool { return scheduleOf(r) == s })
	})
	out.Threads = Ascending(kernel, func(r record.Record) int { return r.Threads })
	out.Sizes = Ascending(kernel, sizeOf)
	return out, len(out.Schedules) >= 2 && len(out.Threads) >= 2
}

// Of returns the row of a variant, of the best experiment that has one.
func (c Collapsed) Of(variant, schedule string, threads, n int) (record.Record, bool) {
	return Find(c.Rows, func(r record.Record) bool {
		return r.Variant == variant && scheduleOf(r) == schedule && r.Threads == threads && r.N == n
	})
}

// scheduleOf returns the requested schedule, or else the one that ran.
func scheduleOf(r record.Record) string { return Requested[string](r, "schedule") }
