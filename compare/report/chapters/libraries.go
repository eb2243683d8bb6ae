package chapters

import (
	"cmp"
	"fmt"
	"slices"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// Peers are the sections on interleaved measurements with libraries: the contenders, means over shapes, and the
// shapes at which a library is faster.
func (b *Builder) Peers(v *analysis.View) []document.Section {
	c := analysis.NewContest(v)
	if len(c.Matches) == 0 {
		return nil
	}
	who := b.Of(v, "contenders", "contenders.title")
	who.Text(b.Say("contenders.intro",
		text.Args{"Own": document.Literal(v.Production(analysis.Serial)),
			"Parallel": document.Literal(v.Production(analysis.Parallel))}))
	if v.Held {
		who.Text(b.Say("contenders.held", text.Args{"ISA": document.Literal(v.ISA)}))
	}
	who.Add(b.contenders(c))
	means := b.Of(v, "means", "means.title")
	means.Add(b.means(c))
	for _, g := range c.Groups() {
		b.Figure(&means, v, g.Figure(), "fig.group", b.Rerun(v, analysis.MatchRows(g.Matches)), text.Args{
			"Variant": g.Own(), "Shapes": b.Say("group." + g.Kind.Id), "Type": g.Type, "Threads": b.threads(g.Threads),
		})
	}
	return []document.Section{who, means, b.lost(c)}
}

// contenders is the table of the contenders, with the version that each reports.
func (b *Builder) contenders(c analysis.Contest) document.Table {
	t := document.Table{
		ID: "table-contenders" + c.Suffix, Caption: b.Say("contenders.caption"),
		Columns: b.Columns("variant", "version", "kernel", "process"),
	}
	type contender struct{ variant, version, kernel, process string }
	var all []contender
	for _, r := range analysis.MatchRows(c.Matches) {
		said := func(name string) string {
			if value, ok := r.Resolved[name]; ok {
				return fmt.Sprint(value)
			}
			return number.Absent
		}
		who := contender{r.Variant, said("version"), said("kernel"), said("process")}
		if r.Speed() && !slices.Contains(all, who) {
			all = append(all, who)
		}
	}
	slices.SortStableFunc(all,
		func(x, y contender) int { return cmp.Compare(c.Order(x.variant), c.Order(y.variant)) })
	for _, who := range all {
		t.Rows = append(t.Rows, document.Row{Cells: []document.Text{document.Literal(who.variant),
			document.Escape(who.version), document.Escape(who.kernel), document.Escape(who.process)}})
	}
	return t
}

// means is the table of the geometric means of all groups against all libraries.
func (b *Builder) means(c analysis.Contest) document.Table {
	names := c.PeersOf(c.Matches)
	t := document.Table{
		ID: "table-means" + c.Suffix, Caption: b.Say("means.caption"),
		Columns: b.Columns("shapes"), Command: b.Rerun(c.View, analysis.MatchRows(c.Matches)),
	}
	for _, name := range names {
		t.Columns = append(t.Columns,
			document.Column{Title: b.Plain("means.against", text.Args{"Library": analysis.Short(name)}), Numeric: true})
	}
	for _, g := range c.Groups() {
		row := document.Row{Cells: []document.Text{b.groupName(g)}}
		for _, name := range names {
			m := analysis.MeanOf(g.Matches, name)
			cell := number.Times(m.Ratio, m.Lo, m.Hi)
			if m.Count > 0 {
				cell += document.Text(fmt.Sprintf(", %d", m.Count))
			}
			row.Cells = append(row.Cells, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// groupName names a group in a table, and titles its section.
func (b *Builder) groupName(g analysis.Group) document.Text {
	return b.Say("group.name",
		text.Args{"Shapes": b.Say("group." + g.Kind.Id), "Type": g.Type, "Threads": b.threads(g.Threads)})
}

// threads says how many threads.
func (b *Builder) threads(n int) document.Text { return b.Count("group.threads", n) }

// lost has every shape at which the fastest library is ahead.
func (b *Builder) lost(c analysis.Contest) document.Section {
	s := b.Of(c.View, "lost", "lost.title")
	losses, level, compared := c.Losses()
	s.Text(b.Say("lost.count", text.Args{"Compared": compared, "Lost": len(losses), "Level": analysis.Significance}))
	if len(losses) > 0 {
		t := document.Table{
			ID: "table-lost" + c.Suffix, Caption: b.Say("lost.caption"),
			Columns: b.Columns("size", "type", "#threads", "peer", "#ourgflops", "#theirgflops", "#ratiowithinterval", "#p"),
		}
		var rows []compare.Record
		for _, l := range losses {
			rows = append(rows, l.Own, l.Peer)
			t.Rows = append(t.Rows, document.Row{Cells: []document.Text{
				document.Escape(l.Label()), document.Text(l.Type), document.Text(fmt.Sprint(l.Threads)),
				document.Literal(l.Peer.Variant),
				document.Text(number.Significant(float64(l.Own.Gflops))), document.Text(number.Significant(float64(l.Peer.Gflops))),
				number.Times(l.Ratio, l.Lo, l.Hi), document.Text(number.Probability(l.P)),
			}})
		}
		t.Command = b.Rerun(c.View, rows)
		s.Add(t)
	}
	var names []document.Text
	for _, l := range level {
		names = append(names, b.Say("lost.place", text.Args{
			"Size": l.Label(), "Type": l.Type, "Threads": b.threads(l.Threads), "Ratio": number.Significant(l.Ratio),
		}))
	}
	if len(names) > 0 {
		s.Text(b.Say("lost.level", text.Args{"Places": b.Join(names)}))
	}
	return s
}
