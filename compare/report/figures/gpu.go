package figures

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/chart"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// look is how a variant of the family is drawn: NVIDIA's library in the colour of what
// is read against.
func (d drawn) look(variant string) chart.Look {
	look := d.looks[variant]
	if analysis.Vendor(d.Variant(variant)) {
		look.Color, look.Dashes = chart.Ink, []vg.Length{5, 2}
	}
	return look
}

// drawnAt reports whether curves over n show a problem. They show cubes, but not a size next to a
// multiple of 32 that is shown itself; these have a table.
func drawnAt(rows []compare.Record, p analysis.Problem) bool {
	return p.Cube() && !slices.ContainsFunc(rows, func(r compare.Record) bool {
		return analysis.ProblemOf(r).Cube() && r.N%32 == 0 && (r.N == p.N+1 || r.N == p.N-1)
	})
}

// gpuRates is the speed over n on the GPU of the rows that compute in one arithmetic, or have its accuracy. For TF32 it
// also shows the best rung in single precision.
func (d drawn) gpuRates(typ, compute string) (chart.Curve, bool) {
	var c collection
	rows := d.Rungs(typ)
	point := func(label string, look chart.Look, r compare.Record) {
		c.add(label, look, measured(r, float64(r.N), float64(r.Gflops)/1e3))
	}
	found := false
	for _, r := range rows {
		if (r.Compute == compute || compute == typ && analysis.Emulates(r)) && drawnAt(rows, analysis.ProblemOf(r)) {
			point(analysis.Short(r.Variant), d.look(r.Variant), r)
			found = true
		}
	}
	if compute != typ && found {
		for _, p := range analysis.Problems(rows) {
			if r, ok := analysis.Quickest(rows, p, analysis.Simt); ok && drawnAt(rows, p) {
				point("best without tensor cores", chart.Look{Color: chart.Mid, Dashes: []vg.Length{2, 2}}, r)
			}
		}
	}
	pipe := compute
	if peak, ok := d.Pipe("f64-tensor"); ok && compute == "f64" && peak.Gflops > 0 {
		pipe = "f64-tensor"
		if plain, ok := d.Pipe("f64"); ok {
			flat := chart.Look{Color: chart.Mid, Dashes: []vg.Length{2, 2}, Marker: chart.Bare}
			for _, n := range c.places() {
				y := float64(plain.Gflops) / 1e3
				c.add("peak of the f64 pipe", flat, chart.Point{X: n, Y: y, Lo: y, Hi: y})
			}
		}
	}
	places := c.places()
	curve := chart.Curve{
		Title: "GPU, " + strings.ReplaceAll(compute, "tf32", "TF32"), XLabel: "n (matrices are n×n)", YLabel: "TFLOP/s",
		Sizes: places, LogY: true, Series: c, Top: true,
	}
	if peak, ok := d.Pipe(pipe); ok {
		curve.Limit = chart.Limit{
			Level: float64(peak.Gflops) / 1e3,
			Label: fmt.Sprintf("measured peak, %s pipe: %s TFLOP/s", pipe, number.Significant(float64(peak.Gflops)/1e3)),
		}
	}
	return curve, found && len(places) >= 2
}

// hostCurve is the speed over n of the processor and of the GPU, with copies and without.
func (d drawn) hostCurve(typ string) (chart.Curve, bool) {
	var c collection
	add := func(label string, color int, n int, t float64) {
		if compare.Number(t).Known() && t > 0 {
			y := 2 * float64(n) * float64(n) * float64(n) / t / 1e9
			c.add(label, chart.LookOf(color), chart.Point{X: float64(n), Y: y, Lo: y, Hi: y})
		}
	}
	rows := d.Rungs(typ)
	for _, f := range d.Facings(typ) {
		if !drawnAt(rows, f.Problem) {
			continue
		}
		add("GPU, kernel alone", 0, f.N, float64(f.Kernel.Median))
		add("GPU, copies overlapped", 1, f.N, analysis.Overlapped(f.Copied))
		add("GPU, copies apart", 2, f.N, analysis.CopiedApart(f.Copied))
		if f.CPU.Speed() {
			add("processor", 3, f.N, float64(f.CPU.Median))
		}
	}
	places := c.places()
	return chart.Curve{
		Title: typ + ": processor and GPU, from the memory of the host", XLabel: "n (matrices are n×n)", YLabel: "GFLOP/s",
		Sizes: places, LogY: true, Series: c,
	}, len(places) >= 2
}

// gpuDrawings adds the figures of the chapter on the GPU.
func gpuDrawings(d drawn, add adder) {
	if !d.HasGPU() {
		return
	}
	ensembleDrawings(d, analysis.OnGPU, add)
	for _, typ := range d.GPUTypes() {
		ch, ok := d.gpuRates(typ, typ)
		add("gpu-rates-"+typ, "drawing.gpu-rates", ch, ok, text.Args{"Type": typ})
		if typ == "f32" {
			ch, ok = d.gpuRates(typ, "tf32")
			add("gpu-rates-tf32", "drawing.gpu-rates-tf32", ch, ok)
		}
		ch, ok = d.hostCurve(typ)
		add("gpu-host-"+typ, "drawing.gpu-host", ch, ok, text.Args{"Type": typ})
	}
	insideDrawings(d, add)
	d.occupiedDrawings(add)
}
