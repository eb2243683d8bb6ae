package run

import (
	"testing"

	"gemm/compare/plan"
	"gemm/compare/record"
)

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
