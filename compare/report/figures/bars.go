package figures

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gemm/compare/record"
	"gemm/compare/report/analysis"
	"gemm/compare/report/analysis/coursework"
	"gemm/compare/report/chart"
)

// group returns bars of one value.
func group(label string, pt chart.Point, color int) chart.Group {
	return chart.Group{Label: label, Bars: []chart.Bar{{Point: pt, Color: color}}}
}

// waterfall is the steps of an answer, and below them how many times as fast as the textbook loops
// each kernel of the user is.
func (d drawn) waterfall(typ string) chart.Chart {
	a := d.Answer(typ)
	bars := chart.Bars{Kind: chart.Factors, Colors: chart.Palette,
		Title:  fmt.Sprintf("%s, n = %d: from the textbook loops to the fastest variant", typ, a.Main),
		XLabel: "times as fast as " + d.First(analysis.Serial) + " (logarithmic)"}
	add := func(label string, from, to float64, color int) {
		g := group(label, chart.At(0, to), color)
		g.Bars[0].From = from
		bars.Groups = append(bars.Groups, g)
	}
	before := 1.0
	for _, s := range a.Steps(a.Main) {
		if s.Key == "start" {
			continue
		}
		color := 0
		if s.Total < before {
			color = 1
		}
		add(s.Row.Variant, before, s.Total, color)
		before = s.Total
	}
	if len(bars.Groups) == 0 {
		return nil
	}
	naive, _ := a.Textbook(a.Main)
	for _, c := range a.FastestRows(a.Main) {
		if analysis.OfUser(c.Record) {
			add(c.Variant, 1, analysis.HostTime(naive)/analysis.HostTime(c.Record), 2)
		}
	}
	return bars
}

// builds are the builds of the experiment compiler in the order of their bars, with their places in the palette.
var builds = []struct {
	name, legend string
	color        int
}{
	{"v1", "v1", 5}, {"v1 -B", "v1 without bounds checks", 0},
	{"v3", "v3", 4}, {"v3 -B", "v3 without bounds checks", 1},
}

// compiler is the speed of each variant in each build relative to v1, at the n that most variants
// have, the largest one of these.
func (d drawn) compiler(typ string) chart.Chart {
	rows := d.of(record.CompilerOptions, typ)
	if len(rows) == 0 {
		return nil
	}
	rows = analysis.LargestGroup(rows, func(r record.Record) int { return r.N }, analysis.VariantOf, cmp.Compare[int])
	bars := chart.Bars{Kind: chart.Times, XLabel: "times as fast",
		Title: fmt.Sprintf("%s, n = %d: speed relative to the build for GOAMD64=v1", typ, rows[0].N)}
	find := func(variant, build string) (record.Record, bool) {
		return analysis.Find(rows, func(r record.Record) bool {
			return r.Build == build && (r.Variant == variant || variant == "")
		})
	}
	for _, b := range builds {
		if _, ok := find("", b.name); ok {
			bars.Names = append(bars.Names, b.legend)
			bars.Colors = append(bars.Colors, chart.Palette[b.color])
		}
	}
	for _, variant := range analysis.Distinct(rows, analysis.VariantOf) {
		base, ok := find(variant, builds[0].name)
		if !ok {
			continue
		}
		g := group(variant, Measured(base, 0, 1), 0)
		for _, b := range builds[1:] {
			if r, ok := find(variant, b.name); ok {
				color := slices.Index(bars.Names, b.legend)
				g.Bars = append(g.Bars, chart.Bar{Point: relative(r, base, 0), Color: color})
			}
		}
		if len(g.Bars) > 1 {
			bars.Groups = append(bars.Groups, g)
		}
	}
	if len(bars.Groups) == 0 {
		return nil
	}
	return bars
}

// orders is the speed of the orders of the plain loops, in a colour for each innermost loop.
func (d drawn) orders(typ string) chart.Chart {
	all := coursework.Orders(d.View, typ)
	if len(all) == 0 {
		return nil
	}
	bars := chart.Bars{
		Title:  fmt.Sprintf("%s, n = %d: the orders of three plain loops", typ, all[0].N),
		XLabel: "GFLOP/s", Colors: chart.Palette,
		Names: []string{"row of A, column of B", "rows of B and C", "columns of A and C"},
	}
	for _, o := range all {
		if o.Speed() {
			speed := Measured(o.Record, 0, float64(o.Gflops))
			bars.Groups = append(bars.Groups, group(o.Name, speed, strings.IndexByte("kji", o.Name[2])))
		}
	}
	return bars
}

// times is the time of the kernel of the 2024 report, a block of bars for each schedule with a group for
// each number of threads. The marks are of the same program with OpenMP.
func (d drawn) times(typ string) chart.Chart {
	c, ok := d.Collapsed(typ)
	if !ok {
		return nil
	}
	kernel := d.WithPart(record.ReportKernel)
	out := chart.Columns{Title: kernel + ", " + typ, XLabel: "threads, by schedule", YLabel: "time, ms",
		Colors: chart.Palette}
	if c.Chunk > 0 {
		out.Title += fmt.Sprintf(", chunk %d", c.Chunk)
	}
	sizes := c.Sizes[max(0, len(c.Sizes)-len(chart.Palette)):]
	for _, n := range sizes {
		out.Names = append(out.Names, fmt.Sprint(n))
	}
	out.Names[0] = "n = " + out.Names[0]
	for _, schedule := range c.Schedules {
		block := chart.Block{Label: schedule}
		for _, threads := range c.Threads {
			g := chart.Group{Label: fmt.Sprint(threads)}
			for i, n := range sizes {
				bar := chart.Bar{Color: i}
				if r, ok := c.Of(kernel, schedule, threads, n); ok {
					bar.Y = 1e3 * float64(r.Median)
				}
				if r, ok := c.Of(d.Counterpart(kernel), schedule, threads, n); ok {
					bar.Mark, out.Mark = 1e3*float64(r.Median), "OpenMP"
				}
				g.Bars = append(g.Bars, bar)
			}
			block.Groups = append(block.Groups, g)
		}
		out.Blocks = append(out.Blocks, block)
	}
	return out
}

// distributions is the time of the ways to distribute a product: a block of bars for each size, with a group for each
// number of ranks.
func (d drawn) distributions(typ string) chart.Chart {
	all := d.Distributions(typ)
	if len(all) < 2 {
		return nil
	}
	out := chart.Columns{Title: typ + ": " + d.First(analysis.Serial) + " on each rank", XLabel: "ranks, by size",
		YLabel: "time, ms", Colors: chart.Palette}
	for _, variant := range d.Ways() {
		out.Names = append(out.Names, analysis.Algorithm(variant))
	}
	for i, x := range all {
		if i == 0 || all[i-1].Problem != x.Problem {
			out.Blocks = append(out.Blocks, chart.Block{Label: "n = " + x.Label()})
		}
		g := chart.Group{Label: fmt.Sprint(x.Ranks)}
		for way, r := range x.Rows {
			g.Bars = append(g.Bars, chart.Bar{Point: chart.Point{Y: 1e3 * float64(r.Median)}, Color: way})
		}
		block := &out.Blocks[len(out.Blocks)-1]
		block.Groups = append(block.Groups, g)
	}
	return out
}

// phases is the phases of the slowest rank of each variant.
func (d drawn) phases(typ string) chart.Chart {
	rows := d.LargestCommon(d.Phased(typ))
	longest, used := 0.0, map[string]bool{}
	for _, r := range rows {
		sum := 0.0
		for name, s := range analysis.Slowest(r) {
			sum, used[name] = sum+s, used[name] || s > 0
		}
		longest = max(longest, sum)
	}
	if !(longest > 0) {
		return nil
	}
	unit, scale := timeUnit(longest)
	bars := chart.Bars{Kind: chart.Parts, XLabel: "time, " + unit,
		Title: fmt.Sprintf("%s, %s, %d ranks: the slowest rank", typ, analysis.OnOneThread(rows[0]).Label(),
			analysis.OverRanks.Count(rows[0]))}
	bars.Names, bars.Colors = legend(analysis.PhaseNames, used)
	for _, r := range rows {
		g := chart.Group{Label: r.Variant}
		for i, name := range bars.Names {
			g.Bars = append(g.Bars, chart.Bar{Point: chart.Point{Y: scale * analysis.Slowest(r)[name]}, Color: i})
		}
		bars.Groups = append(bars.Groups, g)
	}
	return bars
}
