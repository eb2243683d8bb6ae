package analysis

import (
	"cmp"
	"math"
	"slices"

	"gemm/compare/record"
)

// OpenMP is our pool and OpenMP on the same loops, of one type at one size.
type OpenMP struct {
	Problem
	Rows        []OpenMPThreads
	Interleaved bool // the rows of every pair
}

// OpenMPThreads is the comparison on one number of threads.
type OpenMPThreads struct {
	Threads, Settings     int
	Faster, Level, Slower int           // settings at which the pool is that
	Ratio                 float64       // geometric mean of OpenMP's time over ours
	Pool, Other           record.Record // the fastest setting of each
	PoolSet, OtherSet     string        // these settings
}

// OpenMPPair is our pool and OpenMP on one setting. The comparison is of OpenMP's time with ours.
type OpenMPPair struct {
	Threads  int
	Schedule string
	Chunk    int // 0: the schedule's own
	Pool     record.Record
	OpenMP   record.Record
	Comparison
}

// OpenMPPairs returns the pairs of the experiment openmp of a type, by threads, schedule and chunk, at the size with
// the most settings, the largest of several.
func (v *View) OpenMPPairs(typ string) []OpenMPPair {
	rows := LargestGroup(Timed(v.Pick(func(r record.Record) bool {
		return r.Experiment == record.OpenMPLoops && r.Type == typ
	})), OnOneThread, record.Record.ID, Problem.Compare)
	kernel := v.WithPart(record.ReportKernel)
	counterpart := v.Counterpart(kernel)
	var out []OpenMPPair
	for _, r := range Pick(rows, func(r record.Record) bool { return r.Variant == kernel }) {
		other, ok := Find(rows, func(o record.Record) bool {
			return o.Variant == counterpart && o.Threads == r.Threads && o.Params["schedule"] == r.Params["schedule"] &&
				ChunkOf(o.Params) == ChunkOf(r.Params)
		})
		if ok {
			schedule := Value[string](r.Params, "schedule")
			out = append(out, OpenMPPair{r.Threads, schedule, ChunkOf(r.Params), r, other, ComparePair(other, r)})
		}
	}
	order := []string{"default", "static", "dynamic", "guided", "auto"}
	slices.SortStableFunc(out, func(x, y OpenMPPair) int {
		return cmp.Or(cmp.Compare(x.Threads, y.Threads),
			cmp.Compare(slices.Index(order, x.Schedule), slices.Index(order, y.Schedule)),
			cmp.Compare(x.Chunk, y.Chunk))
	})
	return out
}

// OpenMP returns the comparisons of our pool with OpenMP, one a type.
func (v *View) OpenMP() []OpenMP {
	var out []OpenMP
	for _, typ := range v.SharedTypes() {
		pairs := v.OpenMPPairs(typ)
		if len(pairs) == 0 {
			continue
		}
		o := OpenMP{Problem: OnOneThread(pairs[0].Pool), Interleaved: !slices.ContainsFunc(pairs, func(p OpenMPPair) bool {
			return !Interleaved(p.Pool, p.OpenMP)
		})}
		for _, own := range GroupBy(pairs, func(p OpenMPPair) int { return p.Threads }) {
			count := func(o Outcome) int { return len(Pick(own, func(p OpenMPPair) bool { return p.Outcome == o })) }
			t := OpenMPThreads{Threads: own[0].Threads, Settings: len(own)}
			t.Faster, t.Level, t.Slower = count(Faster), count(Level), count(Slower)
			t.Ratio = 1
			for _, p := range own {
				t.Ratio *= math.Pow(p.Ratio, 1/float64(len(own)))
			}
			pool, _ := MinBy(own, func(p OpenMPPair) float64 { return float64(p.Pool.Median) })
			other, _ := MinBy(own, func(p OpenMPPair) float64 { return float64(p.OpenMP.Median) })
			t.Pool, t.Other = pool.Pool, other.OpenMP
			t.PoolSet, t.OtherSet = Setting(t.Pool.Params), Setting(t.Other.Params)
			o.Rows = append(o.Rows, t)
		}
		out = append(out, o)
	}
	return out
}
