package analysis

import (
	"math"
	"slices"

	"gemm/compare"
	"gemm/internal/sample"
)

// OverheadNames are the measurements of what sharing costs without any work in it.
var OverheadNames = []string{"fork-join", "chunk", "merge"}

// Overheads returns those measurements.
func (v *View) Overheads() []compare.Measurement {
	var out []compare.Measurement
	for _, m := range v.Measurements {
		if slices.Contains(OverheadNames, m.Name) && len(m.Samples) > 0 {
			out = append(out, m)
		}
	}
	return out
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

// Costs groups measurements, by name and sort and then threads.
func Costs(all []compare.Measurement) []cost {
	var out []cost
	for _, m := range all {
		sort := ""
		for _, name := range []string{"schedule", "method"} {
			if value, ok := m.Params[name].(string); ok {
				sort = value
			}
		}
		threads, _ := m.Params["threads"].(int)
		runtime, _ := m.Params["runtime"].(string)
		i := slices.IndexFunc(out, func(c cost) bool { return c.Name == m.Name && c.Sort == sort && c.Threads == threads })
		if i < 0 {
			i = len(out)
			out = append(out, cost{m.Name, sort, threads, map[string]compare.Record{}})
		}
		out[i].Runtimes[runtime] = sampledRow(m.Samples) // the latest stands
	}
	sorts := []string{"", "static", "dynamic", "guided", "atomic", "critical", "reduce"}
	slices.SortStableFunc(out, func(x, y cost) int {
		if d := slices.Index(OverheadNames, x.Name) - slices.Index(OverheadNames, y.Name); d != 0 {
			return d
		}
		if d := slices.Index(sorts, x.Sort) - slices.Index(sorts, y.Sort); d != 0 {
			return d
		}
		return x.Threads - y.Threads
	})
	return out
}

// sampledRow returns a row that has only samples, their median and its interval.
func sampledRow(samples []float64) compare.Record {
	sum := sample.Summarize(samples)
	r := compare.Record{Status: compare.OK, Samples: samples, Median: compare.Number(sum.Median)}
	if !math.IsInf(sum.Lo, 0) && !math.IsInf(sum.Hi, 0) {
		r.CI = &[2]float64{sum.Lo, sum.Hi}
	}
	return r
}
