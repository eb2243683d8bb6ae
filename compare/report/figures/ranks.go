package figures

import (
	"fmt"
	"strings"

	"gemm/compare/report/analysis"
	"gemm/compare/report/chart"
	"gemm/compare/report/text"
)

// distributionColumns is the time of the ways to share a product out with the plain loops on each rank: a
// block of bars for each size, with a group for each number of ranks.
func (d drawn) distributionColumns(typ string) (chart.Columns, bool) {
	all := d.Distributions(typ)
	out := chart.Columns{Title: typ + ": " + d.First(analysis.Serial) + " on each rank", XLabel: "ranks, by size",
		YLabel: "time, ms"}
	for i, variant := range d.Ways() {
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

// distributedDrawings adds the figures of the chapter on distributed memory.
func distributedDrawings(d drawn, add adder) {
	if !d.Distributes() {
		return
	}
	ensembleDrawings(d, analysis.OnRanks, add)
	for _, typ := range d.TypesOf(analysis.OverRanks) {
		columns, ok := d.distributionColumns(typ)
		add("mpi-distribution-"+typ, "drawing.mpi-distribution", columns, ok, text.Args{"Type": typ})
		stacks, ok := d.phaseStacks(typ)
		add("mpi-phases-"+typ, "drawing.mpi-phases", stacks, ok, text.Args{"Type": typ})
		ch, ok := d.bytesCurve(typ)
		add("mpi-bytes-"+typ, "drawing.mpi-bytes", ch, ok, text.Args{"Type": typ})
		ch, ok = d.gains(analysis.OverRanks, typ)
		add("mpi-strong-speedup-"+typ, "drawing.mpi-strong-speedup", ch, ok, text.Args{"Type": typ})
	}
}
