package analysis

import (
	"math"
	"testing"

	"gemm/compare"
)

func TestVerdicts(t *testing.T) {
	for _, test := range []struct {
		name  string
		cases Cases
		want  Verdict
	}{
		{"nothing", Cases{}, Unmeasured},
		{"nothing decided", Cases{Open: 4}, Undecided},
		{"one of three", Cases{For: 1, Open: 2}, Indicated},
		{"two", Cases{For: 2}, Indicated},
		{"three", Cases{For: 3, Open: 3}, Supported},
		{"for and none", Cases{For: 3, Against: 1}, Partly},
		{"for and more", Cases{For: 1, More: 1}, Partly},
		{"for and the opposite", Cases{For: 5, Reversed: 1}, Divided},
		{"no difference", Cases{Against: 3}, Refuted},
		{"no difference and the opposite", Cases{Against: 1, Reversed: 3}, Refuted},
		{"the opposite once", Cases{Reversed: 1, Open: 9}, HintReversed},
		{"the opposite", Cases{Reversed: 3}, Reversed},
		{"more", Cases{More: 4, Open: 1}, MoreThan},
		{"less", Cases{Less: 4}, LessThan},
		{"more and less", Cases{More: 2, Less: 2}, Refuted},
	} {
		if got := test.cases.Verdict(); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

func TestCasesOfClaims(t *testing.T) {
	twoToThree, slightly, faster := Claim{2 / Around, 3 * Around}, Claim{1, Slightly}, Claim{1, math.Inf(1)}
	for _, test := range []struct {
		name  string
		claim Claim
		x     Comparison
		want  Cases
	}{
		{"in the range", twoToThree, Comparison{Ratio: 2.5, Lo: 2.4, Hi: 2.6, Outcome: Quicker}, Cases{For: 1}},
		{"77 times", twoToThree, Comparison{Ratio: 77, Lo: 70, Hi: 80, Outcome: Quicker}, Cases{More: 1}},
		{"about its end", twoToThree, Comparison{Ratio: 4.5, Lo: 4.2, Hi: 4.8, Outcome: Quicker}, Cases{Open: 1}},
		{"too little", twoToThree, Comparison{Ratio: 1.2, Lo: 1.1, Hi: 1.3, Outcome: Quicker}, Cases{Less: 1}},
		{"the opposite", twoToThree, Comparison{Ratio: 0.5, Lo: 0.4, Hi: 0.6, Outcome: Slower}, Cases{Reversed: 1}},
		{"no difference", twoToThree, Comparison{Ratio: 1, Lo: 0.99, Hi: 1.01, Outcome: Level}, Cases{Against: 1}},
		{"not known", twoToThree, Comparison{Ratio: 1, Lo: 0.7, Hi: 1.4, Outcome: Level}, Cases{Open: 1}},
		{"slightly", slightly, Comparison{Ratio: 1.02, Lo: 1.01, Hi: 1.03, Outcome: Quicker}, Cases{For: 1}},
		{"not slightly", slightly, Comparison{Ratio: 1.65, Lo: 1.64, Hi: 1.66, Outcome: Quicker}, Cases{More: 1}},
		{"faster", faster, Comparison{Ratio: 50, Lo: 49, Hi: 51, Outcome: Quicker}, Cases{For: 1}},
	} {
		var got Cases
		if got.Add(test.claim, test.x); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}

func TestDrifted(t *testing.T) {
	row := func(seconds float64) compare.Record {
		return compare.Record{Median: compare.Number(seconds), CI: &[2]float64{seconds, seconds}}
	}
	for _, test := range []struct {
		a, b float64
		want Outcome
	}{{2, 1, Quicker}, {1.4, 1, TooFew}, {1, 1.4, TooFew}, {1, 2, Slower}} {
		if got := Drifted(row(test.a), row(test.b)); got.Outcome != test.want {
			t.Errorf("%v against %v: %d, want %d", test.a, test.b, got.Outcome, test.want)
		}
		if got := Drifted(row(test.a), row(test.b)).Inverse(); got.Outcome != Drifted(row(test.b), row(test.a)).Outcome {
			t.Errorf("%v against %v, exchanged: %d", test.a, test.b, got.Outcome)
		}
	}
}
