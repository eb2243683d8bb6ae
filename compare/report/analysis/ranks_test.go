package analysis

import (
	"math"
	"slices"
	"testing"

	"gemm/compare/record"
	"gemm/gemmtest/reporttest"
)

// TestAgree checks that rows with other values of a common parameter, or other loops, do not agree.
func TestAgree(t *testing.T) {
	row := func(variant string, more ...any) record.Record {
		return reporttest.Row(variant, 256, 1e-3, reporttest.OnRanks("strong", 4, more...))
	}
	first := row("mpi/p2p-rows", "master", "idle", "local", "serial/packed")
	naive := row("mpi/scatter-rows", "local", "serial/naive")
	ran, ranks := row("mpi/scatter-rows"), row("mpi/scatter-rows", "local", "serial/packed")
	ran.Resolved, ranks.Params["ranks"] = naive.Params, 2
	for name, test := range map[string]struct {
		second record.Record
		except string
		want   bool
	}{
		"equal": {row("mpi/scatter-rows", "local", "serial/packed"), "", true}, "another local": {naive, "", false},
		"a local as named": {naive, "local", true}, "another local that ran": {ran, "", false},
		"other ranks":         {ranks, "", false},
		"one parameter alone": {row("mpi/scatter-rows", "local", "serial/packed", "panel", 64), "", true},
	} {
		if got := Agree(first, test.second, test.except); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestSlowest takes, of the ranks that compute, the one whose phases take longest together.
func TestSlowest(t *testing.T) {
	r := record.Record{Phases: map[string]float64{"compute": 9}}
	if got := Slowest(r); got["compute"] != 9 {
		t.Errorf("without ranks: %v", got)
	}
	r.Ranks = []record.Rank{{Phases: map[string]float64{"collect": 50}}, {Phases: map[string]float64{"compute": 3}},
		{Phases: map[string]float64{"compute": 2, "distribute": 1.5}}}
	for range r.Ranks { // in any order
		r.Ranks = append(r.Ranks[1:], r.Ranks[0])
		if got := Slowest(r); got["compute"] != 2 {
			t.Errorf("the phases are %v", got)
		}
	}
}

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
	one, ok := all[0].One()
	if c := Versus(one, all[0].Most()); !ok || !(math.Abs(c.Ratio-1.5) <= 1e-12) {
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

// TestDistinctSetting checks that only the names of parameters that distinguish rows are returned.
func TestDistinctSetting(t *testing.T) {
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
