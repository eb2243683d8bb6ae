package report

import (
	"gemm"
	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/reporttest"
	"gemm/parallel/timeline"
)

// explained returns records of a GPU with all that explains a kernel: waves, counters and what warps note.
func explained() compare.Document {
	doc := accelerated(false)
	for i := range doc.Records {
		r := &doc.Records[i]
		if !analysis.Ours(*r) || r.GPU == nil || r.Experiment != compare.MainLadder {
			continue
		}
		r.GPU.Waves, r.GPU.Fill = 2, 0.97
		if analysis.Algorithm(r.Variant) == "warptile" && r.N == 2049 {
			r.GPU.Waves, r.GPU.Fill = 1.5, 0.72
		}
		if analysis.Algorithm(r.Variant) == "tf32-mma" && r.N == 4096 {
			const slices = 32 * 32 * 256 // of tiles of 128×128×16
			counters("smsp__inst_executed.sum", 1000.0*slices,
				"smsp__inst_executed_pipe_tensor_op_hmma.sum", 512.0*slices,
				"smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio", 0.5,
				"smsp__average_warps_issue_stalled_selected_per_issue_active.ratio", 1.0)(r)
		}
	}
	steps := func(names string, begin, each float64) (out []timeline.Step) {
		for i, name := range names {
			out = append(out, timeline.Step{Name: map[rune]string{'w': "wait", 'c': "copy", 'm': "multiply", 's': "store"}[name],
				Begin: begin + each*float64(i), End: begin + each*float64(i+1)})
		}
		return out
	}
	row := reporttest.Kernel("tf32-mma", 4096, 1e-3)
	doc.Traces = append(doc.Traces, compare.Trace{
		Key: row.Key, Run: doc.Runs[0].ID, Params: gemm.Params{}, Resolved: gemm.Params{}, Seconds: 1e-3,
		Activity: timeline.Activity{Lanes: []string{"kernels"},
			Phases: []timeline.Phase{{Name: "kernels", End: 1e-3}, {Name: "kernels", Call: "gemm", End: 1e-3}},
			Inside: []timeline.Group{
				{Role: "producer", Phases: steps("wcwcwcwc", 0, 5e-7)},
				{Role: "consumer", Warpgroup: 1, Phases: steps("wmwmwms", 5e-7, 5e-7)},
				{Role: "consumer", Warpgroup: 2, Phases: steps("wmwmwms", 6e-7, 5e-7)},
				{Role: "consumer", Warpgroup: 1, Phases: steps("wmwmwms", 5e-6, 5e-7), Block: 132},
				{Multiprocessor: 1, Role: "consumer", Warpgroup: 1, Phases: steps("wm", 5e-7, 5e-7)},
			}},
	})
	doc.Traces[len(doc.Traces)-1].Host = doc.Hosts[0].ID
	return doc
}

var insideSentences = []sentence{
	{"a GPU whose kernels are explained", explained(), nil, nil},
	{"a GPU that explains nothing", accelerated(false), nil, []string{"{#gpu-waves}", "{#gpu-inside}", "{#gpu-steps}"}},
}
