package analysis

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gemm"
	"gemm/compare/record"
	"gemm/gemmtest/reporttest"
)

// TestHosts plants ranks on several hosts: what shares processors is on one host, and a host with another
// number of ranks is on no axis.
func TestHosts(t *testing.T) {
	rows := slices.Concat(
		reporttest.RankRows("summa", map[int]float64{16: 9}),
		reporttest.OnHosts(2, reporttest.RankRows("summa", map[int]float64{16: 10, 32: 6})...),
		reporttest.OnHosts(3, reporttest.RankRows("summa", map[int]float64{8: 7})...),
		reporttest.RankRows("summa", map[int]float64{32: 12}))
	doc := reporttest.Many(rows...)
	doc.Hosts[0].Ceilings = append(doc.Hosts[0].Ceilings,
		record.Ceiling{Unit: "cpu", Pipe: "f64", Threads: 32, Gflops: 1280},
		record.Ceiling{Unit: "cpu", Pipe: "f64", Threads: 16, Gflops: 640})
	v := Views(doc)[0]
	v.Records = v.Pick(func(r record.Record) bool { return len(r.Ranks) > 0 })
	for i, want := range []struct {
		of      []int
		axis    int
		crowded bool
	}{{[]int{16}, 1, false}, {[]int{8, 8}, 2, false}, {[]int{16, 16}, 2, false}, {[]int{3, 3, 2}, 0, false},
		{[]int{32}, 1, true}} {
		r := v.Records[i]
		if got := RanksOfHosts(r); !slices.Equal(got, want.of) || OverHosts.Count(r) != want.axis ||
			v.Oversubscribes(r) != want.crowded {
			t.Errorf("row %d has %v ranks, is at %d, crowded %v; want %v", i, got, OverHosts.Count(r), v.Oversubscribes(r),
				want)
		}
	}
	if got, want := Percent(v.Records[2]), 100*float64(rows[2].Gflops)/1280; !(math.Abs(got/want-1) <= 1e-12) {
		t.Errorf("on two hosts the row has %g %% of the peak, want %g", got, want)
	}
	all := v.StrongSeries(OverHosts, "f64")
	if len(all) != 1 || len(all[0].Rows) != 2 || all[0].Set != "ranks/host=16" {
		t.Fatalf("the series are %+v", all)
	}
	if c, ok := all[0].Speedup(all[0].Most()); !ok || !(math.Abs(c.Ratio-1.5) <= 1e-12) {
		t.Errorf("two hosts are %v times as fast, %v", c.Ratio, ok)
	}
	for _, s := range v.StrongSeries(OverRanks, "f64") {
		for _, r := range s.Rows {
			if OverRanks.Count(r) == 16 && Hosts(r) != 1 {
				t.Errorf("16 ranks on %d hosts stand for those on one", Hosts(r))
			}
		}
	}
}

// TestTrait checks that only the names of parameters that distinguish rows are returned.
func TestTrait(t *testing.T) {
	rows := slices.Concat(reporttest.RankRows("summa", map[int]float64{2: 1, 4: 1}, "local", "serial/packed", "panel", 64),
		reporttest.RankRows("summa", map[int]float64{8: 1}, "local", "serial/packed", "panel", 128))
	v := Views(reporttest.Many(rows...))[0]
	if got := v.DistinctSetting("mpi/summa", rows[0].Params); got != "panel=64" {
		t.Errorf("got %q", got)
	}
	hybrid := reporttest.Row("mpi/summa", 256, 1e-3,
		reporttest.OnRanks("strong", 2, "local", "serial/packed", "panel", 64))
	hybrid.Params["threads"], hybrid.Threads = 4, 8
	v = Views(reporttest.Many(append(rows, hybrid)...))[0]
	if got := v.DistinctSetting("mpi/summa", hybrid.Params); got != "panel=64 threads=4" {
		t.Errorf("got %q", got)
	}
	// A parameter that only some rows have is shown.
	bare := reporttest.Row("mpi/summa", 256, 1e-3, reporttest.OnRanks("strong", 16))
	delete(bare.Params, "threads")
	v = Views(reporttest.Many(bare, hybrid))[0]
	if got := v.DistinctSetting("mpi/summa", hybrid.Params); got != "local=serial/packed panel=64 threads=4" {
		t.Errorf("got %q", got)
	}
	if got := v.DistinctSetting("mpi/summa", bare.Params); got != "" {
		t.Errorf("got %q", got)
	}
}

// TestDistributions prefers the rows of the experiment to the rows of a command with several numbers of ranks.
func TestDistributions(t *testing.T) {
	row := func(experiment record.Experiment, variant string, n, ranks int, seconds float64) record.Record {
		r := record.Record{Status: record.OK, Median: record.Number(seconds), Samples: []float64{seconds},
			Resolved: gemm.Params{"local": "serial/naive"}, Params: gemm.Params{"ranks": ranks}}
		r.Experiment, r.Variant = experiment, variant
		r.Problem = record.Problem{Type: "f64", Op: "nn", Alpha: 1, Shape: gemm.Cube(n), LDA: n, LDB: n, LDC: n}
		return r
	}
	v := &View{Variants: reporttest.Variants(), Records: []record.Record{
		row(record.StrongScaling, "mpi/p2p-rows", 256, 2, 9), row(record.StrongScaling, "mpi/scatter-blocks", 512, 2, 8),
		row(record.Distributions, "mpi/scatter-rows", 256, 4, 3), row(record.Distributions, "mpi/p2p-rows", 256, 2, 2),
		row(record.Distributions, "mpi/scatter-rows", 256, 2, 1), row(record.WeakScaling, "mpi/p2p-rows", 1024, 2, 1),
	}}
	var got []string
	for _, d := range v.Distributions("f64") {
		text := fmt.Sprint(d.N, " on ", d.Ranks, ":")
		for _, r := range d.Rows {
			text += fmt.Sprint(" ", r.Median)
		}
		got = append(got, text)
	}
	want := []string{"256 on 2: 2 1 0", "256 on 4: 0 3 0", "512 on 2: 0 0 8"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
