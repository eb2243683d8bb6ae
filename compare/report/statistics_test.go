package report

import (
	"math"
	"math/rand/v2"
	"testing"

	"gemm/compare"
)

func samples(values ...float64) compare.Record {
	r := compare.Record{Samples: values, Median: compare.None()}
	if len(values) > 0 {
		r.Median = compare.Number(values[len(values)/2])
	}
	return r
}

func TestContrast(t *testing.T) {
	seven := samples(7, 7.1, 7.2, 7.3, 7.4, 7.5, 7.6)
	ten := samples(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	for _, test := range []struct {
		name   string
		a, b   compare.Record
		want   outcome
		lo, hi float64 // NaN: none
		p      float64
	}{
		// Seven samples: order statistics 1 and 7 enclose the median with 1 − 2·2⁻⁷ =
		// 0.984 ≥ √0.95. All of one row above all of the other: p = 2/C(14, 7).
		{"slower", samples(1, 1.01, 1.02, 1.03, 1.04, 1.05, 1.06), samples(2, 2.01, 2.02, 2.03, 2.04, 2.05, 2.06), slower, 1 / 2.06, 1.06 / 2, 2.0 / 3432},
		{"quicker", seven, samples(1, 1.01, 1.02, 1.03, 1.04, 1.05, 1.06), quicker, 7 / 1.06, 7.6 / 1, 2.0 / 3432},
		// Ten: 2 and 9, with 1 − 2·(1 + 10)/2¹⁰ = 0.979.
		{"the same", ten, ten, level, 2.0 / 9, 9.0 / 2, 1},
		{"all samples equal", samples(2, 2, 2, 2, 2, 2, 2), samples(2, 2, 2, 2, 2, 2, 2), level, 1, 1, 1},
		// Four against four: even full separation has p = 2/C(8, 4) = 0.029.
		{"too few", samples(1, 1.1, 1.2, 1.3), samples(9, 9.1, 9.2, 9.3), tooFew, math.NaN(), math.NaN(), 2.0 / 70},
		{"one sample", samples(1), samples(2), tooFew, math.NaN(), math.NaN(), 1},
		{"no samples", samples(), samples(2), tooFew, math.NaN(), math.NaN(), math.NaN()},
		// Five against five can be told apart, but give no interval.
		{"no interval", samples(1, 1.1, 1.2, 1.3, 1.4), samples(9, 9.1, 9.2, 9.3, 9.4), slower, math.NaN(), math.NaN(), 2.0 / 252},
	} {
		c := contrast(test.a, test.b)
		same := func(x, y float64) bool {
			return math.IsNaN(x) && math.IsNaN(y) || math.Abs(x-y) <= 1e-12*math.Abs(y)
		}
		if c.Outcome != test.want || !same(c.Lo, test.lo) || !same(c.Hi, test.hi) || !same(c.P, test.p) {
			t.Errorf("%s: %+v, want outcome %d, interval %g to %g, p %g", test.name, c, test.want, test.lo, test.hi, test.p)
		}
	}
}

// TestIntervalCovers draws pairs of skewed samples with a known ratio of medians:
// the interval holds it in at least 95 % of them.
func TestIntervalCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	draw := func(n int, scale float64) compare.Record {
		r := compare.Record{}
		for range n {
			r.Samples = append(r.Samples, scale*(1+rng.ExpFloat64()))
		}
		r.Median = 1
		return r
	}
	const trials = 2000
	for _, n := range [][2]int{{7, 7}, {10, 40}, {200, 35}} {
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
