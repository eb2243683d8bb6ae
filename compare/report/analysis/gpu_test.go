package analysis

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"gemm"
	"gemm/compare"
	"gemm/compare/report/reporttest"
	"gemm/parallel/timeline"
)

// TestReads checks which accesses are reported: those of the tile that ran; those of the model if
// threads share nothing or if the tile is unknown; none for NVIDIA's library.
func TestReads(t *testing.T) {
	ran := func(tile string) func(*compare.Record) {
		return func(r *compare.Record) { r.Resolved = gemm.Params{"tile": tile} }
	}
	for _, test := range []struct {
		row  compare.Record
		want float64
	}{
		{reporttest.Kernel("warptile", 64, 1, ran("128x256x16/64x64/8x16")), 1./128 + 1./256 + 1./64},
		{reporttest.Kernel("warptile", 64, 1, ran("auto")), 1}, {reporttest.Kernel("warptile", 64, 1, ran("0x0x8")), 1},
		{reporttest.Kernel("packed-global", 64, 1, ran("16x16x16")), 1}, {reporttest.Kernel("naive", 64, 1, ran("32x32")), 1},
		{reporttest.Kernel("smem", 64, 1, reporttest.Unpredicted), 0},
		{reporttest.Kernel("cublas", 64, 1, ran("128x128x8")), 0},
	} {
		if got := ReadsOf(test.row); !(math.Abs(got-test.want) <= 1e-12) {
			t.Errorf("%s %v: %g, want %g", test.row.Variant, test.row.Resolved, got, test.want)
		}
	}
}

// TestGains checks that a row that is slower, level, or faster by less than leastGain has no gain.
func TestGains(t *testing.T) {
	nan := math.NaN()
	for _, test := range []struct {
		c    Comparison
		want bool
	}{
		{Comparison{Ratio: 1.5, Outcome: Quicker}, true}, {Comparison{Ratio: 1.5, P: nan}, true},
		{Comparison{Ratio: 1.5, Outcome: Level}, false},
		{Comparison{Ratio: 1.01, Outcome: Quicker}, false}, {Comparison{Ratio: 0.5, Outcome: Slower}, false},
		{Comparison{Ratio: nan}, false},
	} {
		if got := (Climb{Comparison: test.c}).Gains(); got != test.want {
			t.Errorf("%+v: %v", test.c, got)
		}
	}
}

// TestRungs checks that there is one row for each variant and shape, in the order of the ladder. It
// is the row of a plain product with default parameters.
func TestRungs(t *testing.T) {
	v := Views(reporttest.Planted(
		reporttest.Kernel("cublas", 64, 1e-3),
		reporttest.Kernel("naive", 64, 1e-3, func(r *compare.Record) { r.Params = gemm.Params{"l2": "warm"} }),
		reporttest.Kernel("naive", 64, 2e-3),
		reporttest.Kernel("smem", 64, 1e-3, func(r *compare.Record) { r.Op = "nt" }),
		reporttest.Kernel("smem", 64, 1e-3, func(r *compare.Record) { r.LDA++ }),
		reporttest.Kernel("smem", 64, 1, reporttest.Came(compare.Wrong, "x")),
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

// TestWins checks that the result is the size from which on the GPU is faster at every size.
func TestWins(t *testing.T) {
	at := func(n int, ratio float64) Facing {
		return Facing{Problem: cubeOf("f32", n), CPU: reporttest.Row("serial/packed", n, 1e-3),
			Kernel: reporttest.Kernel("naive", n, 1e-3/ratio)}
	}
	alone := at(512, 9)
	alone.CPU = compare.Record{}
	for _, test := range []struct {
		all  []Facing
		want int
	}{
		{nil, 0}, {[]Facing{alone}, 0}, {[]Facing{at(64, 2)}, 64}, {[]Facing{at(64, 0.5), at(128, 2)}, 128},
		{[]Facing{at(64, 2), at(128, 0.5), at(256, 2), at(512, 3)}, 256},
		{[]Facing{at(64, 2), at(128, 1)}, 0}, {[]Facing{at(64, 0.5), at(128, 2), alone}, 128},
	} {
		if got, _ := Wins(test.all, func(f Facing) float64 { return float64(f.Kernel.Median) }); got != test.want {
			t.Errorf("%d sizes: %d, want %d", len(test.all), got, test.want)
		}
	}
}

// TestCopies checks that the smaller of the times with and without overlap is taken, and NaN if
// neither was measured.
func TestCopies(t *testing.T) {
	for _, test := range []struct {
		change func(*compare.Record)
		want   float64
	}{
		{func(*compare.Record) {}, math.NaN()}, {reporttest.Copied(1, 2, 0), 4}, {reporttest.Copied(1, 2, 3), 3},
		{reporttest.Copied(1, 2, 5), 4},
		{func(r *compare.Record) { r.Phases = map[string]float64{"h2d": 1} }, math.NaN()},
		{func(r *compare.Record) { r.Phases = map[string]float64{"host": 7} }, 7},
	} {
		if got := WithCopies(reporttest.Kernel("naive", 64, 1, test.change)); got != test.want &&
			!(math.IsNaN(got) && math.IsNaN(test.want)) {
			t.Errorf("got %g, want %g", got, test.want)
		}
	}
}

// TestDigits checks the number of decimal digits. It is NaN if there is no error or it is unknown.
func TestDigits(t *testing.T) {
	a, b := reporttest.Kernel("naive", 64, 1, func(r *compare.Record) { r.Residual = 1e-7 }),
		reporttest.Kernel("tf32-mma", 64, 1)
	if got := DigitsLost(a, b); !(math.Abs(got-4) <= 1e-9) {
		t.Errorf("%g digits", got)
	}
	for _, residual := range []compare.Number{0, compare.None()} {
		a.Residual = residual
		if got := Digits(a); !math.IsNaN(got) {
			t.Errorf("residual %g: %g digits", float64(residual), got)
		}
	}
}

// noted returns a trace of what the groups noted.
func noted(groups ...timeline.Group) compare.Trace {
	t := compare.Trace{}
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

// TestCrews checks that groups of a role that follow each other are a lane, and groups at the same time are not; the
// time of a slice; and the window around the end of the first tile.
func TestCrews(t *testing.T) {
	c := crewOf(noted(
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
	if shares := c.Shares(true); shares["wait"] != 0.5 || shares["copy"] != 0.5 {
		t.Errorf("the producer's shares are %v", shares)
	}
	if shares := c.Shares(false); !(math.Abs(shares["store"]-1./17) <= 1e-12) {
		t.Errorf("the others' shares are %v", shares)
	}
	c = crewOf(noted(timeline.Group{Role: "consumer", Warpgroup: 1, Phases: stepsFrom(3, "wmwm")}))
	if from, to := c.Window(); from != 3 || to != 3+13*2 {
		t.Errorf("without a tile that ends, the window is from %v to %v", from, to)
	}
	if c := crewOf(noted(timeline.Group{Role: "consumer", Phases: stepsFrom(0, "w")})); !math.IsNaN(c.Step()) {
		t.Errorf("a slice that has not ended takes %v", c.Step())
	}
}

// TestSliceOf divides counters by slices, and wants none without them or without a tile.
func TestSliceOf(t *testing.T) {
	row := reporttest.Kernel("warptile", 256, 1, func(r *compare.Record) {
		r.Resolved = gemm.Params{"tile": "128x128x16/64x32/8x8"}
		r.GPU.Threads = 256
		r.GPU.Counters = map[string]float64{"smsp__inst_executed.sum": 6400, "smsp__inst_executed_pipe_fma.sum": 3200,
			"smsp__average_warps_issue_stalled_wait_per_issue_active.ratio": 2}
	})
	s, ok := SliceOf(row) // 2×2 tiles of 16 slices
	if !ok || s.Instructions != 100 || s.FMA != 50 || !math.IsNaN(s.Tensor) || s.Stalls["wait"] != 25 ||
		len(s.Stalls) != 1 {
		t.Errorf("got %+v, %v", s, ok)
	}
	row.GPU.Counters = nil
	if s, ok := SliceOf(row); ok {
		t.Errorf("without counters: %+v", s)
	}
	row.Resolved = nil
	if s, ok := SliceOf(row); ok {
		t.Errorf("without a tile: %+v", s)
	}
}

// TestAccuracies takes the size with the most precisions.
func TestAccuracies(t *testing.T) {
	known := func(r *compare.Record) { r.Residual = 1e-7 }
	doc := reporttest.Planted(reporttest.Kernel("warptile", 512, 1, known),
		reporttest.Kernel("tf32-mma", 512, 1, known),
		reporttest.Kernel("warptile", 1024, 1, known),
		reporttest.Kernel("smem", 512, 1, func(r *compare.Record) { r.Residual = 0 }))
	got := Views(doc)[0].Accuracies()
	if len(got) != 2 || got[0].N != 512 || got[0].Compute == got[1].Compute {
		t.Errorf("got %d rows: %v", len(got), got)
	}
}
