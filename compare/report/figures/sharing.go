package figures

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"gemm"
	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/chart"
	"gemm/compare/report/text"
)

// spanned returns a ratio as a point, with its interval if it has one.
func spanned(x int, c analysis.Comparison) chart.Point {
	pt := chart.Point{X: float64(x), Y: c.Ratio, Lo: c.Ratio, Hi: c.Ratio}
	if c.Lo <= c.Ratio && c.Ratio <= c.Hi {
		pt.Lo, pt.Hi = c.Lo, c.Hi
	}
	return pt
}

// overOne is the speed-up over one thread; 1 on one.
func overOne(s analysis.Series, r compare.Record) (chart.Point, bool) {
	if _, ok := s.One(); ok && s.Count(r) == 1 {
		return chart.Point{X: 1, Y: 1, Lo: 1, Hi: 1}, true
	}
	c, ok := s.Speedup(r)
	return spanned(s.Count(r), c), ok
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

// gains is the speed-up over one thread or rank of the leading series of the main size.
func (d drawn) gains(a analysis.Axis, typ string) (chart.Curve, bool) {
	all := d.StrongSeries(a, typ)
	size := analysis.MainSize(all)
	var c collection
	for _, s := range d.Leading(all, size) {
		for _, r := range s.Rows {
			if pt, ok := overOne(s, r); ok {
				c.add(s.Legend(), d.looks[s.Variant], pt)
			}
		}
	}
	places := c.places()
	ideal := chart.Look{Color: chart.Mid, Dashes: []vg.Length{2, 2}, Marker: chart.Bare}
	for _, p := range places {
		c.add("ideal", ideal, chart.Point{X: p, Y: p, Lo: p, Hi: p})
	}
	title := a.Named("speed-up over one {one}")
	return chart.Curve{
		Title: fmt.Sprintf("%s, %s: %s", typ, size.Label(), title), XLabel: a.Param, YLabel: title,
		Sizes: places, LogY: true, Series: c,
	}, len(places) >= 2
}

// times is the time of the kernel of the 2024 report, a block of bars for each schedule with a group for
// each number of threads. The marks are of the same program with OpenMP.
func (d drawn) times(typ string) (chart.Columns, bool) {
	c, ok := d.Collapsed(typ)
	sizes := c.Sizes[max(0, len(c.Sizes)-len(chart.Palette)):]
	out := chart.Columns{XLabel: "threads, by schedule", YLabel: "time, ms", Colors: chart.Palette}
	kernel := d.Playing(gemm.ReportKernel)
	out.Title = kernel + ", " + typ
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
				if r, ok := c.Of(kernel, schedule, threads, n); ok {
					column.Value = 1e3 * float64(r.Median)
				}
				if r, ok := c.Of(d.Twin(kernel), schedule, threads, n); ok {
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
	if kernel := d.Playing(gemm.ReportKernel); rows[kernel] != nil {
		variant = kernel
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
	if variant == d.Playing(gemm.ReportKernel) {
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
		return r.Variant == d.Twin(d.Playing(gemm.ReportKernel)) && r.Experiment == compare.OpenMPLoops && r.Type == typ &&
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

// sharingDrawings adds the figures of the chapter on sharing work.
func sharingDrawings(d drawn, add adder) {
	for _, typ := range d.SharedTypes() {
		ch, ok := d.gains(analysis.OverThreads, typ)
		add("strong-speedup-"+typ, "drawing.strong-speedup", ch, ok, text.Args{"Type": typ})
		for _, schedule := range []string{"static", "dynamic", "guided"} {
			ch, ok := d.chunkCurves(schedule, typ)
			add("chunk-"+schedule+"-"+typ, "drawing.chunk", ch, ok, text.Args{"Type": typ, "Schedule": schedule})
		}
		columns, ok := d.times(typ)
		add("times-"+typ, "drawing.times", columns, ok, text.Args{"Type": typ})
	}
	for _, c := range d.Concerts() {
		add("timeline-1", "drawing.timeline", Timeline(c), true, text.Args{"Variant": c.Variant})
		break
	}
}
