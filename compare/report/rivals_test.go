package report

import (
	"math"
	"math/rand/v2"
	"testing"

	"gemm/compare"
)

// TestHolm compares adjusted p values with those worked out by hand.
func TestHolm(t *testing.T) {
	nan := math.NaN()
	for _, test := range []struct{ p, want []float64 }{
		{[]float64{0.01, 0.04, 0.03, 0.005}, []float64{0.03, 0.06, 0.06, 0.02}},
		{[]float64{0.2}, []float64{0.2}},
		{[]float64{0.6, 0.7}, []float64{1, 1}},
		{[]float64{0.5, 0.01, 0.01}, []float64{0.5, 0.03, 0.03}},
		{[]float64{nan, 0.01, nan}, []float64{nan, 0.03, nan}}, // tests all the same
		{nil, nil},
	} {
		got := holm(test.p)
		for i, want := range test.want {
			if !(math.Abs(got[i]-want) <= 1e-15) && !(math.IsNaN(got[i]) && math.IsNaN(want)) {
				t.Errorf("holm(%v) = %v, want %v", test.p, got, test.want)
				break
			}
		}
	}
}

// about returns a row of n samples within a part of the seconds, all rows in one turn.
func about(rng *rand.Rand, n int, seconds, part float64) compare.Record {
	values := make([]float64, n)
	for i := range values {
		values[i] = seconds * (1 + part*(2*rng.Float64()-1))
	}
	r := samples(values...)
	r.Turn = "t"
	return r
}

func TestCompete(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, test := range []struct {
		name  string
		rows  []compare.Record
		want  spreadOutcome
		pairs int
		apart int
		ratio float64 // about, of the pair that is named
	}{
		{"the same", []compare.Record{about(rng, 30, 1, 0.02), about(rng, 30, 1, 0.02), about(rng, 30, 1, 0.02)}, same, 3, 0, 1},
		{"one apart", []compare.Record{about(rng, 30, 1, 0.02), about(rng, 30, 1.5, 0.02), about(rng, 30, 1, 0.02)}, differ, 3, 2, 1.5},
		{"a little apart", []compare.Record{about(rng, 30, 1, 0.001), about(rng, 30, 1.02, 0.001)}, slight, 1, 1, 1.02},
		// They differ by half, but the samples are too few to tell.
		{"few samples", []compare.Record{about(rng, 3, 1, 0.01), about(rng, 3, 1.5, 0.01)}, untold, 1, 0, 1.5},
		// A test that finds nothing does not show that there is nothing.
		{"wide samples", []compare.Record{about(rng, 12, 1, 0.5), about(rng, 12, 1, 0.5)}, untold, 1, 0, 1},
		// Six samples tell one pair apart but not one of fifteen, whose p must be 15 times less.
		{"many rows", []compare.Record{about(rng, 6, 1, 0.001), about(rng, 6, 1.5, 0.001), about(rng, 6, 1, 0.001), about(rng, 6, 1, 0.001), about(rng, 6, 1, 0.001), about(rng, 6, 1, 0.001)}, untold, 15, 0, 1.5},
		{"two rows", []compare.Record{about(rng, 6, 1, 0.001), about(rng, 6, 1.5, 0.001)}, differ, 1, 1, 1.5},
	} {
		got := compete(test.rows)
		if got.Outcome != test.want || got.Pairs != test.pairs || got.Apart != test.apart || !(got.Ratio >= 1 && math.Abs(got.Ratio/test.ratio-1) <= 0.4*(test.ratio-0.5)) {
			t.Errorf("%s: outcome %d, %d of %d apart, ratio %g; want %d, %d of %d, about %g", test.name, got.Outcome, got.Apart, got.Pairs, got.Ratio, test.want, test.apart, test.pairs, test.ratio)
		}
		if got.Slow.Median < got.Quick.Median {
			t.Errorf("%s: the slow row is quicker", test.name)
		}
	}
}

// TestCompeteTurn wants the turn of rows that share one, and of rows that do not a
// ratio and no more, however far they are apart.
func TestCompeteTurn(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	a, b := about(rng, 30, 1, 0.01), about(rng, 30, 3, 0.01)
	if got := compete([]compare.Record{a, b}); got.Turn != "t" || got.Outcome != differ {
		t.Errorf("in turn: %+v", got)
	}
	for _, turns := range [][2]string{{"t", "u"}, {"t", ""}, {"", ""}} {
		a.Turn, b.Turn = turns[0], turns[1]
		got := compete([]compare.Record{a, b})
		if got.Turn != "" || got.Outcome != untold || got.Apart != 0 || got.Bounded || !math.IsNaN(got.P) || !math.IsNaN(got.Lo) || !math.IsNaN(got.Hi) || !(math.Abs(got.Ratio-3) <= 0.1) {
			t.Errorf("turns %q: %+v", turns, got)
		}
	}
}

// TestCompeteErrs draws all rows from one distribution: some pair is called different
// in about 1 % of the draws, however many rows there are.
func TestCompeteErrs(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	const trials = 1000
	for _, rows := range []int{2, 4, 7} {
		claimed := 0
		for range trials {
			var drawn []compare.Record
			for range rows {
				drawn = append(drawn, about(rng, 12, 1, 0.3))
			}
			if compete(drawn).Apart > 0 {
				claimed++
			}
		}
		if rate := float64(claimed) / trials; !(rate <= 0.0194) { // 1 % and three standard deviations
			t.Errorf("of %d rows a difference that is not there is claimed in %.1f %%", rows, 100*rate)
		}
	}
}
