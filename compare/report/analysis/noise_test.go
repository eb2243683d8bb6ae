package analysis

import (
	"math"
	"testing"

	"gemm"
	"gemm/compare/record"
	"gemm/gemmtest/reporttest"
)

func on2(turn string, ran ...string) func(*record.Record) {
	return func(r *record.Record) {
		r.Threads, r.Turn, r.Params = 2, turn, gemm.Params{"threads": 2}
		for _, name := range ran {
			r.Resolved = gemm.Params{"ran": name}
		}
	}
}

// speed returns the seconds of a product of n×n matrices at that many GFLOP/s.
func speed(n int, gflops float64) float64 { return 2 * math.Pow(float64(n), 3) / gflops / 1e9 }

// TestNoiseFloor plants identical code with disjoint intervals, 96.6 and 161 GFLOP/s: no smaller difference
// between rows on threads counts from then on.
func TestNoiseFloor(t *testing.T) {
	rows := func(ran ...string) []record.Record {
		return []record.Record{
			reporttest.Row("parallel/packed", 128, speed(128, 161), on2("peers 128")),
			reporttest.Row("parallel/strassen", 128, speed(128, 96.6), on2("peers 128", ran...)),
			reporttest.Row("parallel/packed", 256, speed(256, 150), on2("peers 256")),
			reporttest.Row("reference/openblas", 256, speed(256, 100), on2("peers 256")),
			reporttest.Row("reference/mkl", 256, speed(256, 50), on2("peers 256")),
			reporttest.Row("serial/packed", 256, speed(256, 80), reporttest.Turn("peers 256")),
			reporttest.Row("serial/gonum", 256, speed(256, 79), reporttest.Turn("peers 256")),
		}
	}
	for _, test := range []struct {
		ran       []string
		floors    int
		openblas  Outcome
		from, of  float64 // the interval of the ratio to OpenBLAS has this in it
		identical Outcome
	}{
		{nil, 0, Faster, 1.5, 1.5, Slower},
		{[]string{"parallel/packed"}, 1, Level, 1, 2, Level},
	} {
		doc := reporttest.Many()
		doc.Records = rows(test.ran...)
		v := Views(doc)[0]
		floors := v.Floors()
		if len(floors) != test.floors || test.floors > 0 && (!floors[0].Several || !floors[0].Interleaved ||
			floors[0].Pairs != 1 || math.Abs(floors[0].Factor/(161/96.6)-1) > 1e-3) {
			t.Errorf("%v: floors %+v", test.ran, floors)
		}
		at := func(variant string) record.Record {
			for _, r := range v.All {
				if r.Variant == variant && (r.N == 256 || variant == "parallel/strassen") {
					return r
				}
			}
			t.Fatalf("no %s", variant)
			return record.Record{}
		}
		c := Contrast(at("reference/openblas"), at("parallel/packed"))
		if c.Outcome != test.openblas || !(c.Lo <= test.from && c.Hi >= test.of) || Distinguishable(at("reference/openblas"),
			at("parallel/packed")) != (test.openblas == Faster) {
			t.Errorf("%v: OpenBLAS is %+v", test.ran, c)
		}
		if f := ComparePair(at("reference/openblas"), at("parallel/packed")); f.Outcome != test.openblas {
			t.Errorf("%v: a pair with OpenBLAS is %+v", test.ran, f)
		}
		if c := Contrast(at("reference/mkl"), at("parallel/packed")); c.Outcome != Faster {
			t.Errorf("%v: three times the speed is %+v", test.ran, c)
		}
		if c := Contrast(at("serial/gonum"), at("serial/packed")); c.Outcome != Faster {
			t.Errorf("%v: one thread, of which no pair is known: %+v", test.ran, c)
		}
		packed := v.All[0]
		if c := Contrast(packed, at("parallel/strassen")); c.Outcome != test.identical {
			t.Errorf("%v: identical code is %+v", test.ran, c)
		}
	}
}

// TestFloorsAreOfIdenticalCode plants rows of one case that differ in a setting, a build, a run or a problem.
func TestFloorsAreOfIdenticalCode(t *testing.T) {
	set := func(change func(r *record.Record)) record.Record {
		return reporttest.Row("serial/blocked", 64, 2e-3, func(r *record.Record) {
			r.Experiment, r.Resolved = record.StrongScaling, gemm.Params{"block": 192}
			change(r)
		})
	}
	first := reporttest.Row("serial/blocked", 64, 1e-3, func(r *record.Record) { r.Resolved = gemm.Params{"block": 192} })
	for name, test := range map[string]struct {
		change func(r *record.Record)
		pairs  int
	}{
		"a repeat":         {func(*record.Record) {}, 1},
		"another setting":  {func(r *record.Record) { r.Resolved = gemm.Params{"block": 64} }, 0},
		"another run":      {func(r *record.Record) { r.Run = "r2" }, 0},
		"another build":    {func(r *record.Record) { r.Build = "v3" }, 0},
		"another type":     {func(r *record.Record) { r.Type = "f32" }, 0},
		"more threads":     {func(r *record.Record) { r.Threads = 2 }, 0},
		"another variant":  {func(r *record.Record) { r.Variant = "serial/hinted" }, 0},
		"no speed":         {reporttest.WithStatus(record.Wrong, "one element"), 0},
		"the same by name": {func(r *record.Record) { r.Params = gemm.Params{"block": 192} }, 1},
	} {
		doc := reporttest.With()
		doc.Records = []record.Record{first, set(test.change)}
		floors := Views(doc)[0].Floors()
		if len(floors) != min(test.pairs, 1) || test.pairs > 0 && math.Abs(floors[0].Factor-2) > 1e-9 {
			t.Errorf("%s: %+v, want %d pairs", name, floors, test.pairs)
		}
	}
}

// TestDependentSamplesDoNotDecide has drifting samples: the rank test alone would call the rows different.
func TestDependentSamplesDoNotDecide(t *testing.T) {
	row := func(variant string, times []float64, lo, hi float64) record.Record {
		return reporttest.Row(variant, 64, times[len(times)/2], reporttest.Turn("peers"), func(r *record.Record) {
			r.Samples, r.CI = times, &[2]float64{lo, hi}
		})
	}
	ramp := func(from, to float64) []float64 {
		var out []float64
		for i := range 100 {
			out = append(out, from+(to-from)*float64(i)/99)
		}
		return out
	}
	a, b := row("serial/packed", ramp(1, 1.4), 1.03, 1.37), row("serial/gonum", ramp(1.1, 1.5), 1.13, 1.47)
	c := Contrast(b, a)
	if !(c.P < Significance) || c.Outcome != Level {
		t.Errorf("rows that drift over each other: %+v", c)
	}
}
