package figures

import (
	"gemm/compare/report/analysis"
	"gemm/compare/report/analysis/lab"
	"gemm/compare/report/chart"
)

// occupied is the recorded occupancy over a resource, in steps, and the f32 rungs of the ladder as they ran.
func (d drawn) occupied(over, label string, unit, least float64, ticks ...float64) (chart.Curve, bool) {
	steps := lab.Occupancies(d.View, over)
	curve := chart.Curve{Title: "Occupancy over " + label, XLabel: label, YLabel: "occupancy, %", Sizes: ticks,
		Top: true, Limit: chart.Limit{Level: 100, Label: "as many warps as a multiprocessor can hold"}}
	line := chart.Series{Label: "doublebuffer's tile", Look: chart.Look{Color: chart.Mid, Marker: chart.Bare}}
	from := least
	for _, s := range steps {
		to, y := float64(s.At(over))/unit, 100*s.Share
		if to < least {
			continue
		}
		line.Points = append(line.Points, chart.Point{X: from, Y: y, Lo: y, Hi: y},
			chart.Point{X: to, Y: y, Lo: y, Hi: y})
		from = to
	}
	curve.Series = append(curve.Series, line)
	for _, r := range d.LadderRows("f32") {
		if !analysis.Ours(r) || r.GPU == nil || !(r.GPU.Occupancy > 0) {
			continue
		}
		at := lab.Occupied{Threads: r.GPU.Threads, Registers: r.GPU.Registers, Shared: r.GPU.Shared}.At(over)
		x, y := max(least, float64(at)/unit), 100*r.GPU.Occupancy
		curve.Series = append(curve.Series, chart.Series{Label: analysis.Algorithm(r.Variant), Look: d.look(r.Variant),
			Points: []chart.Point{{X: x, Y: y, Lo: y, Hi: y}}})
	}
	return curve, len(line.Points) > 0
}

// occupiedDrawings adds the figures on occupancy.
func (d drawn) occupiedDrawings(add adder) {
	for _, f := range []struct {
		id, over, label string
		unit, least     float64
		ticks           []float64
	}{
		{"threads", "threads", "threads of a block", 1, 16, []float64{32, 64, 128, 256, 512, 1024}},
		{"registers", "registers", "registers of a thread", 1, 16, []float64{16, 32, 64, 128, 255}},
		{"memory", "shared memory", "shared memory of a block, KiB", 1024, 1,
			[]float64{1, 2, 4, 8, 16, 32, 64, 99, 227}},
	} {
		ch, ok := d.occupied(f.over, f.label, f.unit, f.least, f.ticks...)
		add("gpu-occupancy-"+f.id, "drawing.gpu-occupancy."+f.id, ch, ok)
	}
}
