package analysis

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gemm"
	"gemm/compare/record"
	"gemm/gemmtest/reporttest"
	"gemm/internal/timeline"
)

// TestRungs checks that there is one row for each variant and shape, in the order of the ladder. It
// is the row of a plain product with default parameters.
func TestRungs(t *testing.T) {
	v := Views(reporttest.Planted(
		reporttest.Kernel("cublas", 64, 1e-3),
		reporttest.Kernel("naive", 64, 1e-3, func(r *record.Record) { r.Params = gemm.Params{"l2": "warm"} }),
		reporttest.Kernel("naive", 64, 2e-3),
		reporttest.Kernel("smem", 64, 1e-3, func(r *record.Record) { r.Op = "nt" }),
		reporttest.Kernel("smem", 64, 1e-3, func(r *record.Record) { r.LDA++ }),
		reporttest.Kernel("smem", 64, 1, reporttest.WithStatus(record.Wrong, "x")),
		reporttest.Kernel("smem", 64, 1e-3, reporttest.Of("block", "block", 8)),
		reporttest.Kernel("dmma", 64, 1e-3, reporttest.Double),
		reporttest.Row("serial/packed", 64, 1e-3, reporttest.Single)))[0]
	var got []string
	for _, r := range v.Rungs("f32") {
		got = append(got, fmt.Sprint(r.Variant, " ", float64(r.Median)))
	}
	if want := "cuda/naive 0.002 cuda/cublas 0.001"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// TestCounted names the state of warps whose cycles change most, and the work that changes most of what it comes from,
// if the cycles account for the ratio of the times.
func TestCounted(t *testing.T) {
	const n = 64
	row := func(name string, seconds, executed float64, counters map[string]float64) record.Record {
		return reporttest.Kernel(name, n, seconds, func(r *record.Record) {
			r.GPU.Counters = map[string]float64{"smsp__inst_executed.sum": executed * n * n * n / 32, activeWarps: 50,
				"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum": 80, sharedLoads: 10, sharedBytes: 1280}
			for name, value := range counters {
				if slices.Contains(states, name) {
					name = "smsp__average_warps_issue_stalled_" + name + "_per_issue_active.ratio"
				}
				r.GPU.Counters[name] = value
			}
		})
	}
	type values = map[string]float64
	const conflicts = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"
	parent := values{"selected": 1, "short_scoreboard": 3, "long_scoreboard": 4, conflicts: 40}
	for _, test := range []struct {
		executed, seconds float64
		counters          values
		want              string
	}{
		// 8 active warps a scheduler: 1 of 8 cycles are waits of 1 warp.
		{1, 0.75, values{"selected": 1, "short_scoreboard": 1, "long_scoreboard": 4},
			"profiled 1.333 short_scoreboard 0.375 0.125 conflicts 2 1"},
		{1, 1.02, values{"selected": 1, "short_scoreboard": 3, "long_scoreboard": 4.2, conflicts: 40},
			"profiled 0.976 long_scoreboard 0.5 0.525  0 0"},
		{2, 2.1, parent, "profiled 0.500 long_scoreboard 0.5 1 instructions 1 2"},
		{1, 1.5, values{"selected": 1, "short_scoreboard": 3, "long_scoreboard": 8, conflicts: 40},
			"profiled 0.667 long_scoreboard 0.5 1  0 0"},
		{1, 0.75, values{"selected": 1, "short_scoreboard": 3, "long_scoreboard": 8}, "none"}, // slower by the counters
		{1, 1.9, values{"selected": 1, "short_scoreboard": 3, "long_scoreboard": 4, activeWarps: 25, conflicts: 40},
			"profiled 0.500 long_scoreboard 0.5 1 warps 50 25"},
		{1, 0.75, values{activeWarps: 0}, "none"},
	} {
		v := Views(reporttest.Planted(row("conflictfree", 1, 1, parent),
			row("doublebuffer", test.seconds, test.executed, test.counters)))[0]
		rows := v.Rungs("f32")
		e, got := v.Explain(rows[0], rows[1], 1/test.seconds), "none"
		if c := e.Counted; c != nil {
			got = fmt.Sprintf("%s %.3f %s %v %v %s %v %v", e.Cause, e.Predicted, c.State, c.Before, c.After, c.Work,
				c.From, c.To)
		}
		if got != test.want {
			t.Errorf("%v: %s, want %s", test.counters, got, test.want)
		}
	}
}

// TestWithCopies: the smaller of the times with and without overlap, and NaN if neither was measured.
func TestWithCopies(t *testing.T) {
	for _, test := range []struct {
		change func(*record.Record)
		want   float64
	}{
		{func(*record.Record) {}, math.NaN()}, {reporttest.Copied(1, 2, 0), 4}, {reporttest.Copied(1, 2, 3), 3},
		{reporttest.Copied(1, 2, 5), 4},
		{func(r *record.Record) { r.Phases = map[string]float64{"h2d": 1} }, math.NaN()},
		{func(r *record.Record) { r.Phases = map[string]float64{"host": 7} }, 7},
	} {
		got := WithCopies(reporttest.Kernel("naive", 64, 1, test.change))
		if got != test.want && !(math.IsNaN(got) && math.IsNaN(test.want)) {
			t.Errorf("got %g, want %g", got, test.want)
		}
	}
}

func noted(groups ...timeline.Group) record.Trace {
	t := record.Trace{}
	t.Inside = groups
	return t
}

// stepsFrom returns steps of a second each, named by their first letters.
func stepsFrom(begin float64, names string) (out []timeline.Step) {
	for i, name := range names {
		at := begin + float64(i)
		full := map[rune]string{'w': "wait", 'c': "copy", 'm': "multiply", 's': "store"}[name]
		out = append(out, timeline.Step{Name: full, Begin: at, End: at + 1})
	}
	return out
}

// TestWarpLanes checks that groups of a role that follow each other are a lane, and groups at the same time are not;
// the time of a slice; and the window around the end of the first tile.
func TestWarpLanes(t *testing.T) {
	c := warpTraceOf(noted(
		timeline.Group{Role: "producer", Phases: stepsFrom(0, "wcwc")},
		timeline.Group{Role: "consumer", Warpgroup: 1, Phases: stepsFrom(0, "wmwmwms")},
		timeline.Group{Role: "consumer", Warpgroup: 1, Phases: stepsFrom(9, "wmwm"), Block: 5},
		timeline.Group{Role: "consumer", Warpgroup: 1, Phases: stepsFrom(1, "wm"), Block: 6},
		timeline.Group{Role: "worker", Phases: stepsFrom(0, "wm")},
		timeline.Group{Role: "worker", Multiprocessor: 1, Phases: stepsFrom(0, "wm")},
	))
	var lanes []string
	for _, l := range c.Lanes {
		lanes = append(lanes, fmt.Sprint(l.Name, " ", len(l.Steps)))
	}
	if got := strings.Join(lanes, ", "); got != "producer 4, consumer 1 11, consumer 1 2, worker 1 2" {
		t.Errorf("the lanes are %s", got)
	}
	if got := c.Step(); got != 2 {
		t.Errorf("a slice takes %v", got)
	}
	if from, to := c.Window(); from != 6-5*2 || to != 7+8*2 {
		t.Errorf("the window is from %v to %v", from, to)
	}
	c = warpTraceOf(noted(timeline.Group{Role: "consumer", Warpgroup: 1, Phases: stepsFrom(3, "wmwm")}))
	if from, to := c.Window(); from != 3 || to != 3+13*2 {
		t.Errorf("without a tile that ends, the window is from %v to %v", from, to)
	}
	if c := warpTraceOf(noted(timeline.Group{Role: "consumer", Phases: stepsFrom(0, "w")})); !math.IsNaN(c.Step()) {
		t.Errorf("a slice that has not ended takes %v", c.Step())
	}
}
