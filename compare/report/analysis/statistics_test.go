package analysis

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/aclements/go-moremath/stats"

	"gemm/compare/record"
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
func about(rng *rand.Rand, n int, seconds, part float64) record.Record {
	values := make([]float64, n)
	for i := range values {
		values[i] = seconds * (1 + part*(2*rng.Float64()-1))
	}
	r := samples(values...)
	r.Turn = "t"
	return r
}

func TestCompareAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, test := range []struct {
		name           string
		rows           []record.Record
		apart, bounded bool
		ratio          float64 // about, of the pair that is named
	}{
		{"the same", []record.Record{about(rng, 30, 1, 0.02), about(rng, 30, 1, 0.02), about(rng, 30, 1, 0.02)},
			false, true, 1},
		{"one apart", []record.Record{about(rng, 30, 1, 0.02), about(rng, 30, 1.5, 0.02), about(rng, 30, 1, 0.02)},
			true, false, 1.5},
		{"a little apart", []record.Record{about(rng, 30, 1, 0.001), about(rng, 30, 1.02, 0.001)}, true, true, 1.02},
		// They differ by half, but the samples are too few for a test.
		{"few samples", []record.Record{about(rng, 3, 1, 0.01), about(rng, 3, 1.5, 0.01)}, false, false, 1.5},
		// A test that finds nothing does not show that there is nothing.
		{"wide samples", []record.Record{about(rng, 12, 1, 0.5), about(rng, 12, 1, 0.5)}, false, false, 1},
		// Six samples distinguish one pair, but not one of fifteen, whose p must be 15 times less.
		{"many rows", []record.Record{about(rng, 6, 1, 0.001), about(rng, 6, 1.5, 0.001), about(rng, 6, 1, 0.001),
			about(rng, 6, 1, 0.001), about(rng, 6, 1, 0.001), about(rng, 6, 1, 0.001)}, false, false, 1.5},
		{"two rows", []record.Record{about(rng, 6, 1, 0.001), about(rng, 6, 1.5, 0.001)}, true, false, 1.5},
	} {
		got := CompareAll(test.rows)
		if apart := got.P < Significance; apart != test.apart || got.Bounded != test.bounded ||
			!(got.Ratio >= 1 && math.Abs(got.Ratio/test.ratio-1) <= 0.4*(test.ratio-0.5)) {
			t.Errorf("%s: apart %v, bounded %v, ratio %g; want %v, %v, about %g", test.name, apart, got.Bounded,
				got.Ratio, test.apart, test.bounded, test.ratio)
		}
		if got.Slow.Median < got.Fast.Median {
			t.Errorf("%s: the slow row is quicker", test.name)
		}
	}
}

// TestCompareAllTurns checks that rows that share a turn have it, and that other rows have only a
// ratio, however different their times are.
func TestCompareAllTurns(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	a, b := about(rng, 30, 1, 0.01), about(rng, 30, 3, 0.01)
	if got := CompareAll([]record.Record{a, b}); got.Turn != "t" || !(got.P < Significance) {
		t.Errorf("in turn: %+v", got)
	}
	for _, turns := range [][2]string{{"t", "u"}, {"t", ""}, {"", ""}} {
		a.Turn, b.Turn = turns[0], turns[1]
		got := CompareAll([]record.Record{a, b})
		if got.Turn != "" || got.Bounded || !math.IsNaN(got.P) ||
			!math.IsNaN(got.Lo) || !math.IsNaN(got.Hi) || !(math.Abs(got.Ratio-3) <= 0.1) {
			t.Errorf("turns %q: %+v", turns, got)
		}
	}
}

// samples returns a row with the median and interval of its samples.
func samples(values ...float64) record.Record {
	r := record.Record{Samples: values, Median: record.None()}
	if n := len(values); n > 0 {
		median, lo, hi := stats.QuantileCI(n, 0.5, 0.95).SampleCI(stats.Sample{Xs: values})
		r.Median = record.Number(median)
		if !math.IsInf(lo, 0) && !math.IsInf(hi, 0) {
			r.CI = &[2]float64{lo, hi}
		}
	}
	return r
}

func TestContrast(t *testing.T) {
	nan := math.NaN()
	e := math.E
	for _, test := range []struct {
		name   string
		a, b   record.Record
		want   Outcome
		ratio  float64
		lo, hi float64 // NaN: none
		p      float64
	}{
		// Six samples: their range is the interval of the median. All of one row above
		// all of the other: p = 2/C(12, 6).
		{"slower", samples(1, 1, 1, 1, 1, 1.1), samples(2, 2, 2, 2, 2, 2), Slower, 0.5, 0.5, 0.55, nan},
		{"quicker", samples(6, 6.1, 6.2, 6.2, 6.3, 6.4), samples(1, 1, 1, 1, 1, 1), Faster, 6.2, 6, 6.4, nan},
		// Distances of 3 and 4 on the logarithmic scale make one of 5.
		{"right angle", record.Record{Median: 1, CI: &[2]float64{math.Pow(e, -3), math.Pow(e, 4)}},
			record.Record{Median: 1, CI: &[2]float64{math.Pow(e, -3), math.Pow(e, 4)}}, TooFew, 1, math.Pow(e, -5),
			math.Pow(e, 5), nan},
		{"apart", samples(1, 2, 3, 4, 5, 6), samples(10, 11, 12, 13, 14, 15), Slower, 3.5 / 12.5, nan, nan, 2.0 / 924},
		{"the same", samples(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), samples(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), Level, 1, nan, nan, 1},
		{"all samples equal", samples(2, 2, 2, 2, 2, 2), samples(2, 2, 2, 2, 2, 2), Level, 1, 1, 1, 1},
		// Four against four: even full separation has p = 2/C(8, 4) = 0.029.
		{"too few", samples(1, 1.1, 1.2, 1.3), samples(9, 9.1, 9.2, 9.3), TooFew, 1.15 / 9.15, nan, nan, 2.0 / 70},
		{"one sample", samples(1), samples(2), TooFew, 0.5, nan, nan, 1},
		{"no samples", samples(), samples(2), TooFew, nan, nan, nan, nan},
		// Five against five are distinguishable, but have no intervals.
		{"no interval", samples(1, 1.1, 1.2, 1.3, 1.4), samples(9, 9.1, 9.2, 9.3, 9.4), Slower, 1.2 / 9.2, nan,
			nan, 2.0 / 252},
	} {
		c := Contrast(test.a, test.b)
		same := func(got, want float64) bool {
			return math.IsNaN(want) || math.Abs(got-want) <= 1e-12*math.Abs(want)
		}
		if c.Outcome != test.want || !same(c.Ratio, test.ratio) || !same(c.Lo, test.lo) || !same(c.Hi, test.hi) ||
			!same(c.P, test.p) {
			t.Errorf("%s: %+v, want outcome %d, ratio %g, interval %g to %g, p %g", test.name, c, test.want, test.ratio, test.lo,
				test.hi, test.p)
		}
		if known := test.a.CI != nil && test.b.CI != nil; known != (c.Lo <= c.Ratio && c.Ratio <= c.Hi) {
			t.Errorf("%s: the interval %g to %g of %g, want one: %v", test.name, c.Lo, c.Hi, c.Ratio, known)
		}
	}
}

// TestIntervalCovers draws pairs of skewed samples with a known ratio of medians:
// the interval holds it in at least 95 % of them.
func TestIntervalCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	draw := func(n int, scale float64) record.Record {
		values := make([]float64, n)
		for i := range values {
			values[i] = scale * (1 + rng.ExpFloat64())
		}
		return samples(values...)
	}
	const trials = 2000
	for _, n := range [][2]int{{6, 6}, {7, 12}, {10, 40}, {200, 35}} {
		held := 0
		for range trials {
			c := Contrast(draw(n[0], 3), draw(n[1], 2))
			if c.Lo <= 1.5 && 1.5 <= c.Hi {
				held++
			}
		}
		if rate := float64(held) / trials; !(rate >= 0.95) {
			t.Errorf("with %d and %d samples the interval holds the ratio in %.1f %%, want at least 95 %%", n[0], n[1], 100*rate)
		}
	}
}
