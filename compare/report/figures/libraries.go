package figures

import (
	"fmt"
	"math"

	"gonum.org/v1/plot/vg"

	"gemm/compare/report/analysis"
	"gemm/compare/report/chart"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// contestDrawings adds the figures of interleaved measurements with libraries.
func contestDrawings(d drawn, add adder) {
	for _, g := range analysis.NewContest(d.View).Groups() {
		ch, ok := d.rateCurve(g)
		add(g.Figure(), "drawing.contest", ch, ok, text.Args{"Group": ch.Title})
	}
}

// rateCurve is the speed of all contenders over n, up to the ceiling: of cubes at two
// sizes or more.
func (d drawn) rateCurve(g analysis.Group) (chart.Curve, bool) {
	busy := onThreads(g.Threads)
	var c collection
	var ceilings []float64
	own := g.Own()
	look := func(variant string) chart.Look { return chart.LookOf(max(d.Order(variant)-1, 0)) }
	for _, variant := range append([]string{own}, d.PeersOf(g.Matches)...) {
		for _, m := range g.Matches {
			if r, ok := m.Row(variant); ok && r.Speed() && r.Median > 0 && m.Cube() {
				c.add(variant, look(variant), measured(r, float64(r.N), float64(r.Gflops)))
			}
		}
	}
	for _, m := range g.Matches {
		if x := m.Top(); m.Cube() && !math.IsNaN(x) {
			ceilings = append(ceilings, x)
		}
	}
	curve := chart.Curve{
		Title:  fmt.Sprintf("%s, %s, %s", g.Kind.Title, g.Type, busy),
		XLabel: "n (matrices are n×n)", YLabel: "GFLOP/s", Sizes: c.places(), Series: c, Top: true,
	}
	if len(ceilings) > 0 {
		level := analysis.Middle(ceilings)
		curve.Limit = chart.Limit{Level: level,
			Label: fmt.Sprintf("measured ceiling, %s: %s GFLOP/s", busy, number.Significant(level))}
	}
	for i := range curve.Series {
		if curve.Series[i].Label != own {
			curve.Series[i].Look.Dashes = []vg.Length{4, 2}
		}
	}
	return curve, len(curve.Sizes) >= 2
}
