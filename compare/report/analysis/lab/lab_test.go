package lab

import (
	"cmp"
	"math"
	"testing"

	"gemm"
	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/analysis/claim"
	"gemm/compare/report/reporttest"
)

// viewOf returns the view of the rows of one host.
func viewOf(records ...compare.Record) *analysis.View {
	return analysis.Views(reporttest.Planted(records...))[0]
}

// TestFindings judges the lab's findings from rows whose times are as the lab has them, and reversed.
func TestFindings(t *testing.T) {
	for _, reversed := range []bool{false, true} {
		v := viewOf(stepsMeasured(func(variant string) string { return variant }, reversed)...)
		if got := Sizes(v); len(got) != 3 || got[0].N != 512 {
			t.Errorf("the sizes are %v, want those from 512", got)
		}
		for _, f := range Findings {
			want := claim.Supported
			if reversed && f.Key != "cublas" {
				want = claim.Reversed
			}
			all := Compare(v, f.Slow, f.Fast)
			if got := f.Judge(all).Verdict(); got != want {
				t.Errorf("%s, reversed %v: verdict %v, want %v, of %v", f.Key, reversed, got, want, all)
			}
		}
	}
	apart := viewOf(reporttest.Row("cuda/packed-smem", 1024, 1, reporttest.Turn("a")),
		reporttest.Row("cuda/cublas", 1024, 1, reporttest.Turn("b")))
	if got := Compare(apart, gemm.LabShared, gemm.LabLibrary); len(got) != 0 {
		t.Errorf("rows of different turns are compared: %v", got)
	}
}

// TestNoStandIns checks that rungs that are like the lab's, and no more, decide nothing about it.
func TestNoStandIns(t *testing.T) {
	like := map[string]string{"cuda/packed-smem": "cuda/smem", "cuda/packed-conflictfree": "cuda/conflictfree"}
	v := viewOf(stepsMeasured(func(variant string) string { return cmp.Or(like[variant], variant) }, true)...)
	for _, f := range Findings {
		want := claim.Unmeasured
		if f.Key == "tensor" {
			want = claim.Reversed
		}
		if got := f.Judge(Compare(v, f.Slow, f.Fast)).Verdict(); got != want {
			t.Errorf("%s without the lab's rungs: verdict %v, want %v", f.Key, got, want)
		}
	}
}

// ofLab has the variants of the suite.
var ofLab = analysis.View{Variants: reporttest.Variants()}

// stepsMeasured returns rows of the steps and of cuBLAS, in turns, under the names that are given.
func stepsMeasured(name func(variant string) string, reversed bool) []compare.Record {
	var rows []compare.Record
	for _, n := range []int{256, 512, 1024, 2048} {
		seconds := math.Pow(float64(n)/1024, 3) / 100
		turn := reporttest.Turn("cuda f64 " + gemm.Cube(n).String())
		rows = append(rows, reporttest.Row("cuda/cublas", n, seconds, turn))
		for _, s := range Steps {
			ratio := s.Ratio
			if reversed {
				ratio = 1 / ratio
			}
			rows = append(rows, reporttest.Row(name(ofLab.Playing(s.Part)), n, seconds*ratio, turn))
		}
	}
	return rows
}

// TestChains compares steps of iterated products with one product of the same variant and parameters.
func TestChains(t *testing.T) {
	row := func(variant string, seconds float64, params gemm.Params) compare.Record {
		return reporttest.Row(variant, 512, seconds, reporttest.Experiment(compare.IteratedProduct),
			reporttest.Turn("chain"), func(r *compare.Record) { r.Params = params })
	}
	rows := []compare.Record{
		row("parallel/packed", 1, gemm.Params{"chain": 0, "threads": 1}),
		row("parallel/packed", 0.5, gemm.Params{"chain": 0, "threads": 2}),
		row("parallel/packed", 6, gemm.Params{"chain": 10, "threads": 2}),
		row("serial/packed", 30, gemm.Params{"chain": 10}),
	}
	all := Chains(rows)
	if len(all) != 2 || all[0].Steps != 10 || all[1].One.Variant != "" {
		t.Fatalf("the chains are %+v", all)
	}
	lost, ok := all[0].Lost()
	if !ok || math.Abs(lost-0.2) > 1e-9 || all[0].Each.Outcome != analysis.Slower {
		t.Errorf("lost %v, %v: want 0.2; %+v", lost, ok, all[0].Each)
	}
	if _, ok := all[1].Lost(); ok {
		t.Error("a chain without its product has a loss")
	}
	if seconds, ok := all[1].Seconds(); !ok || seconds != 3 {
		t.Errorf("a step takes %v, want 3", seconds)
	}
	if rows[2].Samples[0] < 5 {
		t.Error("the samples of the record were changed")
	}
}

// TestOccupancies reads the measurements of a sweep.
func TestOccupancies(t *testing.T) {
	doc := reporttest.Planted(reporttest.Row("cuda/smem", 16, 1))
	point := func(over string, threads, regs, smem int, share ...float64) {
		doc.Measurements = append(doc.Measurements, compare.Measurement{Host: "h1", Run: "r1", Name: "occupancy",
			Params: gemm.Params{"over": over, "threads": threads, "regs": regs, "smem": smem}, Samples: share})
	}
	point("registers", 256, 64, 16384, 0.5)
	point("registers", 256, 32, 16384, 1)
	point("registers", 256, 96, 16384)
	point("threads", 32, 128, 16384, 0.2)
	v := analysis.Views(doc)[0]
	if got := Occupancies(v, "registers"); len(got) != 2 || got[0].At("registers") != 32 || got[1].Share != 0.5 {
		t.Errorf("the steps are %+v", got)
	}
	if k, ok := Swept(v); !ok || k.Threads != 256 || k.Registers != 128 || k.Shared != 16384 {
		t.Errorf("the kernel is %+v, %v", k, ok)
	}
	if _, ok := Swept(viewOf()); ok {
		t.Error("there is a kernel without measurements")
	}
}
