package claim

import (
	"math"
	"reflect"
	"testing"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/reporttest"
)

func TestOutcomes(t *testing.T) {
	for _, test := range []struct {
		name    string
		claimed Range
		lo, hi  float64
		want    Outcome
	}{
		{"faster", Faster, 1.06, 50, Holds},
		{"faster or within the band", Faster, 1.04, 1.2, Open},
		{"no difference", Faster, 0.96, 1.04, Level},
		{"different, and less than the band", Faster, 1.01, 1.03, Level},
		{"slower", Faster, 0.5, 0.95, Opposite},
		{"slower or within the band", Faster, 0.5, 0.96, Open},
		{"anything", Faster, 0.7, 1.4, Open},

		{"slightly faster", Slightly, 1.06, 1.24, Holds},
		{"far faster than slightly", Slightly, 1.26, 1.65, More},
		{"slightly or far faster", Slightly, 1.2, 1.3, Open},

		{"far faster", Much, 1.25, 2, Holds},
		{"not far faster", Much, 1.06, 1.24, Less},
		{"perhaps not faster", Much, 1.02, 1.24, Open},
		{"not faster", Much, 0.97, 1.02, Level},

		{"hardly faster", Hardly, 1.06, 1.2, Holds},
		{"not slower", Hardly, 0.97, 1.2, Holds},
		{"more than hardly", Hardly, 1.3, 2, More},
		{"slower than hardly faster", Hardly, 0.48, 0.52, Opposite},

		{"the same", Same, 0.96, 1.04, Holds},
		{"not the same", Same, 1.06, 1.1, More},

		{"2 to 3 times", Times(2, 3), 2.4, 2.6, Holds},
		{"about 3 times", Times(2, 3), 4.2, 4.4, Holds},
		{"77 times", Times(2, 3), 70, 80, More},
		{"an end of 2 to 3 times", Times(2, 3), 4.2, 4.8, Open},
		{"less than 2 times", Times(2, 3), 1.1, 1.3, Less},

		{"no interval", Faster, math.NaN(), math.NaN(), TooFew},
		{"half an interval", Faster, 2, math.NaN(), TooFew},
		{"an unbounded interval", Faster, 2, math.Inf(1), TooFew},
		{"no time", Faster, 0, 2, TooFew},
		{"an inverted interval", Faster, 3, 2, TooFew},
	} {
		if got := test.claimed.Judge(test.lo, test.hi); got != test.want {
			t.Errorf("%s (%v–%v): %d, want %d", test.name, test.lo, test.hi, got, test.want)
		}
	}
}

// judged returns the cases of the claim that the second of two rows is faster, for rows of n = 128 and
// ranks 2, 4, … with these times.
func judged(samples int, first, second []float64) Cases {
	c := Cases{}
	for i := range first {
		row := func(variant string, seconds float64) compare.Record {
			return reporttest.Row(variant, 128, seconds, reporttest.OnRanks(compare.StrongScaling, 2<<i),
				reporttest.Turn("t"), reporttest.Sampled(samples, seconds))
		}
		a, b := row("mpi/p2p-rows", first[i]), row("mpi/scatter-rows", second[i])
		x := analysis.Versus(a, b)
		c.Add(Faster.Judge(x.Lo, x.Hi), PlaceOf(a))
	}
	return c
}

func TestVerdictsOfRecords(t *testing.T) {
	nan := math.NaN()
	for _, test := range []struct {
		name          string
		samples       int
		first, second []float64
		want          Verdict
		decided       int
	}{
		{"no case", 20, nil, nil, Unmeasured, 0},
		{"faster", 20, []float64{2, 2, 2}, []float64{1, 1, 1}, Supported, 3},
		{"faster twice", 20, []float64{2, 2}, []float64{1, 1}, Undecided, 2},
		{"slower", 20, []float64{1, 1, 1}, []float64{2, 2, 2}, Reversed, 3},
		{"slower twice", 20, []float64{1, 1}, []float64{2, 2}, Undecided, 2},
		{"slower once", 20, []float64{2, 2, 1}, []float64{1, 1, 2}, Mixed, 3},
		{"faster once", 20, []float64{2, 1, 1}, []float64{1, 1, 2}, Mixed, 3},
		{"alike", 20, []float64{1, 1, 1}, []float64{1, 1.01, 0.99}, Refuted, 3},
		{"alike and slower", 20, []float64{1, 1, 1}, []float64{1, 1, 2}, Refuted, 3},
		{"faster, in one sample", 1, []float64{2, 2, 2}, []float64{1, 1, 1}, Undecided, 0},
		{"slower, in one sample", 1, []float64{1, 1, 1}, []float64{2, 2, 2}, Undecided, 0},
		{"not a number", 20, []float64{nan, nan, nan}, []float64{1, 1, 1}, Undecided, 0},
		{"faster in three of seven", 20, []float64{2, 2, 2, nan, nan, nan, nan}, []float64{1, 1, 1, 1, 1, 1, 1},
			Undecided, 3},
		{"slower in three of seven", 20, []float64{1, 1, 1, nan, nan, nan, nan}, []float64{2, 2, 2, 1, 1, 1, 1},
			Refuted, 3},
		{"not a number once", 20, []float64{2, 2, 2, nan}, []float64{1, 1, 1, 1}, Supported, 3},
	} {
		c := judged(test.samples, test.first, test.second)
		if got := c.Verdict(); got != test.want || c.Decided() != test.decided || c.All() != len(test.first) {
			t.Errorf("%s: verdict %d, want %d; %d of %d decided, want %d of %d", test.name, got, test.want,
				c.Decided(), c.All(), test.decided, len(test.first))
		}
	}
}

func TestPlaces(t *testing.T) {
	small := analysis.Alone(reporttest.Row("mpi/p2p-rows", 128, 1))
	large := analysis.Alone(reporttest.Row("mpi/p2p-rows", 1024, 1))
	c := Cases{}
	for _, p := range []Place{{large, 16}, {small, 4}, {small, 2}, {small, 4}} {
		c.Add(Opposite, p)
	}
	c.Add(Holds, Place{large, 2})
	if got, want := c.At(Opposite), []Group{{small, []int{2, 4}}, {large, []int{16}}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got, want := c.At(Holds), []Group{{large, []int{2}}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := c.At(Level); got != nil {
		t.Errorf("%v, want none", got)
	}
}
