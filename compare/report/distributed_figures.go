package report

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"gemm/compare/report/chart"
	"gemm/compare/report/text"
)

// ways are the variants of the report's figure 15: point-to-point rows, collective rows
// and blocks.
var ways = []string{"mpi/p2p-rows", "mpi/scatter-rows", "mpi/bcast-rows", "mpi/scatter-blocks", "mpi/grid-blocks"}

// waysID is the ID of the figure of one size.
func waysID(typ string, p problem) string { return "mpi-ways-" + typ + "-" + anchor(p.label()) }

// waysCurve is the time of the ways over ranks at one size.
func (d drawn) waysCurve(typ string, all []series, p problem) (chart.Curve, bool) {
	var c collection
	for _, s := range all {
		if s.problem != p || !slices.Contains(ways, s.variant) {
			continue
		}
		for _, r := range s.rows {
			pt, _ := milliseconds(d.view, s, r)
			c.add(s.legend(), d.looks[s.variant], pt)
		}
	}
	places := c.places()
	return chart.Curve{
		Title: fmt.Sprintf("%s, %s: time over ranks", typ, p.label()), XLabel: "ranks", YLabel: "time, ms",
		Sizes: places, LogY: true, Series: c,
	}, len(places) >= 2 && len(c) >= 2
}

// phaseStacks is the phases of the slowest rank of each variant.
func (d drawn) phaseStacks(typ string) (chart.Stacks, bool) {
	rows := d.foremost(d.phased(typ))
	if len(rows) == 0 {
		return chart.Stacks{}, false
	}
	longest := 0.0
	for _, r := range rows {
		sum := 0.0
		for _, s := range slowest(r) {
			sum += s
		}
		longest = max(longest, sum)
	}
	unit, scale := timeUnit(longest)
	stacks := chart.Stacks{
		Title:  fmt.Sprintf("%s, %s, %d ranks: the slowest rank", typ, alone(rows[0]).label(), overRanks.count(rows[0])),
		XLabel: "time, " + unit, Colors: chart.Palette, Names: phaseNames,
	}
	for _, r := range rows {
		stack := chart.Stack{Label: r.Variant}
		for _, name := range phaseNames {
			stack.Parts = append(stack.Parts, scale*slowest(r)[name])
		}
		stacks.Stacks = append(stacks.Stacks, stack)
	}
	return stacks, longest > 0
}

// bytesCurve is the bytes counted over the least there can be, over ranks, at the size
// that most variants have.
func (d drawn) bytesCurve(typ string) (chart.Curve, bool) {
	rows := d.counted(typ)
	main := d.foremost(rows)
	if len(main) == 0 {
		return chart.Curve{}, false
	}
	var c collection
	for _, r := range rows {
		x := overLeast(r)
		if alone(r) != alone(main[0]) || !(x > 0) {
			continue
		}
		label := strings.TrimSuffix(algorithm(r.Variant)+", "+d.trait(r.Variant, r.Params), ", ")
		c.add(label, d.looks[r.Variant], chart.Point{X: float64(overRanks.count(r)), Y: x, Lo: x, Hi: x})
	}
	places := c.places()
	return chart.Curve{
		Title: fmt.Sprintf("%s, %s: bytes over the least possible", typ, alone(main[0]).label()), XLabel: "ranks", YLabel: "bytes counted / least possible",
		Sizes: places, LogY: true, Series: c, Limit: chart.Limit{Level: 1, Label: "least possible"},
	}, len(places) >= 2
}

// networkCurve is the time of messages over their bytes.
func (d drawn) networkCurve() (chart.Curve, bool) {
	var c collection
	all := d.networks()
	for i, w := range all {
		look := chart.LookOf(i)
		for j, r := range w.rows {
			pt := chart.Point{X: float64(w.sizes[j]), Y: 1e6 * float64(r.Median)}
			pt.Lo, pt.Hi = pt.Y, pt.Y
			if r.CI != nil && r.CI[0] > 0 {
				pt.Lo, pt.Hi = 1e6*r.CI[0], 1e6*r.CI[1]
			}
			c.add(fmt.Sprintf("%d ranks", w.ranks), look, pt)
		}
		look.Color, look.Dashes, look.Marker = chart.Mid, []vg.Length{2, 2}, chart.Bare
		for _, bytes := range w.sizes {
			y := 1e6 * w.time(float64(bytes))
			c.add(fmt.Sprintf("%d ranks, fit", w.ranks), look, chart.Point{X: float64(bytes), Y: y, Lo: y, Hi: y})
		}
	}
	return chart.Curve{
		Title: "messages from rank 0 to rank 1", XLabel: "bytes", YLabel: "time one way, µs", LogY: true, Series: c,
	}, len(c) > 0
}

// panelCurve is the speed over the width of panels at the largest size of each number of
// ranks, a curve a variant.
func (d drawn) panelCurve(typ string) (chart.Curve, bool) {
	all := bouts(d.along(overRanks, typ, "panel"), "panel")
	var c collection
	var unit string
	largest := problem{}
	for _, g := range all {
		if p := alone(g.rows[0]); p.compare(largest) > 0 {
			largest = p
		}
	}
	for _, g := range all {
		if alone(g.rows[0]) != largest {
			continue
		}
		label := fmt.Sprintf("%s, %d ranks", algorithm(g.variant), g.count())
		if set := d.trait(g.variant, g.rest); set != "" {
			label += ", " + set
		}
		look := d.looks[g.variant]
		look.Marker = chart.LookOf(len(c)).Marker
		for _, r := range g.rows {
			rate, in := speed(r)
			unit = in
			if width, ok := r.Params["panel"].(int); ok && width > 0 {
				c.add(label, look, measured(r, float64(width), float64(rate)))
			}
		}
	}
	places := c.places()
	return chart.Curve{
		Title: fmt.Sprintf("%s, %s: speed over the width of panels", typ, largest.label()), XLabel: "width of panels", YLabel: unit,
		Sizes: places, LogY: true, Series: c,
	}, len(places) >= 2
}

// gapCurve is the ratio of point-to-point to collective rows over ranks, a curve a
// variant and size.
func (d drawn) gapCurve(typ string) (chart.Curve, bool) {
	var c collection
	all := d.gaps(typ)
	var sizes []problem
	for _, g := range slices.Backward(all) {
		if !slices.Contains(sizes, g.problem) && len(sizes) < sizesDrawn {
			sizes = append(sizes, g.problem)
		}
	}
	for _, g := range all {
		at := slices.Index(sizes, g.problem)
		if at < 0 {
			continue
		}
		look := chart.LookOf(at)
		if g.variant == "mpi/bcast-rows" {
			look.Dashes = []vg.Length{2, 2}
		}
		label := algorithm(g.variant) + ", " + g.label()
		if g.set != "" {
			label += ", " + g.set
		}
		for _, f := range g.by {
			c.add(label, look, spanned(overRanks.count(f.first), f.comparison))
		}
	}
	places := c.places()
	return chart.Curve{
		Title: typ + ": p2p-rows against collective rows", XLabel: "ranks", YLabel: "time of p2p-rows / time of the collective",
		Sizes: places, LogY: true, Series: c, Limit: chart.Limit{Level: 1, Label: "level"},
	}, len(places) >= 2
}

// distributedDrawings adds the figures of the chapter on distributed memory.
func distributedDrawings(d drawn, add adder) {
	if !d.distributes() {
		return
	}
	for _, typ := range d.typesOf(overRanks) {
		all := d.strongSeries(overRanks, typ)
		var sizes []problem
		for _, s := range slices.Backward(all) {
			if !slices.Contains(sizes, s.problem) && len(sizes) < sizesDrawn {
				sizes = append(sizes, s.problem)
			}
		}
		for _, p := range slices.Backward(sizes) {
			ch, ok := d.waysCurve(typ, all, p)
			add(waysID(typ, p), "drawing.mpi-ways", ch, ok, text.Args{"Type": typ, "Size": p.label()})
		}
		stacks, ok := d.phaseStacks(typ)
		add("mpi-phases-"+typ, "drawing.mpi-phases", stacks, ok, text.Args{"Type": typ})
		ch, ok := d.bytesCurve(typ)
		add("mpi-bytes-"+typ, "drawing.mpi-bytes", ch, ok, text.Args{"Type": typ})
		d.scalingDrawings(overRanks, "strong", typ, all, add)
		d.scalingDrawings(overRanks, "weak", typ, d.weakSeries(overRanks, typ), add)
		ch, ok = d.panelCurve(typ)
		add("mpi-panel-"+typ, "drawing.mpi-panel", ch, ok, text.Args{"Type": typ})
		ch, ok = d.gapCurve(typ)
		add("mpi-gap-"+typ, "drawing.mpi-gap", ch, ok, text.Args{"Type": typ})
	}
	ch, ok := d.networkCurve()
	add("mpi-network", "drawing.mpi-network", ch, ok)
}
