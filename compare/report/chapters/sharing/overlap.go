package sharing

import (
	"fmt"
	"math"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// overlap is the section on what overlapping hides.
func (b *builder) overlap(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "mpi-overlap", "mpi-overlap.title")
	s.Text(b.Say("mpi-overlap.intro"))
	found := false
	for _, typ := range v.TypesOf(analysis.OverRanks) {
		all := v.Hidings(typ)
		if len(all) == 0 {
			continue
		}
		found = true
		t := document.Table{
			ID:      "table-mpi-overlap-" + analysis.Anchor(typ) + v.Suffix,
			Caption: b.Say("mpi-overlap.caption", text.Args{"Type": typ}),
			Columns: b.Columns("setting", "size", "#ranks", "#blockingtime", "#overlaptime", "#computetime", "#hidden",
				"#interval"),
		}
		var used []compare.Record
		var largest *analysis.Hiding
		for i, h := range all {
			used = append(used, h.First, h.Second)
			if !v.IsCrowded(h.First.Threads) && !math.IsNaN(h.Share) {
				largest = &all[i]
			}
			t.Rows = append(t.Rows, document.Row{Class: v.Muted(h.First), Cells: []document.Text{
				number.Settled(v.Trait(h.Second.Variant, h.Second.Params)), document.Escape(analysis.ProblemOf(h.First).Label()),
				document.Text(fmt.Sprint(analysis.OverRanks.Count(h.First))),
				document.Text(b.Median(h.First)), document.Text(b.Median(h.Second)), document.Text(number.Seconds(h.Compute)),
				document.Text(number.Significant(h.Share)), document.Text(number.Extent(h.Lo, h.Hi, number.Significant)),
			}})
		}
		if largest != nil {
			interval := document.Text("")
			if known := number.Extent(largest.Lo, largest.Hi, number.Percent); known != number.Absent {
				interval = b.Say("interval", text.Args{"Interval": known})
			}
			s.Text(b.Say("mpi-overlap.largest", text.Args{
				"Type": typ, "Size": b.Sizes([]analysis.Problem{analysis.Alone(largest.First)}),
				"Ranks": b.Count("ranks", analysis.OverRanks.Count(largest.First)), "Share": number.Percent(largest.Share),
				"Interval": interval,
			}))
		}
		t.Command = b.Rerun(v, used)
		s.Add(t)
	}
	return s, found
}

// rankFindings takes up what the report of 2024 found of MPI, section 2.2, and what its
// figure 15 is about.
func (b *builder) rankFindings(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "mpi-findings", "mpi-findings.title")
	s.Text(b.Say("mpi-findings.intro", text.Args{"Ratio": number.Significant(analysis.FarAhead)}))
	s.List([]document.Text{b.blocksAhead(v), b.gapCloses(v)})
	for i, typ := range v.TypesOf(analysis.OverRanks) {
		all := v.Gaps(typ)
		if len(all) == 0 {
			continue
		}
		if i == 0 {
			s.Text(b.Say("mpi-gap.intro"))
		}
		t := document.Table{
			ID: "table-mpi-gap-" + analysis.Anchor(typ) + v.Suffix, Caption: b.Say("mpi-gap.caption", text.Args{"Type": typ}),
			Columns: b.Columns("collective", "setting", "size", "#ranks", "#gap", "#p", "verdict"),
		}
		var used []compare.Record
		for _, g := range all {
			for _, f := range g.By {
				used = append(used, f.First, f.Second)
				t.Rows = append(t.Rows, document.Row{Class: v.Muted(f.First), Cells: []document.Text{
					document.Literal(f.Second.Variant), number.Settled(g.Set), document.Escape(g.Label()),
					document.Text(fmt.Sprint(analysis.OverRanks.Count(f.First))),
					number.Times(f.Ratio, f.Lo, f.Hi), document.Text(number.Probability(f.P)), b.Verdict(f.Outcome),
				}})
			}
		}
		t.Command = b.Rerun(v, used)
		b.Figure(&s, v, "mpi-gap-"+typ, "fig.mpi-gap", t.Command, text.Args{"Type": typ})
		s.Add(t)
	}
	return s, true
}

// blocksAhead: blocks are slightly ahead of rows.
func (b *builder) blocksAhead(v *analysis.View) document.Text {
	var all []analysis.Duel
	for _, typ := range v.TypesOf(analysis.OverRanks) {
		all = append(all, v.Roomy(v.Couples(typ, analysis.ScatterRows, analysis.ScatterBlocks))...)
	}
	fights := analysis.Fight(all)
	ahead, behind, level, open := 0, 0, 0, 0
	for _, f := range fights {
		switch {
		case f.Outcome == analysis.Quicker:
			ahead++
		case f.Outcome == analysis.Slower:
			behind++
		case f.Steady():
			level++
		default:
			open++
		}
	}
	evidence := b.Say("evidence.blocks", text.Args{
		"Pairs": len(fights), "Ahead": ahead, "Behind": behind, "Level": level, "Tolerance": analysis.Tolerated,
		"Open": open,
	})
	return b.finding("blocks", analysis.Judge(ahead, behind+level, open),
		"mpi --variants mpi/scatter-rows,mpi/scatter-blocks --np 2,4 --json blocks.json",
		evidence, b.extremes(v, fights, "scatter-blocks", "scatter-rows"))
}

// gapCommand measures point-to-point against collective rows.
const gapCommand = "mpi --variants mpi/p2p-rows,mpi/scatter-rows,mpi/bcast-rows --np 2,4,8 --json gap.json"

// gapCloses: collective is far ahead of point-to-point at few ranks, hardly at many.
func (b *builder) gapCloses(v *analysis.View) document.Text {
	if v.IsCrowded(analysis.ManyThreads) {
		return b.Say("finding", text.Args{"Claim": b.Say("finding.gap"), "Verdict": b.Say("finding.unmeasured")}) +
			b.Say("finding.larger", text.Args{
				"Processors": analysis.ManyThreads, "Command": document.Literal(b.Program + " " + gapCommand),
			})
	}
	counts := map[analysis.Verdict]int{}
	var cases []document.Text
	for _, typ := range v.TypesOf(analysis.OverRanks) {
		for _, g := range v.Gaps(typ) {
			few, many, out := g.Closes(v)
			counts[out]++
			if out == analysis.Unmeasured {
				continue
			}
			cases = append(cases, b.Say("evidence.gapcase", text.Args{
				"Size": b.Sizes([]analysis.Problem{g.Problem}), "Variant": document.Literal(analysis.Algorithm(g.Variant)),
				"FewRatio":  number.Times(few.Ratio, few.Lo, few.Hi),
				"FewRanks":  b.Count("ranks", analysis.OverRanks.Count(few.First)),
				"ManyRatio": number.Times(many.Ratio, many.Lo, many.Hi),
				"ManyRanks": b.Count("ranks", analysis.OverRanks.Count(many.First)),
			}))
		}
	}
	evidence := []document.Text{b.Say("evidence.gap", text.Args{
		"Cases": len(cases), "Supported": counts[analysis.Supported], "Refuted": counts[analysis.Refuted],
		"Open": counts[analysis.Undecided],
	})}
	return b.finding("gap", analysis.Judge(counts[analysis.Supported], counts[analysis.Refuted],
		counts[analysis.Undecided]),
		gapCommand, append(evidence, cases...)...)
}
