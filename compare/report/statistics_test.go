package report

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/aclements/go-moremath/stats"

	"gemm/compare"
)

// samples returns a row with the median and interval of its samples.
func samples(values ...float64) compare.Record {
	r := compare.Record{Samples: values, Median: compare.None()}
	if n := len(values); n > 0 {
		median, lo, hi := stats.QuantileCI(n, 0.5, 0.95).SampleCI(stats.Sample{Xs: values})
		r.Median = compare.Number(median)
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
		a, b   compare.Record
		want   outcome
		ratio  float64
		lo, hi float64 // NaN: none
		p      float64
	}{
		// Six samples: their range is the interval of the median. All of one row above
		// all of the other: p = 2/C(12, 6).
		{"slower", samples(1, 1, 1, 1, 1, 1.1), samples(2, 2, 2, 2, 2, 2), slower, 0.5, 0.5, 0.55, nan},
		{"quicker", samples(6, 6.1, 6.2, 6.2, 6.3, 6.4), samples(1, 1, 1, 1, 1, 1), quicker, 6.2, 6, 6.4, nan},
		// Distances of 3 and 4 on the logarithmic scale make one of 5.
		{"right angle", compare.Record{Median: 1, CI: &[2]float64{math.Pow(e, -3), math.Pow(e, 4)}},
			compare.Record{Median: 1, CI: &[2]float64{math.Pow(e, -3), math.Pow(e, 4)}}, tooFew, 1, math.Pow(e, -5), math.Pow(e, 5), nan},
		{"apart", samples(1, 2, 3, 4, 5, 6), samples(10, 11, 12, 13, 14, 15), slower, 3.5 / 12.5, nan, nan, 2.0 / 924},
		{"the same", samples(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), samples(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), level, 1, nan, nan, 1},
		{"all samples equal", samples(2, 2, 2, 2, 2, 2), samples(2, 2, 2, 2, 2, 2), level, 1, 1, 1, 1},
		// Four against four: even full separation has p = 2/C(8, 4) = 0.029.
		{"too few", samples(1, 1.1, 1.2, 1.3), samples(9, 9.1, 9.2, 9.3), tooFew, 1.15 / 9.15, nan, nan, 2.0 / 70},
		{"one sample", samples(1), samples(2), tooFew, 0.5, nan, nan, 1},
		{"no samples", samples(), samples(2), tooFew, nan, nan, nan, nan},
		// Five against five can be told apart, but have no intervals.
		{"no interval", samples(1, 1.1, 1.2, 1.3, 1.4), samples(9, 9.1, 9.2, 9.3, 9.4), slower, 1.2 / 9.2, nan, nan, 2.0 / 252},
	} {
		c := contrast(test.a, test.b)
		same := func(got, want float64) bool {
			return math.IsNaN(want) || math.Abs(got-want) <= 1e-12*math.Abs(want)
		}
		if c.Outcome != test.want || !same(c.Ratio, test.ratio) || !same(c.Lo, test.lo) || !same(c.Hi, test.hi) || !same(c.P, test.p) {
			t.Errorf("%s: %+v, want outcome %d, ratio %g, interval %g to %g, p %g", test.name, c, test.want, test.ratio, test.lo, test.hi, test.p)
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
	draw := func(n int, scale float64) compare.Record {
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
			c := contrast(draw(n[0], 3), draw(n[1], 2))
			if c.Lo <= 1.5 && 1.5 <= c.Hi {
				held++
			}
		}
		if rate := float64(held) / trials; !(rate >= 0.95) {
			t.Errorf("with %d and %d samples the interval holds the ratio in %.1f %%, want at least 95 %%", n[0], n[1], 100*rate)
		}
	}
}

// TestVerdictErrs draws both rows from one distribution: a difference is claimed
// in about 1 % of them, not more.
func TestVerdictErrs(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const trials = 3000
	for _, n := range []int{5, 12, 60} {
		claimed := 0
		for range trials {
			a, b := compare.Record{Median: 1}, compare.Record{Median: 2}
			for range n {
				a.Samples = append(a.Samples, 1+rng.ExpFloat64())
				b.Samples = append(b.Samples, 1+rng.ExpFloat64())
			}
			if o := contrast(a, b).Outcome; o == quicker || o == slower {
				claimed++
			}
		}
		if rate := float64(claimed) / trials; !(rate <= 0.016) { // 1 % and three standard deviations
			t.Errorf("with %d samples a difference that is not there is claimed in %.1f %%", n, 100*rate)
		}
	}
}
