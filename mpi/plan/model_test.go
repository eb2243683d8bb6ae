package plan_test

import (
	"math"
	"testing"

	"gemm/mpi/plan"
)

func TestFit(t *testing.T) {
	sizes := []int{1, 64, 1 << 10, 64 << 10, 4 << 20}
	samples := func(latency, bandwidth float64, noise ...float64) (out []plan.PingPong) {
		for _, bytes := range sizes {
			for _, e := range noise {
				out = append(out, plan.PingPong{Bytes: bytes, Seconds: (latency + float64(bytes)/bandwidth) * (1 + e)})
			}
		}
		return out
	}
	within := func(got, want, part float64) bool { return math.Abs(got-want) <= part*want }
	for _, want := range []plan.Network{{Latency: 2e-6, Bandwidth: 1e10}, {Latency: 5e-4, Bandwidth: 1e7}} {
		if got := plan.Fit(samples(want.Latency, want.Bandwidth, 0)); !within(got.Latency, want.Latency, 1e-6) ||
			!within(got.Bandwidth, want.Bandwidth, 1e-6) {
			t.Errorf("Fit of exact times = %+v, want %+v", got, want)
		}
		got := plan.Fit(samples(want.Latency, want.Bandwidth, -0.05, 0, 0.05))
		if !within(got.Latency, want.Latency, 0.02) || !within(got.Bandwidth, want.Bandwidth, 0.02) {
			t.Errorf("Fit of times with noise = %+v, want %+v", got, want)
		}
	}

	for _, c := range []struct {
		name    string
		samples []plan.PingPong
		want    plan.Network
	}{
		{"none", nil, plan.Network{}},
		{"no times", []plan.PingPong{{Bytes: 8, Seconds: 0}, {Bytes: 9, Seconds: math.NaN()}}, plan.Network{}},
		{"one size", []plan.PingPong{{Bytes: 10, Seconds: 2}, {Bytes: 10, Seconds: 2}},
			plan.Network{Latency: 0, Bandwidth: 5}},
		{"no bytes", []plan.PingPong{{Bytes: 0, Seconds: 2}}, plan.Network{Latency: 2, Bandwidth: math.Inf(1)}},
		// The line through both has a latency below 0.
		{"steep", []plan.PingPong{{Bytes: 1, Seconds: 1}, {Bytes: 2, Seconds: 4}},
			plan.Network{Latency: 0, Bandwidth: 1.25 / 1.5}},
		{"falling", []plan.PingPong{{Bytes: 1, Seconds: 2}, {Bytes: 2, Seconds: 1}},
			plan.Network{Latency: 1.5 / 1.25, Bandwidth: math.Inf(1)}},
	} {
		got := plan.Fit(c.samples)
		if !(got.Latency == c.want.Latency || near(got.Latency, c.want.Latency)) ||
			!(got.Bandwidth == c.want.Bandwidth || near(got.Bandwidth, c.want.Bandwidth)) {
			t.Errorf("%s: Fit = %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestFitIsLeast: nothing near by has a smaller sum of squares.
func TestFitIsLeast(t *testing.T) {
	samples := []plan.PingPong{{1, 2e-6}, {1024, 3e-6}, {8192, 4e-6}, {65536, 12e-6}, {4 << 20, 5e-4}}
	squares := func(n plan.Network) (sum float64) {
		for _, p := range samples {
			e := (n.Latency+float64(p.Bytes)/n.Bandwidth)/p.Seconds - 1
			sum += e * e
		}
		return sum
	}
	n := plan.Fit(samples)
	for _, a := range []float64{0.99, 1, 1.01} {
		for _, b := range []float64{0.99, 1, 1.01} {
			if other := (plan.Network{Latency: a * n.Latency, Bandwidth: b * n.Bandwidth}); !(squares(n) <= squares(other)) {
				t.Errorf("%+v has %v, %+v has %v", n, squares(n), other, squares(other))
			}
		}
	}
}
