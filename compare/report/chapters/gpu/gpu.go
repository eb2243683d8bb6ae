// Package gpu has the chapters on GPUs and on codes.
package gpu

import (
	"math"
	"slices"
	"strings"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/chapters"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
	"gemm/cuda/usage"
)

// builder builds the sections of this package.
type builder struct{ *chapters.Builder }

// Sections are the sections about the family cuda on one host: the speed and the gain of the rungs,
// their explanation, and the cost to copy operands to a GPU.
func Sections(base *chapters.Builder, v *analysis.View) []document.Section {
	b := &builder{base}
	if !v.HasFamily(analysis.OnGPU) {
		return nil
	}
	switch {
	case analysis.OnlyPlanned(b.Views):
		return nil // Design is there instead
	case !v.HasGPU():
		return []document.Section{b.noGPU(v)}
	}
	var sections []document.Section
	for _, part := range []func(*analysis.View) (document.Section, bool){
		b.gpuMachine, b.gpuTable1, b.gpuLadder, b.gpuWhy, b.gpuShapes, b.gpuWaves, b.gpuInside, b.gpuSteps, b.gpuErrors,
		b.gpuPrecision, b.gpuTypes, b.gpuRagged,
		b.lab, b.gpuTuned, b.gpuSettings, b.occupancies, b.gpuChains, b.gpuBatches, b.gpuHost,
	} {
		if s, ok := part(v); ok {
			sections = append(sections, s)
		}
	}
	return sections
}

// noGPU says why none of the rows of one host was timed.
func (b *builder) noGPU(v *analysis.View) document.Section {
	s := b.Of(v, "gpu-none", "gpu-none.title")
	s.Text(b.untimed(v.Pick(analysis.ByGPU)))
	return s
}

// untimed says why none of the rows was timed.
func (b *builder) untimed(rows []compare.Record) document.Text {
	var reasons []document.Text
	for _, r := range rows {
		if reason := b.Note(r.Reason); reason != "" && !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	if len(reasons) == 0 {
		reasons = []document.Text{number.Absent}
	}
	return b.Say("gpu-none.why", text.Args{"Rows": b.Count("rows", len(rows)), "Reasons": b.Clauses(reasons)})
}

// gpuMachine is the table of the GPU's properties and of its clocks during the run.
func (b *builder) gpuMachine(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "gpu-machine", "gpu-machine.title")
	s.Text(b.Say("gpu-machine.intro"))
	t := document.Table{ID: "table-gpu-machine" + v.Suffix, Caption: b.Say("gpu-machine.caption"),
		Columns: b.Columns("property", "value"), Command: b.Program + " info --peak"}
	row := func(key string, value document.Text) {
		if value != "" {
			t.Rows = append(t.Rows, document.Row{Cells: []document.Text{b.Say(key), value}})
		}
	}
	row("machine.gpus", document.Escape(strings.Join(v.GPUs, ", ")))
	row("machine.driver", document.Escape(v.Driver))
	row("machine.cuda", document.Escape(v.CUDA))
	for _, name := range []string{"f32", "tf32", "f16", "bf16", "int8", "f64", "f64-tensor"} {
		if peak, ok := v.Pipe(name); ok {
			unit := "gpu-machine.tflops"
			if name == "int8" {
				unit = "gpu-machine.tops"
			}
			row("gpu-machine."+name, b.Say(unit, text.Args{"Speed": number.Significant(float64(peak.Gflops) / 1e3)}))
		}
	}
	var fastest compare.Number
	for _, w := range v.Bandwidths {
		if w.Unit == "gpu" && w.Name == "copy" && w.GBps.Known() {
			fastest = max(fastest, w.GBps)
		}
	}
	if fastest > 0 {
		row("gpu-machine.copy", b.Say("gpu-machine.gbps", text.Args{"Bandwidth": number.Significant(float64(fastest))}))
	}
	rows := analysis.Timed(v.Pick(analysis.ByGPU))
	slowed, warned := 0, 0
	for _, r := range rows {
		if r.GPU != nil && r.GPU.Throttled != "" {
			slowed++
		} else if len(r.Warnings) > 0 {
			warned++
		}
	}
	if low, high := extent(rows, func(g usage.Device) int { return g.Clock }); high > 0 {
		row("gpu-machine.clock", b.Say("gpu-machine.mhz", text.Args{"Low": low, "High": high}))
	}
	if low, high := extent(rows, powerOf); high > 0 {
		row("gpu-machine.power", b.Say("gpu-machine.watts", text.Args{"Low": low, "High": high}))
	}
	row("gpu-machine.held", b.Say("gpu-machine.of", text.Args{"Rows": slowed, "All": len(rows)}))
	row("gpu-machine.warned", b.Say("gpu-machine.of", text.Args{"Rows": warned, "All": len(rows)}))
	s.Add(t)
	if _, known := v.Pipe("tf32"); !known && slices.ContainsFunc(rows,
		func(r compare.Record) bool { return r.Compute == "tf32" }) {
		s.Text(b.Say("gpu-machine.notf32"))
	}
	return s, true
}

// powerOf returns the power that the GPU took, in watts; 0: it is not known.
func powerOf(g usage.Device) int { return int(math.Round(g.Power)) }

// extent returns the smallest and the largest of what is known of the rows; 0 if nothing is.
func extent(rows []compare.Record, of func(g usage.Device) int) (low, high int) {
	for _, r := range rows {
		if r.GPU == nil || of(*r.GPU) == 0 {
			continue
		}
		x := of(*r.GPU)
		high = max(high, x)
		if low == 0 || x < low {
			low = x
		}
	}
	return low, high
}
