package explain

import (
	"context"
	"slices"

	"gemm"
	"gemm/compare"
	"gemm/cuda/occupancy"
)

// SweptKernel is the kernel whose occupancy records have over each of its resources: the default tile of the rung
// doublebuffer in f32, 128×128×8 with 8×8 elements a thread and two slices of A and of B.
var SweptKernel = occupancy.Kernel{Threads: 256, Registers: 128, Shared: 2 * 4 * 8 * (128 + 128)}

// OccupancyProbes returns the occupancy of SweptKernel on a GPU of the capability, with more and with less of one
// resource, if the cases have the experiment on blocks of threads. Each step of occupancy.Sweep is a measurement.
func OccupancyProbes(capability string, cases []compare.Case) []compare.Probe {
	c, err := occupancy.ParseCapability(capability)
	asks := func(k compare.Case) bool { return k.Experiment == compare.BlockSizes }
	if err != nil || !slices.ContainsFunc(cases, asks) {
		return nil
	}
	var probes []compare.Probe
	for _, over := range []occupancy.Resource{occupancy.Threads, occupancy.Registers, occupancy.Shared} {
		steps, err := occupancy.Sweep(c, SweptKernel, over)
		if err != nil {
			return nil // limits of the capability are not known
		}
		for _, o := range steps {
			probes = append(probes, compare.Probe{
				Name: "occupancy", Unit: "share",
				Params: gemm.Params{"cc": c.String(), "over": string(over), "threads": o.Kernel.Threads,
					"regs": o.Kernel.Registers, "smem": o.Kernel.Shared},
				Samples: func(context.Context) ([]float64, error) { return []float64{o.Share}, nil },
			})
		}
	}
	return probes
}
