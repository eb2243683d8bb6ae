package analysis

import (
	"math"
	"slices"
	"testing"

	"gemm/compare/record"
	"gemm/gemmtest/reporttest"
)

// TestPeersOf wants the peers in the order of tables, and none that is nowhere available.
func TestPeersOf(t *testing.T) {
	row := func(variant string, status record.Status) record.Record {
		return record.Record{Key: record.Key{Variant: variant}, Status: status}
	}
	matches := []Match{
		{Peers: []record.Record{row("user/mine", record.Failed), row("reference/numpy", record.Unavailable),
			row("reference/torch", record.OK), row("reference/mkl", record.Unavailable)}},
		{Peers: []record.Record{row("reference/numpy", record.OK), row("serial/gonum", record.OK),
			row("reference/mkl", record.Unavailable)}},
	}
	v := View{Variants: reporttest.Variants()}
	want := []string{"serial/gonum", "reference/numpy", "reference/torch", "user/mine"}
	if got := v.PeersOf(matches); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestMean compares means of one ratio, of two, of none, and of one without an interval.
func TestMean(t *testing.T) {
	match := func(ours, theirs float64) Match {
		own, peer := reporttest.Row("serial/packed", 64, ours, reporttest.Turn("peers")),
			reporttest.Row("reference/mkl", 64, theirs, reporttest.Turn("peers"))
		return Match{Problem: ProblemOf(own), Own: own, Peers: []record.Record{peer}}
	}
	mean := func(peer Peer, matches ...Match) Mean { return Group{Matches: matches}.Mean(peer) }
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-12*math.Abs(b) }
	one, c := mean("reference/mkl", match(1, 2)), Contrast(match(1, 2).Peers[0], match(1, 2).Own)
	if !near(one.Ratio, 2) || !near(one.Lo, c.Lo) || !near(one.Hi, c.Hi) || one.Count != 1 {
		t.Errorf("one ratio: %+v, want %+v", one, c)
	}
	two := mean("reference/mkl", match(1, 2), match(2, 1))
	if !near(two.Ratio, 1) || !(two.Lo < 1 && two.Hi > 1 && two.Hi/two.Lo < one.Hi/one.Lo) || two.Count != 2 {
		t.Errorf("2 and 1/2: %+v, narrower than %+v", two, one)
	}
	if none := mean("reference/blis", match(1, 2)); none.Count != 0 || !math.IsNaN(none.Ratio) {
		t.Errorf("nothing: %+v", none)
	}
	bare := match(1, 2)
	bare.Own.CI = nil
	if m := mean("reference/mkl", match(1, 2), bare); !near(m.Ratio, 2) || !math.IsNaN(m.Lo) {
		t.Errorf("a ratio without an interval: %+v", m)
	}
}

// TestRoles checks who is whom.
func TestRoles(t *testing.T) {
	for variant, want := range map[string][2]bool{ // ours, rival
		"serial/packed": {true, false}, "serial/gonum": {false, true}, "reference/mkl": {false, true},
		"cuda/cublas": {false, true},
		"cuda/torch":  {false, true}, "cuda/torch-tf32": {false, true}, "reference/c-ikj": {false, false},
		"reference/openmp-collapse": {false, false},
		"user/packed":               {false, false}, "reference/numpy": {false, true},
	} {
		r := Views(reporttest.Planted(reporttest.Row(variant, 64, 1)))[0].Records[0]
		if got := [2]bool{Ours(r), Rival(r)}; got != want {
			t.Errorf("%s: ours and rival are %v, want %v", variant, got, want)
		}
	}
}
