package figures

import (
	"fmt"
	"image/color"
	"slices"
	"strings"

	"gemm/compare/report/analysis"
	"gemm/compare/report/chart"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
	"gemm/parallel/timeline"
)

// insideSteps are what groups of warps do inside of a kernel.
var insideSteps = []string{timeline.Waiting, "copy", "multiply", "store"}

// insideChart is what the groups of warps on a multiprocessor did around the end of a tile.
func insideChart(crews []analysis.Crew) (chart.Lanes, bool) {
	const micro = 1e6
	lanes := chart.Lanes{XLabel: "time, µs (faint: nothing noted)", YLabel: "warps", Room: ensembleRoom,
		Kinds: insideSteps, Colors: []color.RGBA{chart.Mid, chart.Palette[1], chart.Palette[0], chart.Palette[2]}}
	for _, c := range crews {
		from, to := c.Window()
		if !(to > from) {
			continue
		}
		panel := chart.Panel{End: micro * (to - from), Lanes: make([][]chart.Busy, len(c.Lanes)),
			Label: fmt.Sprintf("%s: a slice of k in %s", analysis.Algorithm(c.Variant), number.Seconds(c.Step()))}
		for i, lane := range c.Lanes {
			panel.Names = append(panel.Names, lane.Name)
			for _, s := range lane.Steps {
				if kind := slices.Index(insideSteps, s.Name); kind >= 0 && s.End > from && s.Begin < to {
					panel.Lanes[i] = append(panel.Lanes[i],
						chart.Busy{From: micro * (max(s.Begin, from) - from), To: micro * (min(s.End, to) - from), Kind: kind})
				}
			}
		}
		lanes.Panels = append(lanes.Panels, panel)
	}
	if len(lanes.Panels) > 0 {
		lanes.Title = fmt.Sprintf("one multiprocessor at the end of a tile, %s, %s", crews[0].Type,
			crews[0].Shape.Label())
	}
	return lanes, len(lanes.Panels) > 0
}

// errorChart is the error of each row at one size over its speed, by the precision of its arithmetic.
func (d drawn) errorChart() (chart.Curve, bool) {
	rows := d.Accuracies()
	var c collection
	found := map[string]bool{}
	for i, precision := range analysis.Precisions {
		for _, own := range []bool{true, false} {
			for _, r := range rows {
				if r.Compute != precision || analysis.Ours(r) != own {
					continue
				}
				look := chart.Look{Color: chart.Palette[i%len(chart.Palette)], Marker: chart.Disc}
				label := strings.ReplaceAll(precision, "tf32", "TF32")
				if !own {
					look.Marker = chart.Ring
					label += ", libraries"
				}
				found[precision] = true
				c.add(label, look, measured(r, float64(r.Gflops)/1e3, float64(r.Residual)))
			}
		}
	}
	for _, s := range c {
		for i := range s.Points { // an interval of the speed is no interval of the error
			s.Points[i].Lo, s.Points[i].Hi = s.Points[i].Y, s.Points[i].Y
		}
	}
	curve := chart.Curve{XLabel: "TFLOP/s", YLabel: "largest error / (|A||B|)", LogY: true, Scattered: true, Series: c}
	if len(rows) > 0 {
		curve.Title = fmt.Sprintf("GPU, n = %d: error over speed", rows[0].N)
	}
	return curve, len(found) >= 2
}

// insideDrawings adds the figures that explain kernels on a GPU.
func insideDrawings(d drawn, add adder) {
	for _, typ := range d.GPUTypes() {
		lanes, ok := insideChart(d.Crews(typ))
		add("gpu-inside-"+typ, "drawing.gpu-inside", lanes, ok, text.Args{"Type": typ})
	}
	curve, ok := d.errorChart()
	add("gpu-errors", "drawing.gpu-errors", curve, ok)
}
