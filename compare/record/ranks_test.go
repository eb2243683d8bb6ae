package record

import (
	"math"
	"strings"
	"testing"

	"gemm"
)

func TestOversubscribed(t *testing.T) {
	rank := func(host, cpus string) Rank { return Rank{Host: host, CPUs: cpus} }
	for _, test := range []struct {
		name  string
		quota Number
		each  int
		ranks []Rank
		want  string
	}{
		{"room", None(), 1, []Rank{rank("a", "0-1"), rank("a", "0-1")}, ""},
		{"shares", None(), 2, []Rank{rank("a", "0-1"), rank("a", "2,5")}, ""},
		{"three on two", None(), 1, []Rank{rank("a", "0-1"), rank("a", "0-1"), rank("a", "0-1")},
			"3 ranks with 3 threads share 2 processors"},
		{"threads", None(), 2, []Rank{rank("a", "0"), rank("a", "1")},
			"2 ranks with 4 threads share 2 processors"},
		{"two hosts", None(), 1, []Rank{rank("a", "0"), rank("b", "0")}, ""},
		{"the second host", None(), 1, []Rank{rank("a", "0"), rank("b", "0"), rank("b", "0")},
			"2 ranks with 2 threads share 1 processors"},
		{"quota", 1.5, 1, []Rank{rank("a", "0-3"), rank("a", "0-3")}, "quota of 1.5 processors"},
		{"not known", None(), 9, []Rank{rank("a", "")}, ""},
		{"nobody", None(), 1, nil, ""},
	} {
		r := Record{Ranks: test.ranks, Threads: test.each * len(test.ranks)}
		got := Host{Quota: test.quota}.Oversubscribed(r)
		if (got.Text == "") != (test.want == "") || !strings.Contains(got.Text, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// TestOutsideGrid counts ranks that a grid leaves out.
func TestOutsideGrid(t *testing.T) {
	for grid, want := range map[any]int{"1x1": 3, "2x2": 0, "1x1x3": 1, "auto": 0, nil: 0} {
		r := Record{Resolved: gemm.Params{"grid": grid}, Ranks: make([]Rank, 4)}
		if got := r.outsideGrid(); got != want {
			t.Errorf("the grid %v leaves out %d of 4 ranks, want %d", grid, got, want)
		}
	}
}

// TestPeakOfRanksThatComputed compares the shares of the peak of a row that one of two ranks computed, by its grid and
// without one.
func TestPeakOfRanksThatComputed(t *testing.T) {
	row := func(grid gemm.Params) Record {
		return Record{Key: Key{Host: "a", Problem: Problem{Type: "f64"}}, Status: OK, Median: 1, Gflops: 3, Threads: 2,
			Resolved: grid, Ranks: make([]Rank, 2), RanksUsed: 1}
	}
	onGPU := row(nil)
	onGPU.Ranks[1].GPU = &DevicePart{}
	rows := Document{Hosts: []Host{{ID: "a", Cores: 2, Ceilings: []Ceiling{
		{Unit: "cpu", Pipe: "f64", Threads: 2, Gflops: 10}}}},
		Records: []Record{row(gemm.Params{"grid": "1x1"}), row(nil), onGPU}}.WithPeaks().Records
	if one, two := float64(rows[0].PercentPeak), float64(rows[1].PercentPeak); !(math.Abs(one-60) < 1e-9) ||
		!(math.Abs(two-30) < 1e-9) {
		t.Errorf("%v %% of the peak of one rank, and %v %% of the peak of two, want 60 and 30", one, two)
	}
	if x := float64(rows[2].PercentPeak); !math.IsNaN(x) {
		t.Errorf("ranks on GPUs have %v %% of the peak of processors, want none", x)
	}
}
