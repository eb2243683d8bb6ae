package run

import (
	"cmp"
	"context"
	"slices"
	"time"

	"gemm/compare/plan"
	"gemm/internal/occupancy"

	"gemm"
	"gemm/compare/record"
	"gemm/internal/sample"
)

// Probe is a measurement that is not a product, for example of the packing alone.
type Probe struct {
	Name   string
	Params gemm.Params
	// Call is repeated like a product. One call counts as Flops; the record has the rates in GFLOP/s.
	Call  func()
	Flops float64
	// Samples, if not nil, replaces Call. It returns samples in Unit. If it returns an error, the
	// record has the reason instead of samples.
	Samples func(ctx context.Context) ([]float64, error)
	Unit    string
}

// MeasureProbes measures the probes, for the records of the host and the run. Those without Samples are repeated for
// the given time each.
func MeasureProbes(ctx context.Context, probes []Probe, host, run string, each time.Duration) ([]record.Measurement,
	error) {
	var out []record.Measurement
	for _, p := range probes {
		m := record.Measurement{Host: host, Run: run, Name: p.Name, Params: p.Params, Unit: cmp.Or(p.Unit, "GFLOP/s")}
		samples := p.Samples
		if samples == nil {
			samples = func(ctx context.Context) ([]float64, error) { return p.rates(ctx, each) }
		}
		var err error
		if m.Samples, err = samples(ctx); err != nil {
			if ctx.Err() != nil {
				break
			}
			m.Reason = err.Error()
		}
		out = append(out, m)
	}
	return out, ctx.Err()
}

// rates repeats Call for the given time and returns its rates.
func (p Probe) rates(ctx context.Context, each time.Duration) ([]float64, error) {
	s := sample.Sampler{Call: sample.Timed(func(context.Context) error { p.Call(); return nil })}
	if _, err := s.Warm(ctx); err != nil {
		return nil, err
	}
	err := s.Burst(ctx, sample.Budget{Reps: sample.MinForInterval, Time: each})
	var rates []float64
	for _, seconds := range s.Seconds {
		rates = append(rates, p.Flops/seconds/1e9)
	}
	return rates, err
}

// SweptKernel is the kernel whose occupancy records have over each of its resources: the default tile of the rung
// doublebuffer in f32, 128×128×8 with 8×8 elements a thread and two slices of A and of B.
var SweptKernel = occupancy.Kernel{Threads: 256, Registers: 128, Shared: 2 * 4 * 8 * (128 + 128)}

// OccupancyProbes returns the occupancy of SweptKernel on a GPU of the capability, with more and with less of one
// resource, if the cases have the experiment on blocks of threads. Each step of occupancy.Sweep is a measurement.
func OccupancyProbes(capability string, cases []plan.Case) []Probe {
	c, err := occupancy.ParseCapability(capability)
	asks := func(k plan.Case) bool { return k.Experiment == record.BlockSizes }
	if err != nil || !slices.ContainsFunc(cases, asks) {
		return nil
	}
	var probes []Probe
	for _, over := range []occupancy.Resource{occupancy.Threads, occupancy.Registers, occupancy.Shared} {
		steps, err := occupancy.Sweep(c, SweptKernel, over)
		if err != nil {
			return nil // limits of the capability are not known
		}
		for _, o := range steps {
			probes = append(probes, Probe{
				Name: "occupancy", Unit: "share",
				Params: gemm.Params{"cc": c.String(), "over": string(over), "threads": o.Kernel.Threads,
					"regs": o.Kernel.Registers, "smem": o.Kernel.Shared},
				Samples: func(context.Context) ([]float64, error) { return []float64{o.Share}, nil },
			})
		}
	}
	return probes
}
