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

// Scaling are the IDs of the figures of each kind of scaling, without their types.
var Scaling = map[string][]string{
	"strong": {"strong-speedup", "strong-serial", "strong-efficiency", "strong-ceiling", "strong-fraction",
		"strong-time"},
	"weak":       {"weak-speedup", "weak-time"},
	"mpi-strong": {"mpi-strong-speedup", "mpi-strong-efficiency", "mpi-strong-ceiling", "mpi-strong-model"},
	"mpi-weak":   {"mpi-weak-speedup", "mpi-weak-time"},
	"mpi-hosts-strong": {"mpi-hosts-strong-speedup", "mpi-hosts-strong-efficiency", "mpi-hosts-strong-ceiling",
		"mpi-hosts-strong-model"},
	"mpi-hosts-weak": {"mpi-hosts-weak-speedup", "mpi-hosts-weak-time"},
}

// scalingCurve is one figure of series along an axis, {one} in its letters.
type scalingCurve struct {
	id, title string // {one} stands for the name of the axis
	yLabel    string
	log       bool
	limit     chart.Limit
	top       bool
	ideal     bool // with the line y = threads
	point     func(v *analysis.View, s analysis.Series, r compare.Record) (chart.Point, bool)
}

// spanned returns a ratio as a point, with its interval if it has one.
func spanned(x int, c analysis.Comparison) chart.Point {
	pt := chart.Point{X: float64(x), Y: c.Ratio, Lo: c.Ratio, Hi: c.Ratio}
	if c.Lo <= c.Ratio && c.Ratio <= c.Hi {
		pt.Lo, pt.Hi = c.Lo, c.Hi
	}
	return pt
}

// overOne is the speed-up over one thread; 1 on one.
func overOne(_ *analysis.View, s analysis.Series, r compare.Record) (chart.Point, bool) {
	if _, ok := s.One(); ok && s.Count(r) == 1 {
		return chart.Point{X: 1, Y: 1, Lo: 1, Hi: 1}, true
	}
	c, ok := s.Speedup(r)
	return spanned(s.Count(r), c), ok
}

// milliseconds is the time.
func milliseconds(_ *analysis.View, s analysis.Series, r compare.Record) (chart.Point, bool) {
	return took(r, float64(s.Count(r))), true
}

// took returns the time of a row in milliseconds at x.
func took(r compare.Record, x float64) chart.Point {
	pt := chart.Point{X: x, Y: 1e3 * float64(r.Median)}
	pt.Lo, pt.Hi = pt.Y, pt.Y
	if r.CI != nil {
		pt.Lo, pt.Hi = 1e3*r.CI[0], 1e3*r.CI[1]
	}
	return pt
}

// scalingCurves are the figures of both kinds of scaling, except times over threads, sizes and
// schedules.
var scalingCurves = []scalingCurve{
	{id: "strong-speedup", title: "speed-up over one {one}", yLabel: "speed-up over one {one}", log: true, ideal: true,
		point: overOne},
	{id: "strong-serial", title: "speed-up over the best serial variant",
		yLabel: "speed-up over the best serial variant", log: true,
		limit: chart.Limit{Level: 1, Label: "best serial"},
		point: func(v *analysis.View, s analysis.Series, r compare.Record) (chart.Point, bool) {
			best, ok := v.BestSerial(s)
			return spanned(s.Count(r), analysis.Versus(best, r)), ok
		}},
	{id: "strong-efficiency", title: "efficiency over {one}s", yLabel: "speed-up over one {one} / {one}s", top: true,
		limit: chart.Limit{Level: 1, Label: "as many times as fast as there are {one}s"},
		point: func(v *analysis.View, s analysis.Series, r compare.Record) (chart.Point, bool) {
			pt, ok := overOne(v, s, r)
			return chart.Point{X: pt.X, Y: pt.Y / pt.X, Lo: pt.Lo / pt.X, Hi: pt.Hi / pt.X}, ok
		}},
	{id: "strong-ceiling", title: "share of the measured peak of as many threads",
		yLabel: "% of the peak of as many threads", log: true, top: true,
		limit: chart.Limit{Level: 100, Label: "measured peak"},
		point: func(v *analysis.View, s analysis.Series, r compare.Record) (chart.Point, bool) {
			share := analysis.Percent(r)
			return measured(r, float64(s.Count(r)), share), share > 0
		}},
	{id: "strong-model", title: "predicted over measured time", yLabel: "predicted time / measured time", log: true,
		limit: chart.Limit{Level: 1, Label: "as predicted"},
		point: func(_ *analysis.View, s analysis.Series, r compare.Record) (chart.Point, bool) {
			share := 1 / analysis.OverModel(r)
			return measured(r, float64(s.Count(r)), share), share > 0
		}},
	{id: "strong-fraction", title: "serial fraction by Karp and Flatt", yLabel: "serial fraction (Karp, Flatt)",
		point: func(_ *analysis.View, s analysis.Series, r compare.Record) (chart.Point, bool) {
			c, ok := s.Speedup(r)
			p := s.Count(r)
			c.Ratio, c.Lo, c.Hi = analysis.KarpFlatt(c.Ratio, p), analysis.KarpFlatt(c.Hi, p), analysis.KarpFlatt(c.Lo, p)
			return spanned(p, c), ok
		}},
	{id: "weak-speedup", title: "scaled speed-up", yLabel: "scaled speed-up over one {one}", log: true, ideal: true,
		point: overOne},
	{id: "weak-time", title: "time at constant work a {one}", yLabel: "time, ms", log: true, point: milliseconds},
}

// overAxis draws the leading series of the main size along their axis.
func (d drawn) overAxis(f scalingCurve, a analysis.Axis, typ string, all []analysis.Series) (chart.Curve, bool) {
	size := analysis.MainSize(all)
	var c collection
	for _, s := range d.Leading(all, size) {
		for _, r := range s.Rows {
			if pt, ok := f.point(d.View, s, r); ok {
				c.add(s.Legend(), d.looks[s.Variant], pt)
			}
		}
	}
	places := c.places()
	if f.ideal && len(places) > 0 {
		ideal := chart.Look{Color: chart.Mid, Dashes: []vg.Length{2, 2}, Marker: chart.Bare}
		for _, p := range places {
			c.add("ideal", ideal, chart.Point{X: p, Y: p, Lo: p, Hi: p})
		}
	}
	limit := f.limit
	limit.Label = a.Named(limit.Label)
	return chart.Curve{
		Title: fmt.Sprintf("%s, %s: %s", typ, size.Label(), a.Named(f.title)), XLabel: a.Param, YLabel: a.Named(f.yLabel),
		Sizes: places, LogY: f.log, Series: c, Limit: limit, Top: f.top,
	}, len(places) >= 2
}

// sizesDrawn is how many sizes of the figure of times are drawn, the largest.
const sizesDrawn = 5

// overSizes is the time over threads of one variant, a curve for each size and
// schedule: sizes have colours, schedules markers. Of the variants it is the one that
// has the most curves, the first of those that are level.
func (d drawn) overSizes(typ string, all []analysis.Series) (chart.Curve, bool) {
	counts := map[string]int{}
	for _, s := range all {
		counts[s.Variant]++
	}
	var variant string
	for _, s := range all {
		if counts[s.Variant] > counts[variant] {
			variant = s.Variant
		}
	}
	var sizes []analysis.Problem
	var settings []string
	var own []analysis.Series
	for _, s := range slices.Backward(all) { // the largest size first
		if s.Variant != variant {
			continue
		}
		if !slices.Contains(sizes, s.Problem) {
			if len(sizes) == sizesDrawn {
				continue
			}
			sizes = append(sizes, s.Problem)
		}
		own = append(own, s)
	}
	slices.Reverse(own)
	for _, s := range own {
		if set := analysis.Setting(s.Rest); !slices.Contains(settings, set) {
			settings = append(settings, set)
		}
	}
	var c collection
	for _, s := range own {
		set := analysis.Setting(s.Rest)
		look := chart.LookOf(slices.Index(sizes, s.Problem))
		look.Marker = chart.LookOf(slices.Index(settings, set)).Marker
		label := s.Problem.Label()
		if set != "" {
			label += ", " + set
		}
		for _, r := range s.Rows {
			pt, _ := milliseconds(d.View, s, r)
			c.add(label, look, pt)
		}
	}
	places := c.places()
	return chart.Curve{
		Title: fmt.Sprintf("%s, %s: time over threads", variant, typ), XLabel: "threads", YLabel: "time, ms",
		Sizes: places, LogY: true, Series: c,
	}, len(places) >= 2 && len(c) >= 2
}

// times is the time of the kernel of the 2024 report, a block of bars for each schedule with a group for
// each number of threads. The marks are of the same program with OpenMP.
func (d drawn) times(typ string) (chart.Columns, bool) {
	c, ok := d.Collapsed(typ)
	sizes := c.Sizes[max(0, len(c.Sizes)-len(chart.Palette)):]
	out := chart.Columns{XLabel: "threads, by schedule", YLabel: "time, ms", Colors: chart.Palette}
	out.Title = analysis.CollapseAtomic + ", " + typ
	if c.Chunk > 0 {
		out.Title += fmt.Sprintf(", chunk %d", c.Chunk)
	}
	for i, n := range sizes {
		out.Names = append(out.Names, strings.Repeat("n = ", 1-min(i, 1))+fmt.Sprint(n))
	}
	for _, schedule := range c.Schedules {
		block := chart.ColumnBlock{Label: schedule}
		for _, threads := range c.Threads {
			g := chart.ColumnGroup{Label: fmt.Sprint(threads)}
			for _, n := range sizes {
				var column chart.Column
				if r, ok := c.Of(analysis.CollapseAtomic, schedule, threads, n); ok {
					column.Value = 1e3 * float64(r.Median)
				}
				if r, ok := c.Of(analysis.OpenMPCollapse, schedule, threads, n); ok {
					column.Mark, out.Mark = 1e3*float64(r.Median), "OpenMP"
				}
				g.Columns = append(g.Columns, column)
			}
			block.Groups = append(block.Groups, g)
		}
		out.Blocks = append(out.Blocks, block)
	}
	return out, ok
}

// chunkRows are the rows of chunkCurves: of the kernel of the 2024 report, if its chunks were swept, or
// else of the variant with the most rows, the first of those that are level, at its largest size.
func (d drawn) chunkRows(schedule, typ string) []compare.Record {
	rows := map[string][]compare.Record{}
	var variant string
	for _, g := range analysis.Pairings(d.Chunked(typ), "chunk") {
		if g.Rest["schedule"] == schedule {
			rows[g.Variant] = append(rows[g.Variant], g.Rows...)
			if len(rows[g.Variant]) > len(rows[variant]) {
				variant = g.Variant
			}
		}
	}
	if rows[analysis.CollapseAtomic] != nil {
		variant = analysis.CollapseAtomic
	}
	if variant == "" {
		return nil
	}
	sizes := analysis.Distinct(rows[variant], analysis.OpenMPProblem)
	largest := slices.MaxFunc(sizes, analysis.Problem.Compare)
	return slices.DeleteFunc(rows[variant], func(r compare.Record) bool { return analysis.OpenMPProblem(r) != largest })
}

// chunkCurves is the time over the chunk under one schedule, a curve a number of threads. With the kernel
// of the 2024 report goes the same program with OpenMP. A chunk left to the schedule stands at the left.
func (d drawn) chunkCurves(schedule, typ string) (chart.Curve, bool) {
	rows := d.chunkRows(schedule, typ)
	if rows == nil {
		return chart.Curve{}, false
	}
	first, unset := 0, false
	for _, r := range rows {
		switch chunk := analysis.ChunkOf(r.Params); {
		case chunk == 0:
			unset = true
		case first == 0 || chunk < first:
			first = chunk
		}
	}
	at := func(r compare.Record) chart.Point {
		chunk := float64(analysis.ChunkOf(r.Params))
		if chunk == 0 {
			chunk = float64(max(first, 1)) / 4
		}
		return took(r, chunk)
	}
	variant, size := rows[0].Variant, analysis.OpenMPProblem(rows[0])
	looks := map[int]chart.Look{}
	var c collection
	for _, r := range rows {
		label := threads(r)
		if set := analysis.Setting(analysis.Omit(r.Params, "schedule", "chunk")); set != "" {
			label += ", " + set
		}
		if _, known := looks[r.Threads]; !known {
			looks[r.Threads] = chart.LookOf(len(looks))
		}
		c.add(label, looks[r.Threads], at(r))
	}
	if variant == analysis.CollapseAtomic {
		for _, r := range d.openMPRows(size, schedule, typ) {
			look, ok := looks[r.Threads]
			if ok && (unset || analysis.ChunkOf(r.Params) > 0) {
				look.Dashes = []vg.Length{4, 2}
				c.add("OpenMP, "+threads(r), look, at(r))
			}
		}
	}
	places := c.places()
	var names []string
	if unset {
		for _, p := range places {
			names = append(names, fmt.Sprint(p))
		}
		names[0] = "default"
	}
	return chart.Curve{
		Title: fmt.Sprintf("%s, %s, %s, %s", variant, typ, size.Label(), schedule), XLabel: "chunk", YLabel: "time, ms",
		Sizes: places, Names: names, LogY: true, Series: c,
	}, len(places) >= 2
}

// openMPRows are the rows of the OpenMP program on a problem under a schedule.
func (d drawn) openMPRows(size analysis.Problem, schedule, typ string) []compare.Record {
	return analysis.Timed(d.Pick(func(r compare.Record) bool {
		return r.Variant == analysis.OpenMPCollapse && r.Experiment == compare.OpenMPLoops && r.Type == typ &&
			r.Params["schedule"] == schedule && analysis.OpenMPProblem(r) == size
	}))
}

// threads says on how many threads a row ran.
func threads(r compare.Record) string {
	return onThreads(r.Threads)
}

// onThreads says how many threads there are.
func onThreads(n int) string {
	if n <= 1 {
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", n)
}

// scalingDrawings adds the figures of a kind of scaling along an axis.
func (d drawn) scalingDrawings(a analysis.Axis, kind, typ string, all []analysis.Series, add adder) {
	if len(all) == 0 {
		return
	}
	for _, f := range scalingCurves {
		if id := a.Prefix + f.id; slices.Contains(Scaling[a.Prefix+kind], id) {
			ch, ok := d.overAxis(f, a, typ, all)
			add(id+"-"+typ, "drawing."+id, ch, ok, text.Args{"Type": typ})
		}
	}
}

// sharingDrawings adds the figures of the chapter on sharing work.
func sharingDrawings(d drawn, add adder) {
	for _, typ := range d.SharedTypes() {
		all := d.StrongSeries(analysis.OverThreads, typ)
		d.scalingDrawings(analysis.OverThreads, "strong", typ, all, add)
		if len(all) > 0 {
			ch, ok := d.overSizes(typ, all)
			add("strong-time-"+typ, "drawing.strong-time", ch, ok, text.Args{"Type": typ})
		}
		d.scalingDrawings(analysis.OverThreads, "weak", typ, d.WeakSeries(analysis.OverThreads, typ), add)
		for _, schedule := range []string{"static", "dynamic", "guided"} {
			ch, ok := d.chunkCurves(schedule, typ)
			add("chunk-"+schedule+"-"+typ, "drawing.chunk", ch, ok, text.Args{"Type": typ, "Schedule": schedule})
		}
		columns, ok := d.times(typ)
		add("times-"+typ, "drawing.times", columns, ok, text.Args{"Type": typ})
	}
	for i, c := range d.Concerts() {
		if i < Timelines {
			add(TimelineID(i), "drawing.timeline", Timeline(c), true, text.Args{"Variant": c.Variant})
		}
	}
}
