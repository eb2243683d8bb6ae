package analysis

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/aclements/go-moremath/stats"

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
		want  SpreadOutcome
		pairs int
		apart int
		ratio float64 // about, of the pair that is named
	}{
		{"the same", []compare.Record{about(rng, 30, 1, 0.02), about(rng, 30, 1, 0.02), about(rng, 30, 1, 0.02)},
			Same, 3, 0, 1},
		{"one apart", []compare.Record{about(rng, 30, 1, 0.02), about(rng, 30, 1.5, 0.02), about(rng, 30, 1, 0.02)},
			Differ, 3, 2, 1.5},
		{"a little apart", []compare.Record{about(rng, 30, 1, 0.001), about(rng, 30, 1.02, 0.001)}, Slight, 1, 1, 1.02},
		// They differ by half, but the samples are too few to tell.
		{"few samples", []compare.Record{about(rng, 3, 1, 0.01), about(rng, 3, 1.5, 0.01)}, Untold, 1, 0, 1.5},
		// A test that finds nothing does not show that there is nothing.
		{"wide samples", []compare.Record{about(rng, 12, 1, 0.5), about(rng, 12, 1, 0.5)}, Untold, 1, 0, 1},
		// Six samples tell one pair apart but not one of fifteen, whose p must be 15 times less.
		{"many rows", []compare.Record{about(rng, 6, 1, 0.001), about(rng, 6, 1.5, 0.001), about(rng, 6, 1, 0.001),
			about(rng, 6, 1, 0.001), about(rng, 6, 1, 0.001), about(rng, 6, 1, 0.001)}, Untold, 15, 0, 1.5},
		{"two rows", []compare.Record{about(rng, 6, 1, 0.001), about(rng, 6, 1.5, 0.001)}, Differ, 1, 1, 1.5},
	} {
		got := compete(test.rows)
		if got.Outcome != test.want || got.Pairs != test.pairs || got.Apart != test.apart ||
			!(got.Ratio >= 1 && math.Abs(got.Ratio/test.ratio-1) <= 0.4*(test.ratio-0.5)) {
			t.Errorf("%s: outcome %d, %d of %d apart, ratio %g; want %d, %d of %d, about %g", test.name, got.Outcome, got.Apart,
				got.Pairs, got.Ratio, test.want, test.apart, test.pairs, test.ratio)
		}
		if got.Slow.Median < got.Quick.Median {
			t.Errorf("%s: the slow row is quicker", test.name)
		}
	}
}

// TestCompeteTurn checks that rows that share a turn have it, and that other rows have only a
// ratio, however different their times are.
func TestCompeteTurn(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	a, b := about(rng, 30, 1, 0.01), about(rng, 30, 3, 0.01)
	if got := compete([]compare.Record{a, b}); got.Turn != "t" || got.Outcome != Differ {
		t.Errorf("in turn: %+v", got)
	}
	for _, turns := range [][2]string{{"t", "u"}, {"t", ""}, {"", ""}} {
		a.Turn, b.Turn = turns[0], turns[1]
		got := compete([]compare.Record{a, b})
		if got.Turn != "" || got.Outcome != Untold || got.Apart != 0 || got.Bounded || !math.IsNaN(got.P) ||
			!math.IsNaN(got.Lo) || !math.IsNaN(got.Hi) || !(math.Abs(got.Ratio-3) <= 0.1) {
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
		want   Outcome
		ratio  float64
		lo, hi float64 // NaN: none
		p      float64
	}{
		// Six samples: their range is the interval of the median. All of one row above
		// all of the other: p = 2/C(12, 6).
		{"slower", samples(1, 1, 1, 1, 1, 1.1), samples(2, 2, 2, 2, 2, 2), Slower, 0.5, 0.5, 0.55, nan},
		{"quicker", samples(6, 6.1, 6.2, 6.2, 6.3, 6.4), samples(1, 1, 1, 1, 1, 1), Quicker, 6.2, 6, 6.4, nan},
		// Distances of 3 and 4 on the logarithmic scale make one of 5.
		{"right angle", compare.Record{Median: 1, CI: &[2]float64{math.Pow(e, -3), math.Pow(e, 4)}},
			compare.Record{Median: 1, CI: &[2]float64{math.Pow(e, -3), math.Pow(e, 4)}}, TooFew, 1, math.Pow(e, -5),
			math.Pow(e, 5), nan},
		{"apart", samples(1, 2, 3, 4, 5, 6), samples(10, 11, 12, 13, 14, 15), Slower, 3.5 / 12.5, nan, nan, 2.0 / 924},
		{"the same", samples(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), samples(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), Level, 1, nan, nan, 1},
		{"all samples equal", samples(2, 2, 2, 2, 2, 2), samples(2, 2, 2, 2, 2, 2), Level, 1, 1, 1, 1},
		// Four against four: even full separation has p = 2/C(8, 4) = 0.029.
		{"too few", samples(1, 1.1, 1.2, 1.3), samples(9, 9.1, 9.2, 9.3), TooFew, 1.15 / 9.15, nan, nan, 2.0 / 70},
		{"one sample", samples(1), samples(2), TooFew, 0.5, nan, nan, 1},
		{"no samples", samples(), samples(2), TooFew, nan, nan, nan, nan},
		// Five against five can be told apart, but have no intervals.
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
			if o := Contrast(a, b).Outcome; o == Quicker || o == Slower {
				claimed++
			}
		}
		if rate := float64(claimed) / trials; !(rate <= 0.016) { // 1 % and three standard deviations
			t.Errorf("with %d samples a difference that is not there is claimed in %.1f %%", n, 100*rate)
		}
	}
}

// TestLaws fits times that follow a law exactly.
func TestLaws(t *testing.T) {
	threads := []int{2, 3, 4, 8, 16}
	for _, serial := range []float64{-0.04, 0, 0.01, 0.3, 1} {
		var relative, scaled []float64
		for _, p := range threads {
			relative = append(relative, serial+(1-serial)/float64(p))
			scaled = append(scaled, float64(p)-serial*float64(p-1))
		}
		for name, l := range map[string]law{"Amdahl": amdahl(threads, relative), "Gustafson": gustafson(threads, scaled)} {
			if !(math.Abs(l.Serial-serial) <= 1e-12) || !(l.Largest <= 1e-12) || !(l.Hi-l.Lo <= 1e-12) ||
				len(l.Residual) != len(threads) {
				t.Errorf("%s's law of %g: %+v", name, serial, l)
			}
		}
		for i, p := range threads {
			if e := KarpFlatt(1/relative[i], p); !(math.Abs(e-serial) <= 1e-12) {
				t.Errorf("Karp and Flatt's fraction is %g on %d threads, want %g", e, p, serial)
			}
		}
	}
}

// TestOnePoint checks the serial fraction of a single point: the formula of Karp and Flatt, and no
// interval.
func TestOnePoint(t *testing.T) {
	l := amdahl([]int{4}, []float64{0.4})
	if !(math.Abs(l.Serial-KarpFlatt(2.5, 4)) <= 1e-12) || !math.IsNaN(l.Lo) || !math.IsNaN(l.Hi) ||
		!(l.Largest <= 1e-12) {
		t.Errorf("%+v", l)
	}
}

// TestResiduals checks that a residual is the measured value divided by the fitted one, minus 1,
// and that relative errors have equal weight: the fraction of two points is between theirs.
func TestResiduals(t *testing.T) {
	l := amdahl([]int{2, 16}, []float64{0.6, 0.1})
	if !(l.Serial > KarpFlatt(10, 16) && l.Serial < KarpFlatt(1/0.6, 2)) {
		t.Errorf("a fraction of %g", l.Serial)
	}
	for i, p := range []float64{2, 16} {
		want := []float64{0.6, 0.1}[i]/(l.Serial+(1-l.Serial)/p) - 1
		if !(math.Abs(l.Residual[i]-want) <= 1e-12) {
			t.Errorf("residual %d is %g, want %g", i, l.Residual[i], want)
		}
	}
	if want := math.Max(math.Abs(l.Residual[0]), math.Abs(l.Residual[1])); l.Largest != want {
		t.Errorf("the largest is %g, want %g", l.Largest, want)
	}
}

// TestLawCovers draws times with relative noise about a law, while the time on one thread is exact.
// The interval must contain the true fraction in 95 % of the draws.
func TestLawCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	threads := []int{2, 4, 8, 16}
	const trials, serial = 4000, 0.05
	for name, draw := range map[string]func(noise func() float64) law{
		"Amdahl": func(noise func() float64) law {
			var relative []float64
			for _, p := range threads {
				relative = append(relative, (serial+(1-serial)/float64(p))*noise())
			}
			return amdahl(threads, relative)
		},
		"Gustafson": func(noise func() float64) law {
			var scaled []float64
			for _, p := range threads {
				scaled = append(scaled, (float64(p)-serial*float64(p-1))*noise())
			}
			return gustafson(threads, scaled)
		},
	} {
		held := 0
		for range trials {
			l := draw(func() float64 { return 1 + 0.01*rng.NormFloat64() })
			if l.Lo <= serial && serial <= l.Hi {
				held++
			}
		}
		if rate := float64(held) / trials; !(rate >= 0.94 && rate <= 0.965) {
			t.Errorf("%s: what the scatter leaves holds the fraction in %.1f %%, want 95 %%", name, 100*rate)
		}
	}
}

// TestQuantiles compares the p value of quantiles of two rows with that of all samples, when the rows differ little, and
// wants the counts of all to decide whether they are too few.
func TestQuantiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	a, b := about(rng, 400, 1, 0.02), about(rng, 400, 1.004, 0.02)
	all := rankTest(a, b)
	for _, r := range []*compare.Record{&a, &b} {
		slices.Sort(r.Samples)
		kept := make([]float64, 29)
		for i := range kept {
			kept[i] = r.Samples[i*(len(r.Samples)-1)/28]
		}
		r.Samples, r.Sampled = kept, &compare.Sampled{Count: 400}
	}
	got := rankTest(a, b)
	if !(got > all/4 && got < 4*all) {
		t.Errorf("p of quantiles is %g, and of all samples %g", got, all)
	}
	a.Sampled, b.Sampled = nil, nil
	if few := rankTest(a, b); !(few > 10*all) {
		t.Errorf("p of 29 samples is %g, no more than that of 400, %g", few, all)
	}
	x, y := about(rng, 2, 1, 0.001), about(rng, 2, 2, 0.001)
	if c := Contrast(x, y); c.Outcome != TooFew {
		t.Errorf("two samples a row: outcome %d, want too few", c.Outcome)
	}
	x.Sampled, y.Sampled = &compare.Sampled{Count: 50}, &compare.Sampled{Count: 50}
	if c := Contrast(x, y); c.Outcome != Slower {
		t.Errorf("quantiles of 50 samples a row: outcome %d, want slower", c.Outcome)
	}
	m := sampledRow(compare.Measurement{Samples: []float64{1, 2, 3},
		Sampled: &compare.Sampled{Count: 99, CI: &[2]float64{1.5, 2.5}}})
	if m.Count() != 99 || m.Median != 2 || m.CI == nil || *m.CI != [2]float64{1.5, 2.5} {
		t.Errorf("a packed measurement is %+v", m)
	}
}
