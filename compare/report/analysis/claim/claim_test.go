package claim

import (
	"math"
	"testing"
)

func TestOutcomes(t *testing.T) {
	for _, test := range []struct {
		name    string
		claimed Range
		lo, hi  float64
		want    Outcome
	}{
		{"faster", Faster, 1.06, 50, Holds},
		{"no difference", Faster, 0.96, 1.04, Level},
		{"slower", Faster, 0.5, 0.95, Opposite},
		{"slightly faster", Slightly, 1.06, 1.24, Holds},
		{"far faster than slightly", Slightly, 1.26, 1.65, More},
		{"far faster", Much, 1.25, 2, Holds},
		{"not far faster", Much, 1.06, 1.24, Less},
		{"hardly faster", Hardly, 1.06, 1.2, Holds},
		{"more than hardly", Hardly, 1.3, 2, More},
		{"the same", Same, 0.96, 1.04, Holds},
		{"not the same", Same, 1.06, 1.1, More},
		{"2 to 3 times", Times(2, 3), 2.4, 2.6, Holds},
		{"77 times", Times(2, 3), 70, 80, More},
		{"slower, where 1.2 times is claimed", Times(1.2, 1.2), 0.85, 0.9, Opposite},
		{"an end of 2 to 3 times", Times(2, 3), 4.2, 4.8, Open},
		{"less than 2 times", Times(2, 3), 1.1, 1.3, Less},
		{"no interval", Faster, math.NaN(), math.NaN(), TooFew},
		{"an unbounded interval", Faster, 2, math.Inf(1), TooFew},
		{"no time", Faster, 0, 2, TooFew},
		{"an inverted interval", Faster, 3, 2, TooFew},
	} {
		if got := test.claimed.Evaluate(test.lo, test.hi); got != test.want {
			t.Errorf("%s (%v–%v): %d, want %d", test.name, test.lo, test.hi, got, test.want)
		}
	}
}

func TestVerdicts(t *testing.T) {
	for _, test := range []struct {
		all, decided, holds, opposite int
		want                          Verdict
	}{
		{0, 0, 0, 0, Unmeasured},
		{3, 3, 3, 0, Supported}, {4, 3, 3, 0, Supported}, {2, 2, 2, 0, Undecided}, {7, 3, 3, 0, Undecided},
		{3, 3, 0, 3, Reversed}, {2, 2, 0, 2, Undecided}, {7, 3, 0, 3, Refuted},
		{3, 3, 2, 1, Mixed}, {3, 3, 1, 2, Mixed}, {3, 3, 0, 0, Refuted}, {3, 3, 0, 1, Refuted}, {3, 0, 0, 0, Undecided},
	} {
		if got := verdict(test.all, test.decided, test.holds, test.opposite, Enough); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
}
