package run

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/gemmtest"
)

// TestProbes stores the measurements twice, as two starts of one run do: they are on disk once, with the finite
// samples, or with the reason why there are none.
func TestProbes(t *testing.T) {
	of := func(p gemm.Params, samples []float64, err error) Probe {
		return Probe{Name: "fork-join", Params: p, Unit: "ns",
			Samples: func(context.Context) ([]float64, error) { return samples, err }}
	}
	calls := 0
	probes := []Probe{
		of(gemm.Params{"threads": 2}, []float64{3, math.Inf(1), 1, math.NaN(), 2}, nil),
		of(gemm.Params{"runtime": "libgomp"}, nil, gemm.Unavailablef("no C compiler")),
		{Name: "micro-kernel", Params: gemm.Params{"type": "f64"}, Flops: 100, Call: func() {
			calls++
			for begin := time.Now(); time.Since(begin) < 20*time.Microsecond; {
			}
		}},
	}
	var store record.Store
	for range 2 {
		found, err := MeasureProbes(t.Context(), probes, "host", "run", time.Millisecond)
		if err == nil {
			err = store.Put(record.Document{Measurements: found})
		}
		gemmtest.Must(t, err)
	}
	if _, err := store.Encode(); err != nil {
		t.Error(err)
	}
	ms := store.Document().Measurements
	if len(ms) != 3 || ms[0].Unit != "ns" || !slices.Equal(ms[0].Samples, []float64{3, 1, 2}) || ms[0].Reason != "" ||
		len(ms[1].Samples) != 0 || ms[1].Reason != "no C compiler" {
		t.Fatalf("measurements %+v, want the finite samples in ns, and the reason why the second has no samples", ms)
	}
	if m := ms[2]; calls == 0 || m.Host != "host" || m.Run != "run" || len(m.Samples) < 6 ||
		!(m.Samples[0] > 0 && m.Samples[0] <= 100/20e-6/1e9) {
		t.Errorf("%d calls, measured %+v, want at most 5e-3 GFLOP/s", calls, m)
	}
}

// TestOccupancyProbes wants all steps of three resources, with the kernel itself among those over each, and none if no
// case asks for them or the capability is not known.
func TestOccupancyProbes(t *testing.T) {
	blocks := []plan.Case{{Key: record.Key{Experiment: record.BlockSizes}}}
	of := map[any][]float64{}
	for _, p := range OccupancyProbes("9.0", blocks) {
		samples, err := p.Samples(t.Context())
		if err != nil || len(samples) != 1 || p.Params["cc"] != "9.0" {
			t.Fatalf("%v: %v, %v", p.Params, samples, err)
		}
		of[p.Params["over"]] = append(of[p.Params["over"]], samples[0])
		if p.Params["over"] == "registers" && p.Params["regs"] == 128 && samples[0] != 0.25 {
			t.Errorf("with 128 registers %v of the warps are busy, want 2 blocks of 8 in 64", samples[0])
		}
	}
	if len(of) != 3 || len(of["threads"]) != 32 || len(of["registers"]) != 32 || len(of["shared memory"]) != 3 {
		t.Errorf("the steps are %v", of)
	}
	if OccupancyProbes("9.0", nil) != nil {
		t.Error("there are probes that no case asks for")
	}
	if OccupancyProbes("1.0", blocks) != nil || OccupancyProbes("", blocks) != nil {
		t.Error("there are probes of a GPU that is not known")
	}
}
