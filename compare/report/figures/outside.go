package figures

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"gemm"
	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/analysis/coursework"
	"gemm/compare/report/chart"
	"gemm/compare/report/text"
)

// outsideDrawings adds the figures that compare plain loops: with the same loops in C, and in other orders.
func outsideDrawings(d drawn, add adder) {
	for _, typ := range []string{"f64", "f32"} {
		over, ok := d.loops(typ)
		add("loops-"+typ, "drawing.loops", over, ok, text.Args{"Type": typ})
		bars, ok := cLoops(d.View, typ)
		add("compiler-c-"+typ, "drawing.cloops", bars, ok, text.Args{"Type": typ})
		bars, ok = orders(d.View, typ)
		add("orders-"+typ, "drawing.orders", bars, ok, text.Args{"Type": typ})
		ch, ok := openMP(d.View, typ)
		add("openmp-"+typ, "drawing.openmp", ch, ok, text.Args{"Type": typ})
	}
}

// bySize returns the loops of the figure over n in its order, those of the 2024 report in Go, then in C, and the colour
// of each. Loops of one colour are the same loop.
func (d drawn) bySize() (variants []string, colors map[string]int) {
	colors = map[string]int{}
	next := 0
	for _, v := range d.Variants {
		if !v.Plays(gemm.ReportLoops) && (v.Role != gemm.Program || v.Loop.Order == "") {
			continue
		}
		variants = append(variants, v.Name)
		if color, ok := colors[v.Parent]; ok && v.Role == gemm.Program && d.Variant(v.Parent).Role.Ours() {
			colors[v.Name] = color
			continue
		}
		colors[v.Name] = next
		next++
	}
	return variants, colors
}

// loops is the speed over n of textbook variants in Go, and of the loops in C by the options of their
// compiler, at the sizes between those that a loop in C was timed at. Interleaved rows go before rows of
// the ladder.
func (d drawn) loops(typ string) (chart.Curve, bool) {
	rows := slices.Concat(d.of(compare.CompilerOptions, typ), d.of(compare.MainLadder, typ))
	rows = slices.DeleteFunc(rows, func(r compare.Record) bool { return r.Build != "" })
	programs := slices.DeleteFunc(slices.Clone(rows),
		func(r compare.Record) bool { return !analysis.Program(r) })
	sizes := analysis.Distinct(programs, func(r compare.Record) int { return r.N })
	if len(sizes) < 2 {
		return chart.Curve{}, false
	}
	options := slices.Sorted(slices.Values(analysis.Distinct(programs, analysis.OptionsOf)))
	var c collection
	variants, colors := d.bySize()
	for _, variant := range variants {
		own := slices.DeleteFunc(slices.Clone(rows), func(r compare.Record) bool {
			return r.Variant != variant || r.N < slices.Min(sizes) || r.N > slices.Max(sizes)
		})
		slices.SortStableFunc(own, func(x, y compare.Record) int {
			return cmp.Compare(analysis.OptionsOf(x), analysis.OptionsOf(y))
		})
		seen := map[string]bool{}
		for _, r := range own {
			label := "Go " + analysis.Algorithm(r.Variant)
			look := chart.Look{Color: chart.Palette[colors[variant]%len(chart.Palette)]}
			if analysis.Program(r) {
				i := slices.Index(options, analysis.OptionsOf(r))
				label = "C " + strings.TrimPrefix(analysis.Algorithm(r.Variant), "c-") + " " + brief(options, i)
				look.Marker = []chart.Marker{chart.OpenSquare, chart.OpenDiamond, chart.Ring}[i%3]
				look.Dashes = [][]vg.Length{{1.5, 2}, {4, 2}, {8, 2}}[i%3]
			}
			if key := fmt.Sprint(label, r.N); !seen[key] {
				seen[key] = true
				c.add(label, look, measured(r, float64(r.N), float64(r.Gflops)))
			}
		}
	}
	return chart.Curve{Title: typ + ", 1 thread: textbook variants in Go and C", XLabel: "n (matrices are n×n)",
		YLabel: "GFLOP/s", Sizes: c.places(), LogY: true, Series: c}, true
}

// brief returns the first of the i-th options of the compiler, or all if others begin with it too.
func brief(options []string, i int) string {
	first, _, _ := strings.Cut(options[i], " ")
	same := func(other string) bool { return other == first || strings.HasPrefix(other, first+" ") }
	if len(slices.DeleteFunc(slices.Clone(options), func(o string) bool { return !same(o) })) > 1 {
		return options[i]
	}
	return first
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

// orders is the speed of the orders of the plain loops, in a colour for each innermost loop.
func orders(v *analysis.View, typ string) (chart.Bars, bool) {
	all := coursework.Orders(v, typ)
	if len(all) == 0 {
		return chart.Bars{}, false
	}
	bars := chart.Bars{
		Title:  fmt.Sprintf("%s, n = %d: the orders of three plain loops", typ, all[0].N),
		XLabel: "GFLOP/s", Rates: true, Colors: chart.Palette[:3],
		Names: []string{"row of A, column of B", "rows of B and C", "columns of A and C"},
	}
	for _, o := range all {
		if o.Speed() {
			bars.Groups = append(bars.Groups, chart.Group{Label: o.Name,
				Bars: []chart.Bar{{Point: measured(o.Record, 0, float64(o.Gflops)),
					Color: strings.IndexByte("kji", o.Name[2])}}})
		}
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
