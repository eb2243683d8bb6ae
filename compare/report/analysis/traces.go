package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gemm"
	"gemm/compare"
)

// Concert is the traces of one variant on one case that differ in the schedule and its chunk. They
// are drawn over one time axis.
type Concert struct {
	Problem
	Variant string
	Rest    gemm.Params // the other parameters, but for the threads
	Traces  []compare.Trace
}

// Concerts groups the traces of a host. Traces with the most work and the most workers come first.
func (v *View) Concerts() []Concert {
	var out []Concert
	at := map[string]int{}
	for _, t := range v.traces {
		if t.Workers < 1 || !(t.Seconds > 0) || len(t.Spans) == 0 {
			continue
		}
		p := plainOf(t.Type, t.Shape, t.Workers)
		rest := Omit(t.Params, "threads", "schedule", "chunk")
		key := fmt.Sprint(t.Experiment, t.Variant, p, rest)
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			out = append(out, Concert{Problem: p, Variant: t.Variant, Rest: rest})
		}
		out[i].Traces = append(out[i].Traces, t)
	}
	slices.SortStableFunc(out, func(x, y Concert) int { return y.Problem.Compare(x.Problem) })
	return out
}

// Ensemble is the traces of what the ranks of several variants did, or the streams of a GPU, in one
// product. They are drawn over one time axis.
type Ensemble struct {
	Problem
	Lanes  int
	Traces []compare.Trace
}

// mostTogether is how many traces an ensemble has.
const mostTogether = 4

// Ensemble returns the traces of a family of a host that most of its variants have in common: those with
// the most lanes, and of these the largest product. Among the settings of a variant it has the first.
func (v *View) Ensemble(family string) (e Ensemble, ok bool) {
	for _, t := range v.traces {
		lanes := len(t.Ranks)
		if family == OnGPU {
			lanes = len(t.Lanes)
		}
		if Family(t.Variant) != family || lanes == 0 || len(t.Phases) == 0 || !(t.Seconds > 0) {
			continue
		}
		p := plainOf(t.Type, t.Shape, t.Workers)
		if order := cmp.Or(cmp.Compare(lanes, e.Lanes), p.Compare(e.Problem)); order > 0 || e.Traces == nil {
			e = Ensemble{Problem: p, Lanes: lanes}
		} else if order < 0 {
			continue
		}
		same := func(other compare.Trace) bool { return other.Variant == t.Variant }
		if len(e.Traces) < mostTogether && !slices.ContainsFunc(e.Traces, same) {
			e.Traces = append(e.Traces, t)
		}
	}
	return e, len(e.Traces) > 0
}

// BusyTimes returns the seconds that each worker of a trace was busy.
func BusyTimes(t compare.Trace) []float64 {
	out := make([]float64, t.Workers)
	for _, s := range t.Spans {
		if s.Worker >= 0 && s.Worker < t.Workers {
			out[s.Worker] += s.End - s.Begin
		}
	}
	return out
}

// Imbalance returns the most over the mean: how many times as long the last worker is
// busy as all would be if they shared evenly.
func Imbalance(shares []float64) float64 {
	total := 0.0
	for _, s := range shares {
		total += s
	}
	return slices.Max(shares) / (total / float64(len(shares)))
}

// PredictedImbalance returns the imbalance of a static schedule under the artificial load, and NaN
// for other schedules. With a static schedule it is known in advance which worker has which index;
// index i of n costs 1 + round(load·i/(n−1)).
func PredictedImbalance(t compare.Trace) float64 {
	if t.Resolved["schedule"] != "static" {
		return math.NaN()
	}
	n := 0
	for _, s := range t.Spans {
		n = max(n, s.To)
	}
	load, _ := t.Resolved["load"].(int)
	chunk, _ := t.Resolved["chunk"].(int)
	cost := make([]float64, t.Workers)
	for i := range n {
		weight := 1.0
		if n > 1 {
			weight += math.Round(float64(load) * float64(i) / float64(n-1))
		}
		cost[StaticOwner(i, n, t.Workers, chunk)] += weight
	}
	return Imbalance(cost)
}

// StaticOwner returns the worker of p that has index i of n under a static schedule. Chunks are
// dealt round robin. Without a chunk each worker has one block; the first n mod p blocks have one
// index more.
func StaticOwner(i, n, p, chunk int) int {
	if chunk > 0 {
		return i / chunk % p
	}
	q, longer := n/p, n%p
	if edge := longer * (q + 1); i >= edge {
		return longer + (i-edge)/q
	}
	return i / (q + 1)
}

// Traced returns the row that a trace belongs to, as far as its setting goes.
func Traced(t compare.Trace) compare.Record {
	return compare.Record{
		Key: compare.Key{
			Host: t.Host, Experiment: t.Experiment, Variant: t.Variant, Problem: plainOf(t.Type, t.Shape, t.Workers).Problem,
		},
		Run: t.Run, Threads: t.Workers, Params: t.Params, Resolved: t.Resolved,
	}
}

// ScheduleOf names the schedule of a trace in the letters that figures have, with the
// chunk asked for.
func ScheduleOf(t compare.Trace) string {
	row := Traced(t)
	row.Params = gemm.Params{"schedule": cmp.Or(t.Params["schedule"], t.Resolved["schedule"], any("static")),
		"chunk": ChunkOf(t.Params)}
	return strings.ReplaceAll(SettingOf(row), "→", "=")
}
