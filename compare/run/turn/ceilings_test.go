package turn

import (
	"math"
	"runtime"
	"testing"
	"time"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/gemmtest"
	"gemm/gf256"
)

// TestBandwidthIsMeasuredWhereItIsNeeded: at the numbers of threads of rows that a report compares
// with it, where records are kept for one.
func TestBandwidthIsMeasuredWhereItIsNeeded(t *testing.T) {
	plain := gemmtest.Variant("test/plain", nil) // its model predicts no traffic
	streaming := gemmtest.Variant("test/streaming", nil)
	streaming.Params = []gemm.Param{{Name: "threads", Default: 1, Min: 1}}
	streaming.Model = func(_ gemm.Shape, _ gemm.Params) gemm.Model {
		return gemm.Model{Flops: 1, Traffic: func(_, _ float64) float64 { return 1 }}
	}
	for _, c := range []struct {
		name      string
		bandwidth bool
		time      time.Duration
		variants  []gemm.Variant
		want      int
	}{
		{"no report is made", false, leastTriad, []gemm.Variant{plain, streaming}, 0},
		{"no traffic is predicted", true, leastTriad, []gemm.Variant{plain}, 0},
		{"rows are short", true, leastTriad - 1, []gemm.Variant{streaming}, 0},
		{"a row needs it", true, leastTriad, []gemm.Variant{plain, streaming}, 1},
	} {
		budget := testBudget
		budget.Time = c.time
		b := bench(t, budget, time.Millisecond)
		l := plan.Ladder{Variants: c.variants, Shapes: []gemm.Shape{gemm.Cube(4)}, Types: []string{"f64"},
			Ops:   []string{"nn"},
			Alpha: 1}
		gemmtest.Must(t, b.MeasureCeilings(t.Context(), l.Cases(), c.bandwidth))
		h := b.Host
		if len(h.Bandwidths) != c.want || len(h.Ceilings) == 0 {
			t.Errorf("%s: bandwidths %+v, ceilings %+v; want %d bandwidths", c.name, h.Bandwidths, h.Ceilings, c.want)
		}
	}
}

// TestTriadBytes: the three arrays of a measurement are larger than the caches, and take 2 GiB at most.
func TestTriadBytes(t *testing.T) {
	for cache, want := range map[int64]int64{0: 64 << 20, 32 << 20: 128 << 20, 480 << 20: (2 << 30) / 3,
		math.MaxInt64 / 8: (2 << 30) / 3} {
		if got := triadBytes([]record.Cache{{Level: 2, Bytes: 1 << 20}, {Level: 3, Bytes: cache}}); got != want {
			t.Errorf("a cache of %d bytes: arrays of %d bytes, want %d", cache, got, want)
		}
	}
}

// TestCeilingInTurn measures candidates on one thread and on two in one group.
func TestCeilingInTurn(t *testing.T) {
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("needs two processors")
	}
	procs := map[string]int{}
	v := func(name string) gemm.Variant {
		v := gemmtest.Variant(name, gemmtest.Observed(func() { procs[name] = runtime.GOMAXPROCS(0) }))
		if name != "serial/packed" {
			v.Params = []gemm.Param{{Name: "threads", Default: 1, Min: 1}}
		}
		return v
	}
	on := bench(t, testBudget, time.Millisecond)
	before := runtime.GOMAXPROCS(0)
	rows, _ := measure(t, on, plan.Ladder{
		Variants: []gemm.Variant{v("serial/packed"), v("parallel/packed")}, Shapes: []gemm.Shape{gemm.Cube(48)},
		Sweep: map[string][]any{"threads": {2}},
	})
	if len(rows) != 2 || rows[0].Turn == "" || rows[0].Turn != rows[1].Turn {
		t.Fatalf("the rows are %+v, want two in turn", rows)
	}
	wantShares(t, on, rows)
	if rows[0].Ceiling == rows[1].Ceiling {
		t.Errorf("the ceilings of one thread and of two are both %v", rows[0].Ceiling)
	}
	if procs["serial/packed"] != 1 || procs["parallel/packed"] < 2 || runtime.GOMAXPROCS(0) != before {
		t.Errorf("processors in use: %v, %d afterwards, want 1, 2 or more, and %d", procs, runtime.GOMAXPROCS(0), before)
	}
}

// wantShares checks the share of each row in the highest peak of its type and number of threads.
func wantShares(t *testing.T, on *Bench, rows []record.Record) {
	t.Helper()
	doc := record.Document{Hosts: []record.Host{on.Host}, Records: rows}.WithPeaks()
	for _, r := range doc.Records {
		highest := 0.0
		for _, c := range on.Host.Ceilings {
			if c.Pipe == r.Type && c.Threads == r.Threads {
				highest = max(highest, float64(c.Gflops))
			}
		}
		for _, x := range rows {
			if x.Threads == r.Threads {
				highest = max(highest, x.Ceiling)
			}
		}
		if want := 100 * float64(r.Rate) / highest; r.Status != record.OK || !(r.Ceiling > 0) ||
			!(math.Abs(float64(r.PercentPeak)-want) <= 1e-9*want) {
			t.Errorf("%s %v: %s %s, rate %v, ceiling %v, %v %% of it, want %v", r.Variant, r.Params, r.Status, r.Reason, r.Rate,
				r.Ceiling, r.PercentPeak, want)
		}
	}
}

// TestCeilingOfFields checks that products over GF(2⁸) have no FLOP/s, and that their ceiling counts multiplications
// and additions in the field.
func TestCeilingOfFields(t *testing.T) {
	v := gemmtest.Shared("parallel/field", nil)
	v.GF256 = func(gemm.Params) (gemm.Multiplier[gf256.Elem], error) {
		return gemmtest.Func[gf256.Elem](gemmtest.Textbook[gf256.Elem]), nil
	}
	on := bench(t, testBudget, time.Millisecond)
	rows, _ := measure(t, on, plan.Ladder{Experiment: record.StrongScaling, Variants: []gemm.Variant{v},
		Types: []string{"gf256"}, Sweep: map[string][]any{"threads": {1, 2}}})
	wantShares(t, on, rows)
	pipes := map[string]int{}
	for _, c := range on.Host.Ceilings {
		pipes[c.Pipe]++
	}
	if rows[0].Gflops.Known() || pipes["gf256"] == 0 || pipes["gf256"] != pipes["f64"] {
		t.Errorf("%v GFLOP/s, ceilings by pipe: %v", rows[0].Gflops, pipes)
	}
}
