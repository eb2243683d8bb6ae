package sample

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// planted returns n samples: of(i) for each index i.
func planted(n int, of func(i int, r *rand.Rand) float64) []float64 {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]float64, n)
	for i := range out {
		out[i] = of(i, r)
	}
	return out
}

// TestIntervalsOfDependentSamples has samples that drift, and samples of two modes. Order statistics alone
// give intervals that are too narrow: they do not contain the other mode.
func TestIntervalsOfDependentSamples(t *testing.T) {
	quiet := func(_ int, r *rand.Rand) float64 { return 1e-3 * (1 + 0.01*r.Float64()) }
	for _, test := range []struct {
		name        string
		samples     []float64
		drift, wide bool
		least, most float64 // in the interval
	}{
		{"quiet", planted(300, quiet), false, false, 1.005e-3, 1.0055e-3},
		{"drift", planted(300, func(i int, r *rand.Rand) float64 {
			return 1e-3 * (1 + 0.4*float64(i)/300 + 0.01*r.Float64())
		}), true, true, 1.05e-3, 1.35e-3},
		{"two modes, one after the other", planted(300, func(i int, r *rand.Rand) float64 {
			x := quiet(i, r)
			if i >= 180 {
				x *= 1.67
			}
			return x
		}), true, true, 1.01e-3, 1.67e-3},
		{"a step of 3 %", planted(300, func(i int, r *rand.Rand) float64 {
			x := quiet(i, r)
			if i >= 150 {
				x *= 1.03
			}
			return x
		}), true, false, 1.01e-3, 1.03e-3},
		{"two modes at random", planted(300, func(i int, r *rand.Rand) float64 {
			x := quiet(i, r)
			if r.IntN(3) == 0 {
				x *= 1.67
			}
			return x
		}), false, true, 1.007e-3, 1.008e-3},
		{"a heavy tail", planted(200, func(i int, r *rand.Rand) float64 {
			switch r.IntN(8) {
			case 0:
				return 0.8e-3 + 2e-3*r.Float64()
			case 1:
				return 20e-3 + 32e-3*r.Float64()
			}
			return 7.97e-3 + 0.03e-3*r.Float64()
		}), false, true, 7.983e-3, 7.987e-3},
		{"one short sample", append(planted(99, quiet), 0.4e-3), false, true, 1.006e-3, 1.007e-3},
	} {
		s := Summarize(test.samples)
		if s.Drift != test.drift || s.Wide() != test.wide || !(s.Lo <= test.least && s.Hi >= test.most) {
			t.Errorf("%s: drift %v, wide %v, %v in [%v, %v]; want %v, %v, and %v to %v in the interval", test.name,
				s.Drift, s.Wide(), s.Median, s.Lo, s.Hi, test.drift, test.wide, test.least, test.most)
		}
	}
}

// TestIndependentSamplesHaveNoDrift counts the sets of independent samples in which drift is seen: 1 %.
func TestIndependentSamplesHaveNoDrift(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	seen, wider := 0, 0
	const sets = 2000
	for range sets {
		samples := make([]float64, 60)
		for i := range samples {
			samples[i] = 1 + r.ExpFloat64()
		}
		s := Summarize(samples)
		if s.Drift {
			seen++
		}
		shuffled := slices.Clone(samples)
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if o := Summarize(shuffled); !s.Drift && !o.Drift && (o.Lo != s.Lo || o.Hi != s.Hi) {
			wider++
		}
	}
	if seen > sets*3/100 || wider > 0 {
		t.Errorf("drift in %d of %d sets of independent samples; %d intervals depend on the order", seen, sets, wider)
	}
	equal := planted(100, func(int, *rand.Rand) float64 { return 1 })
	if s := Summarize(equal); s.Drift || s.Wide() || s.Lo != 1 || s.Hi != 1 {
		t.Errorf("equal samples: %+v", s)
	}
}
