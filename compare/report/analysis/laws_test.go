package analysis

import (
	"math"
	"math/rand/v2"
	"testing"
)

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
