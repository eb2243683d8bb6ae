package figures

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/chart"
	"gemm/compare/report/text"
)

// WaysID is the ID of the figure of one size.
func WaysID(typ string, p analysis.Problem) string {
	return "mpi-ways-" + typ + "-" + analysis.Anchor(p.Label())
}

// waysCurve is the time of the ways over ranks at one size.
func (d drawn) waysCurve(typ string, all []analysis.Series, p analysis.Problem) (chart.Curve, bool) {
	var c collection
	for _, s := range all {
		if s.Problem != p || !slices.Contains(analysis.RootVariants, s.Variant) {
			continue
		}
		for _, r := range s.Rows {
			pt, _ := milliseconds(d.View, s, r)
			c.add(s.Legend(), d.looks[s.Variant], pt)
		}
	}
	places := c.places()
	return chart.Curve{
		Title: fmt.Sprintf("%s, %s: time over ranks", typ, p.Label()), XLabel: "ranks", YLabel: "time, ms",
		Sizes: places, LogY: true, Series: c,
	}, len(places) >= 2 && len(c) >= 2
}

// distributionColumns is the time of the ways to share a product out with the plain loops on each rank: a
// block of bars for each size, with a group for each number of ranks.
func (d drawn) distributionColumns(typ string) (chart.Columns, bool) {
	all := d.Distributions(typ)
	out := chart.Columns{Title: typ + ": " + analysis.Baseline + " on each rank", XLabel: "ranks, by size",
		YLabel: "time, ms"}
	for i, variant := range analysis.DistributionVariants {
		out.Names, out.Colors = append(out.Names, analysis.Algorithm(variant)), append(out.Colors, chart.Palette[i])
	}
	for i, x := range all {
		if i == 0 || all[i-1].Problem != x.Problem {
			out.Blocks = append(out.Blocks, chart.ColumnBlock{Label: "n = " + x.Label()})
		}
		g := chart.ColumnGroup{Label: fmt.Sprint(x.Ranks)}
		for _, r := range x.Rows {
			g.Columns = append(g.Columns, chart.Column{Value: 1e3 * float64(r.Median)})
		}
		block := &out.Blocks[len(out.Blocks)-1]
		block.Groups = append(block.Groups, g)
	}
	return out, len(all) > 1
}

// phaseStacks is the phases of the slowest rank of each variant.
func (d drawn) phaseStacks(typ string) (chart.Stacks, bool) {
	rows := d.Foremost(d.Phased(typ))
	if len(rows) == 0 {
		return chart.Stacks{}, false
	}
	longest := 0.0
	for _, r := range rows {
		sum := 0.0
		for _, s := range analysis.Slowest(r) {
			sum += s
		}
		longest = max(longest, sum)
	}
	unit, scale := timeUnit(longest)
	stacks := chart.Stacks{
		Title: fmt.Sprintf("%s, %s, %d ranks: the slowest rank", typ, analysis.Alone(rows[0]).Label(),
			analysis.OverRanks.Count(rows[0])),
		XLabel: "time, " + unit, Colors: chart.Palette, Names: analysis.PhaseNames,
	}
	for _, r := range rows {
		stack := chart.Stack{Label: r.Variant}
		for _, name := range analysis.PhaseNames {
			stack.Parts = append(stack.Parts, scale*analysis.Slowest(r)[name])
		}
		stacks.Stacks = append(stacks.Stacks, stack)
	}
	return stacks, longest > 0
}

// bytesCurve is the bytes counted over the least there can be, over ranks, at the size
// that most variants have.
func (d drawn) bytesCurve(typ string) (chart.Curve, bool) {
	rows := d.Counted(typ)
	main := d.Foremost(rows)
	if len(main) == 0 {
		return chart.Curve{}, false
	}
	var c collection
	for _, r := range rows {
		x := analysis.OverLeast(r)
		if analysis.Alone(r) != analysis.Alone(main[0]) || !(x > 0) {
			continue
		}
		label := strings.TrimSuffix(analysis.Algorithm(r.Variant)+", "+d.Trait(r.Variant, r.Params), ", ")
		c.add(label, d.looks[r.Variant], chart.Point{X: float64(analysis.OverRanks.Count(r)), Y: x, Lo: x, Hi: x})
	}
	places := c.places()
	return chart.Curve{
		Title: fmt.Sprintf("%s, %s: bytes over the least possible", typ, analysis.Alone(main[0]).Label()), XLabel: "ranks",
		YLabel: "bytes counted / least possible",
		Sizes:  places, LogY: true, Series: c, Limit: chart.Limit{Level: 1, Label: "least possible"},
	}, len(places) >= 2
}

// networkCurve is the time of messages over their bytes.
func (d drawn) networkCurve() (chart.Curve, bool) {
	var c collection
	all := d.Networks()
	for i, w := range all {
		look, legend := chart.LookOf(i), fmt.Sprintf("%d ranks", w.Ranks)
		if w.Path != "" {
			legend += fmt.Sprintf(", %s, %s", w.Path, w.Pairs)
		}
		for j, r := range w.Rows {
			pt := chart.Point{X: float64(w.Sizes[j]), Y: 1e6 * float64(r.Median)}
			pt.Lo, pt.Hi = pt.Y, pt.Y
			if r.CI != nil && r.CI[0] > 0 {
				pt.Lo, pt.Hi = 1e6*r.CI[0], 1e6*r.CI[1]
			}
			c.add(legend, look, pt)
		}
		look.Color, look.Dashes, look.Marker = chart.Mid, []vg.Length{2, 2}, chart.Bare
		for _, bytes := range w.Sizes {
			y := 1e6 * w.Time(float64(bytes))
			c.add(legend+", fit", look, chart.Point{X: float64(bytes), Y: y, Lo: y, Hi: y})
		}
	}
	return chart.Curve{
		Title: "messages between ranks", XLabel: "bytes", YLabel: "time one way, µs", LogY: true, Series: c,
	}, len(c) > 0
}

// panelCurve is the speed over the width of panels at the largest size of each number of
// ranks, a curve a variant.
func (d drawn) panelCurve(typ string) (chart.Curve, bool) {
	all := analysis.Bouts(d.Along(analysis.OverRanks, typ, compare.PanelWidths), "panel")
	var c collection
	var unit string
	largest := analysis.Problem{}
	for _, g := range all {
		if p := analysis.Alone(g.Rows[0]); p.Compare(largest) > 0 {
			largest = p
		}
	}
	for _, g := range all {
		if analysis.Alone(g.Rows[0]) != largest {
			continue
		}
		label := fmt.Sprintf("%s, %d ranks", analysis.Algorithm(g.Variant), g.Count())
		if set := d.Trait(g.Variant, g.Rest); set != "" {
			label += ", " + set
		}
		look := d.looks[g.Variant]
		look.Marker = chart.LookOf(len(c)).Marker
		for _, r := range g.Rows {
			rate, in := analysis.Speed(r)
			unit = in
			if width, ok := r.Params["panel"].(int); ok && width > 0 {
				c.add(label, look, measured(r, float64(width), float64(rate)))
			}
		}
	}
	places := c.places()
	return chart.Curve{
		Title: fmt.Sprintf("%s, %s: speed over the width of panels", typ, largest.Label()), XLabel: "width of panels",
		YLabel: unit,
		Sizes:  places, LogY: true, Series: c,
	}, len(places) >= 2
}

// gapCurve is the ratio of point-to-point to collective rows over ranks, a curve a
// variant and size.
func (d drawn) gapCurve(typ string) (chart.Curve, bool) {
	var c collection
	all := d.Gaps(typ)
	var sizes []analysis.Problem
	for _, g := range slices.Backward(all) {
		if !slices.Contains(sizes, g.Problem) && len(sizes) < sizesDrawn {
			sizes = append(sizes, g.Problem)
		}
	}
	for _, g := range all {
		at := slices.Index(sizes, g.Problem)
		if at < 0 {
			continue
		}
		look := chart.LookOf(at)
		if g.Variant == analysis.BcastRows {
			look.Dashes = []vg.Length{2, 2}
		}
		label := analysis.Algorithm(g.Variant) + ", " + g.Label()
		if g.Set != "" {
			label += ", " + g.Set
		}
		for _, f := range g.By {
			c.add(label, look, spanned(analysis.OverRanks.Count(f.First), f.Comparison))
		}
	}
	places := c.places()
	return chart.Curve{
		Title: typ + ": p2p-rows against collective rows", XLabel: "ranks",
		YLabel: "time of p2p-rows / time of the collective",
		Sizes:  places, LogY: true, Series: c, Limit: chart.Limit{Level: 1, Label: "level"},
	}, len(places) >= 2
}

// distributedDrawings adds the figures of the chapter on distributed memory.
func distributedDrawings(d drawn, add adder) {
	if !d.Distributes() {
		return
	}
	ensembleDrawings(d, analysis.OnRanks, add)
	for _, typ := range d.TypesOf(analysis.OverRanks) {
		all := d.StrongSeries(analysis.OverRanks, typ)
		var sizes []analysis.Problem
		for _, s := range slices.Backward(all) {
			if !slices.Contains(sizes, s.Problem) && len(sizes) < sizesDrawn {
				sizes = append(sizes, s.Problem)
			}
		}
		for _, p := range slices.Backward(sizes) {
			ch, ok := d.waysCurve(typ, all, p)
			add(WaysID(typ, p), "drawing.mpi-ways", ch, ok, text.Args{"Type": typ, "Size": p.Label()})
		}
		columns, ok := d.distributionColumns(typ)
		add("mpi-distribution-"+typ, "drawing.mpi-distribution", columns, ok, text.Args{"Type": typ})
		stacks, ok := d.phaseStacks(typ)
		add("mpi-phases-"+typ, "drawing.mpi-phases", stacks, ok, text.Args{"Type": typ})
		ch, ok := d.bytesCurve(typ)
		add("mpi-bytes-"+typ, "drawing.mpi-bytes", ch, ok, text.Args{"Type": typ})
		d.scalingDrawings(analysis.OverRanks, "strong", typ, all, add)
		d.scalingDrawings(analysis.OverRanks, "weak", typ, d.WeakSeries(analysis.OverRanks, typ), add)
		d.scalingDrawings(analysis.OverHosts, "strong", typ, d.StrongSeries(analysis.OverHosts, typ), add)
		d.scalingDrawings(analysis.OverHosts, "weak", typ, d.WeakSeries(analysis.OverHosts, typ), add)
		ch, ok = d.panelCurve(typ)
		add("mpi-panel-"+typ, "drawing.mpi-panel", ch, ok, text.Args{"Type": typ})
		ch, ok = d.gapCurve(typ)
		add("mpi-gap-"+typ, "drawing.mpi-gap", ch, ok, text.Args{"Type": typ})
	}
	ch, ok := d.networkCurve()
	add("mpi-network", "drawing.mpi-network", ch, ok)
}
