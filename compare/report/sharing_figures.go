package report

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot/vg"

	"gemm/compare"
	"gemm/compare/report/chart"
	"gemm/compare/report/text"
)

// scalingCurve is one figure of series along an axis, {one} in its letters.
type scalingCurve struct {
	id, title string // {one} stands for the name of the axis
	yLabel    string
	log       bool
	limit     chart.Limit
	top       bool
	ideal     bool // with the line y = threads
	point     func(v *view, s series, r compare.Record) (chart.Point, bool)
}

// spanned returns a ratio as a point, with its interval where it has one.
func spanned(x int, c comparison) chart.Point {
	pt := chart.Point{X: float64(x), Y: c.Ratio, Lo: c.Ratio, Hi: c.Ratio}
	if c.Lo <= c.Ratio && c.Ratio <= c.Hi {
		pt.Lo, pt.Hi = c.Lo, c.Hi
	}
	return pt
}

// overOne is the speed-up over one thread; 1 on one.
func overOne(_ *view, s series, r compare.Record) (chart.Point, bool) {
	if _, ok := s.one(); ok && s.count(r) == 1 {
		return chart.Point{X: 1, Y: 1, Lo: 1, Hi: 1}, true
	}
	c, ok := s.speedup(r)
	return spanned(s.count(r), c), ok
}

// milliseconds is the time.
func milliseconds(_ *view, s series, r compare.Record) (chart.Point, bool) {
	pt := chart.Point{X: float64(s.count(r)), Y: 1e3 * float64(r.Median)}
	pt.Lo, pt.Hi = pt.Y, pt.Y
	if r.CI != nil {
		pt.Lo, pt.Hi = 1e3*r.CI[0], 1e3*r.CI[1]
	}
	return pt, true
}

// scalingCurves are the figures of both kinds of scaling but that of times over
// threads, sizes and schedules.
var scalingCurves = []scalingCurve{
	{id: "strong-speedup", title: "speed-up over one {one}", yLabel: "speed-up over one {one}", log: true, ideal: true, point: overOne},
	{id: "strong-serial", title: "speed-up over the best serial variant", yLabel: "speed-up over the best serial variant", log: true,
		limit: chart.Limit{Level: 1, Label: "best serial"},
		point: func(v *view, s series, r compare.Record) (chart.Point, bool) {
			best, ok := v.bestSerial(s)
			return spanned(s.count(r), beside(best, r)), ok
		}},
	{id: "strong-efficiency", title: "efficiency over {one}s", yLabel: "speed-up over one {one} / {one}s", top: true,
		limit: chart.Limit{Level: 1, Label: "as many times as fast as there are {one}s"},
		point: func(v *view, s series, r compare.Record) (chart.Point, bool) {
			pt, ok := overOne(v, s, r)
			return chart.Point{X: pt.X, Y: pt.Y / pt.X, Lo: pt.Lo / pt.X, Hi: pt.Hi / pt.X}, ok
		}},
	{id: "strong-ceiling", title: "share of the measured peak of as many threads", yLabel: "% of the peak of as many threads", log: true, top: true,
		limit: chart.Limit{Level: 100, Label: "measured peak"},
		point: func(_ *view, s series, r compare.Record) (chart.Point, bool) {
			return measured(r, float64(s.count(r)), float64(r.PercentPeak)), r.PercentPeak.Known() && r.PercentPeak > 0
		}},
	{id: "strong-fraction", title: "serial fraction by Karp and Flatt", yLabel: "serial fraction (Karp, Flatt)",
		point: func(_ *view, s series, r compare.Record) (chart.Point, bool) {
			c, ok := s.speedup(r)
			p := s.count(r)
			c.Ratio, c.Lo, c.Hi = karpFlatt(c.Ratio, p), karpFlatt(c.Hi, p), karpFlatt(c.Lo, p)
			return spanned(p, c), ok
		}},
	{id: "weak-speedup", title: "scaled speed-up", yLabel: "scaled speed-up over one {one}", log: true, ideal: true, point: overOne},
	{id: "weak-time", title: "time at constant work a {one}", yLabel: "time, ms", log: true, point: milliseconds},
}

// overAxis draws the leading series of the main size along their axis.
func (d drawn) overAxis(f scalingCurve, a axis, typ string, all []series) (chart.Curve, bool) {
	size := mainSize(all)
	var c collection
	for _, s := range d.leading(all, size) {
		for _, r := range s.rows {
			if pt, ok := f.point(d.view, s, r); ok {
				c.add(s.legend(), d.looks[s.variant], pt)
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
	limit.Label = a.named(limit.Label)
	return chart.Curve{
		Title: fmt.Sprintf("%s, %s: %s", typ, size.label(), a.named(f.title)), XLabel: a.param, YLabel: a.named(f.yLabel),
		Sizes: places, LogY: f.log, Series: c, Limit: limit, Top: f.top,
	}, len(places) >= 2
}

// sizesDrawn is how many sizes of the figure of times are drawn, the largest.
const sizesDrawn = 5

// overSizes is the time over threads of one variant, a curve for each size and
// schedule: sizes have colours, schedules markers. Of the variants it is the one that
// has the most curves, the first of those that are level.
func (d drawn) overSizes(typ string, all []series) (chart.Curve, bool) {
	counts := map[string]int{}
	for _, s := range all {
		counts[s.variant]++
	}
	var variant string
	for _, s := range all {
		if counts[s.variant] > counts[variant] {
			variant = s.variant
		}
	}
	var sizes []problem
	var settings []string
	var own []series
	for _, s := range slices.Backward(all) { // the largest size first
		if s.variant != variant {
			continue
		}
		if !slices.Contains(sizes, s.problem) {
			if len(sizes) == sizesDrawn {
				continue
			}
			sizes = append(sizes, s.problem)
		}
		own = append(own, s)
	}
	slices.Reverse(own)
	for _, s := range own {
		if set := setting(s.rest); !slices.Contains(settings, set) {
			settings = append(settings, set)
		}
	}
	var c collection
	for _, s := range own {
		set := setting(s.rest)
		look := chart.LookOf(slices.Index(sizes, s.problem))
		look.Marker = chart.LookOf(slices.Index(settings, set)).Marker
		label := s.problem.label()
		if set != "" {
			label += ", " + set
		}
		for _, r := range s.rows {
			pt, _ := milliseconds(d.view, s, r)
			c.add(label, look, pt)
		}
	}
	places := c.places()
	return chart.Curve{
		Title: fmt.Sprintf("%s, %s: time over threads", variant, typ), XLabel: "threads", YLabel: "time, ms",
		Sizes: places, LogY: true, Series: c,
	}, len(places) >= 2 && len(c) >= 2
}

// chunkCurves is the speed over the chunk of one variant under one schedule, a curve a
// number of threads. Of the variants it is the one with the most rows, the first of
// those that are level, at its largest size. A chunk left to the schedule stands at
// the left.
func (d drawn) chunkCurves(schedule, typ string) (chart.Curve, bool) {
	rows := map[string][]compare.Record{}
	var variant string
	for _, g := range pairings(d.chunked(typ), "chunk") {
		if g.rest["schedule"] == schedule {
			rows[g.variant] = append(rows[g.variant], g.rows...)
			if len(rows[g.variant]) > len(rows[variant]) {
				variant = g.variant
			}
		}
	}
	if variant == "" {
		return chart.Curve{}, false
	}
	shapes := problems(rows[variant])
	largest := shapes[len(shapes)-1]
	first, unset := 0, false
	for _, r := range rows[variant] {
		switch chunk := chunkOf(r.Params); {
		case chunk == 0:
			unset = true
		case first == 0 || chunk < first:
			first = chunk
		}
	}
	left := float64(max(first, 1)) / 4
	var c collection
	var unit string
	for _, r := range rows[variant] {
		p := problemOf(r)
		p.threads = largest.threads
		if p != largest {
			continue
		}
		chunk := float64(chunkOf(r.Params))
		if chunk == 0 {
			chunk = left
		}
		rate, in := speed(r)
		unit = in
		label := fmt.Sprintf("%d threads", r.Threads)
		if r.Threads == 1 {
			label = "1 thread"
		}
		if set := setting(omit(r.Params, "schedule", "chunk")); set != "" {
			label += ", " + set
		}
		c.add(label, chart.LookOf(len(c)), measured(r, chunk, float64(rate)))
	}
	places := c.places()
	var names []string
	if unset && len(places) > 0 {
		for _, p := range places {
			names = append(names, fmt.Sprint(p))
		}
		names[0] = "default"
	}
	return chart.Curve{
		Title: fmt.Sprintf("%s, %s, %s, %s", variant, typ, largest.label(), schedule), XLabel: "chunk", YLabel: unit,
		Sizes: places, Names: names, LogY: true, Series: c,
	}, len(places) >= 2
}

// scalingDrawings adds the figures of a kind of scaling along an axis.
func (d drawn) scalingDrawings(a axis, kind, typ string, all []series, add adder) {
	if len(all) == 0 {
		return
	}
	for _, f := range scalingCurves {
		if id := a.prefix + f.id; slices.Contains(scalingFigures[a.prefix+kind], id) {
			ch, ok := d.overAxis(f, a, typ, all)
			add(id+"-"+typ, "drawing."+id, ch, ok, text.Args{"Type": typ})
		}
	}
}

// sharingDrawings adds the figures of the chapter on sharing work.
func sharingDrawings(d drawn, add adder) {
	for _, typ := range d.sharedTypes() {
		all := d.strongSeries(overThreads, typ)
		d.scalingDrawings(overThreads, "strong", typ, all, add)
		if len(all) > 0 {
			ch, ok := d.overSizes(typ, all)
			add("strong-time-"+typ, "drawing.strong-time", ch, ok, text.Args{"Type": typ})
		}
		d.scalingDrawings(overThreads, "weak", typ, d.weakSeries(overThreads, typ), add)
		for _, schedule := range []string{"static", "dynamic", "guided"} {
			ch, ok := d.chunkCurves(schedule, typ)
			add("chunk-"+schedule+"-"+typ, "drawing.chunk", ch, ok, text.Args{"Type": typ, "Schedule": schedule})
		}
	}
	for i, c := range d.concerts() {
		if i < drawnConcerts {
			add(concertID(i), "drawing.timeline", timeline(c), true, text.Args{"Variant": c.variant})
		}
	}
}
