package analysis

import (
	"cmp"
	"fmt"
	"math"
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
	switch Of(r).Loop.Level {
	case gemm.InnerLevel:
		length = r.N
	case gemm.CollapsedLevel:
		length = r.M * r.K
	case gemm.TilesLevel:
		if tile, ok := r.Resolved["tile"].(int); ok && tile > 0 {
			length = ((r.M + tile - 1) / tile) * ((r.N + tile - 1) / tile)
		}
	}
	return ChunkOf(r.Params)*r.Threads > length
}

// ReportBouts are those between the schedules of the 2024 report, with their default chunk.
func (v *View) ReportBouts(typ string) []Bout {
	rows := v.Shared(typ, compare.ChunkSizes, compare.StrongScaling)
	return Bouts(slices.DeleteFunc(rows, func(r compare.Record) bool {
		return ChunkOf(r.Params) != 0 || !slices.Contains(reportSchedules, scheduleOf(r))
	}), "schedule")
}

// Collapsed is the times of the kernel of the 2024 report, and of the same program with OpenMP, by
// schedule, threads and size. All have one chunk.
type Collapsed struct {
	Chunk          int // 0: the schedule's own
	Schedules      []string
	Threads, Sizes []int // ascending
	Rows           []compare.Record
}

// The schedules of the 2024 report, and the experiments that have rows in them, the best first: in
// strong scaling a kernel's rows of one size are interleaved.
var (
	reportSchedules = []string{"default", "static", "dynamic"}
	sharing         = []compare.Experiment{compare.StrongScaling, compare.ChunkSizes, compare.OpenMPLoops}
)

// Collapsed returns those times for square matrices of a type, of the smallest chunk. It reports false
// unless there are several schedules and numbers of threads.
func (v *View) Collapsed(typ string) (Collapsed, bool) {
	of := v.Playing(gemm.ReportKernel)
	twin := v.Twin(of)
	rows := Timed(v.Pick(func(r compare.Record) bool {
		return r.Type == typ && (r.Variant == of || r.Variant == twin) && ProblemOf(r).Cube() &&
			slices.Contains(sharing, r.Experiment) && slices.Contains(reportSchedules, scheduleOf(r)) &&
			Setting(Omit(r.Params, "schedule", "chunk")) == ""
	}))
	var out Collapsed
	for i, r := range rows {
		if chunk := ChunkOf(r.Params); i == 0 || chunk < out.Chunk {
			out.Chunk = chunk
		}
	}
	for _, experiment := range sharing {
		for _, r := range rows {
			if _, known := out.Of(r.Variant, scheduleOf(r), r.Threads, r.N); !known && r.Experiment == experiment &&
				ChunkOf(r.Params) == out.Chunk {
				out.Rows = append(out.Rows, r)
			}
		}
	}
	kernel := slices.DeleteFunc(slices.Clone(out.Rows), func(r compare.Record) bool {
		return r.Variant != of
	})
	out.Schedules = Distinct(kernel, scheduleOf)
	out.Threads = Distinct(kernel, func(r compare.Record) int { return r.Threads })
	out.Sizes = Distinct(kernel, func(r compare.Record) int { return r.N })
	slices.SortFunc(out.Schedules, func(x, y string) int {
		return cmp.Compare(slices.Index(reportSchedules, x), slices.Index(reportSchedules, y))
	})
	slices.Sort(out.Threads)
	slices.Sort(out.Sizes)
	return out, len(out.Schedules) >= 2 && len(out.Threads) >= 2
}

// Of returns the row of a variant.
func (c Collapsed) Of(variant, schedule string, threads, n int) (compare.Record, bool) {
	i := slices.IndexFunc(c.Rows, func(r compare.Record) bool {
		return r.Variant == variant && scheduleOf(r) == schedule && r.Threads == threads && r.N == n
	})
	if i < 0 {
		return compare.Record{}, false
	}
	return c.Rows[i], true
}

// scheduleOf returns the schedule that was asked for, or else the one that ran.
func scheduleOf(r compare.Record) string {
	for _, p := range []gemm.Params{r.Params, r.Resolved} {
		if name, ok := p["schedule"].(string); ok {
			return name
		}
	}
	return ""
}

// cost is one kind of overhead on some threads, in every runtime that it was measured
// in: a line of the table.
type cost struct {
	Name, Sort string // sort: the schedule or the method
	Threads    int
	Runtimes   map[string]compare.Record // samples and their median, in the unit of the measurement
}

// Runtimes are those that costs are measured in, ours first.
var Runtimes = []string{"pool", "goroutines", "libgomp"}

// OpenMPPair is our pool and OpenMP on one setting. The comparison is of OpenMP's time with ours.
type OpenMPPair struct {
	Threads  int
	Schedule string
	Chunk    int // 0: the schedule's own
	Pool     compare.Record
	OpenMP   compare.Record
	Comparison
}

// OpenMPPairs returns the pairs of the experiment openmp of a type, by threads, schedule and chunk, at
// the size with the most settings, the largest of several. The p values are adjusted by Holm's
// procedure.
func (v *View) OpenMPPairs(typ string) []OpenMPPair {
	rows := Timed(v.Pick(func(r compare.Record) bool { return r.Experiment == compare.OpenMPLoops && r.Type == typ }))
	settings := map[Problem]int{}
	var size Problem
	for _, r := range rows {
		settings[OpenMPProblem(r)]++
	}
	for p, count := range settings {
		if most := settings[size]; count > most || count == most && p.Compare(size) > 0 {
			size = p
		}
	}
	kernel := v.Playing(gemm.ReportKernel)
	twin := v.Twin(kernel)
	var out []OpenMPPair
	var duels []Duel
	for _, r := range rows {
		if r.Variant != kernel || OpenMPProblem(r) != size {
			continue
		}
		i := slices.IndexFunc(rows, func(o compare.Record) bool {
			return o.Variant == twin && OpenMPProblem(o) == size && o.Threads == r.Threads &&
				o.Params["schedule"] == r.Params["schedule"] && ChunkOf(o.Params) == ChunkOf(r.Params)
		})
		if i < 0 {
			continue
		}
		schedule, _ := r.Params["schedule"].(string)
		out = append(out, OpenMPPair{Threads: r.Threads, Schedule: schedule, Chunk: ChunkOf(r.Params), Pool: r,
			OpenMP: rows[i]})
		duels = append(duels, Duel{rows[i], r})
	}
	for i, f := range Fight(duels) {
		out[i].Comparison = f.Comparison
	}
	order := []string{"default", "static", "dynamic", "guided"}
	slices.SortStableFunc(out, func(x, y OpenMPPair) int {
		return cmp.Or(cmp.Compare(x.Threads, y.Threads),
			cmp.Compare(slices.Index(order, x.Schedule), slices.Index(order, y.Schedule)),
			cmp.Compare(x.Chunk, y.Chunk))
	})
	return out
}

// OpenMPProblem is the problem of a row on any number of threads.
func OpenMPProblem(r compare.Record) Problem {
	p := ProblemOf(r)
	p.Threads = 1
	return p
}

// GeometricMean returns the mean of the ratios of pairs, NaN of none.
func GeometricMean(pairs []OpenMPPair) float64 {
	sum := 0.0
	for _, p := range pairs {
		sum += math.Log(p.Ratio)
	}
	return math.Exp(sum / float64(len(pairs)))
}
