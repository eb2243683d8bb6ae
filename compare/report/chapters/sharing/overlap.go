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
			if !v.Crowds(h.First) && !math.IsNaN(h.Share) {
				largest = &all[i]
			}
			t.Rows = append(t.Rows, document.Row{Class: v.Muted(h.First), Cells: []document.Text{
				number.Settled(v.Trait(h.Second.Variant, h.Second.Params)), document.Escape(analysis.ProblemOf(h.First).Label()),
				document.Text(fmt.Sprint(analysis.OverRanks.Count(h.First))),
				document.Text(b.Median(h.First)), document.Text(b.Median(h.Second)), document.Text(number.Seconds(h.Compute)),
				b.hiddenShare(h), hiddenInterval(h),
			}})
		}
		if largest != nil {
			s.Text(b.hides(typ, *largest))
		}
		t.Command = b.Rerun(v, used)
		s.Add(t)
	}
	return s, found
}

// hides says how much of its communication a product hides: a share only where it is one.
func (b *builder) hides(typ string, h analysis.Hiding) document.Text {
	size := b.Sizes([]analysis.Problem{analysis.Alone(h.First)})
	ranks := b.Count("ranks", analysis.OverRanks.Count(h.First))
	switch {
	case h.Share <= 0:
		return b.Say("mpi-overlap.nothing", text.Args{"Type": typ, "Size": size, "Ranks": ranks})
	case h.Share >= 1:
		return b.Say("mpi-overlap.everything", text.Args{"Type": typ, "Size": size, "Ranks": ranks})
	}
	interval := document.Text("")
	if known := hiddenInterval(h); known != number.Absent {
		interval = b.Say("interval", text.Args{"Interval": known})
	}
	return b.Say("mpi-overlap.largest", text.Args{
		"Type": typ, "Size": size, "Ranks": ranks, "Share": number.Share(h.Share), "Interval": interval,
	})
}

// hiddenShare returns the share as a cell, or the words for nothing and for all.
func (b *builder) hiddenShare(h analysis.Hiding) document.Text {
	switch {
	case h.Share <= 0:
		return b.Say("hidden.nothing")
	case h.Share >= 1:
		return b.Say("hidden.everything")
	}
	return document.Text(number.Share(h.Share))
}

// hiddenInterval returns the part of the interval that is between nothing and all, absent if the share
// is not.
func hiddenInterval(h analysis.Hiding) document.Text {
	if !(h.Share > 0 && h.Share < 1) || math.IsNaN(h.Lo) || math.IsNaN(h.Hi) {
		return number.Absent
	}
	return document.Text(number.Extent(max(0, h.Lo), min(1, h.Hi), number.Share))
}

// rankFindings takes up the claims of the course report of 2024 about ranks, one by one.
func (b *builder) rankFindings(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "mpi-findings", "mpi-findings.title")
	b.rankClaims(&s, v)
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
