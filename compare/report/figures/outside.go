package figures

import (
	"fmt"

	"gonum.org/v1/plot/vg"

	"gemm/compare/report/analysis"
	"gemm/compare/report/chart"
	"gemm/compare/report/text"
)

// outsideDrawings adds the figures that compare loops of the suite with the same loops in C.
func outsideDrawings(d drawn, add adder) {
	for _, typ := range []string{"f64", "f32"} {
		bars, ok := cLoops(d.View, typ)
		add("compiler-c-"+typ, "drawing.cloops", bars, ok, text.Args{"Type": typ})
		ch, ok := openMP(d.View, typ)
		add("openmp-"+typ, "drawing.openmp", ch, ok, text.Args{"Type": typ})
	}
}

// cLoops is the speed of each loop in C by the options of its compiler, and of the same loops in Go.
func cLoops(v *analysis.View, typ string) (chart.Bars, bool) {
	c, ok := v.CLoops(typ)
	if !ok {
		return chart.Bars{}, false
	}
	bars := chart.Bars{Title: fmt.Sprintf("%s, n = %s: the same loops by compilers of C and Go", typ, c.Label()),
		XLabel: "GFLOP/s", Rates: true}
	for i, options := range c.Options {
		bars.Names = append(bars.Names, "C "+options)
		bars.Colors = append(bars.Colors, chart.Palette[i%len(chart.Palette)])
	}
	goColor := len(bars.Colors)
	if len(c.Go) > 0 {
		bars.Names = append(bars.Names, "Go")
		bars.Colors = append(bars.Colors, chart.Ink)
	}
	for _, variant := range analysis.Distinct(c.Loops, func(l analysis.CLoop) string { return l.Variant }) {
		g := chart.Group{Label: variant}
		for i, options := range c.Options {
			if r, ok := c.Of(variant, options); ok {
				g.Bars = append(g.Bars, chart.Bar{Point: measured(r, 0, float64(r.Gflops)), Color: i})
			}
		}
		bars.Groups = append(bars.Groups, g)
	}
	for _, r := range c.Go {
		bars.Groups = append(bars.Groups, chart.Group{Label: r.Variant,
			Bars: []chart.Bar{{Point: measured(r, 0, float64(r.Gflops)), Color: goColor}}})
	}
	return bars, true
}

// openMP is the speed over threads of our pool and of OpenMP, a curve for each schedule with its own
// chunk.
func openMP(v *analysis.View, typ string) (chart.Curve, bool) {
	schedules := []string{"static", "dynamic", "guided"}
	var c collection
	title := ""
	for i, schedule := range schedules {
		for _, p := range v.OpenMPPairs(typ) {
			if p.Schedule != schedule || p.Chunk != 0 {
				continue
			}
			title = analysis.OpenMPProblem(p.Pool).Label()
			look := chart.LookOf(i)
			c.add("pool, "+schedule, look, measured(p.Pool, float64(p.Threads), float64(p.Pool.Gflops)))
			look.Dashes = []vg.Length{4, 2}
			c.add("OpenMP, "+schedule, look, measured(p.OpenMP, float64(p.Threads), float64(p.OpenMP.Gflops)))
		}
	}
	places := c.places()
	return chart.Curve{Title: fmt.Sprintf("%s, %s: two collapsed loops, our pool and OpenMP", typ, title),
		XLabel: "threads", YLabel: "GFLOP/s", Sizes: places, LogY: true, Series: c}, len(places) >= 2
}
