package chapters

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// contest is the section on interleaved measurements with libraries: the contenders, means over shapes, the
// shapes at which a library is faster, and all shapes.
func (b *Builder) contest(v *analysis.View) []document.Section {
	c := analysis.NewContest(v)
	if len(c.Matches) == 0 {
		return nil
	}
	who := b.Of(v, "contenders", "contenders.title")
	who.Text(b.Say("contenders.intro",
		text.Args{"Own": document.Literal(analysis.Packed), "Parallel": document.Literal(analysis.ParallelPacked)}))
	if v.Held {
		who.Text(b.Say("contenders.held", text.Args{"ISA": document.Literal(v.ISA)}))
	}
	who.Add(b.contenders(c))
	means := b.Of(v, "means", "means.title")
	means.Add(b.means(c))
	sections := []document.Section{who, means, b.lost(c)}
	for _, g := range c.Groups() {
		sections = append(sections, b.group(c, g))
	}
	if s, ok := b.parts(c); ok {
		sections = append(sections, s)
	}
	return sections
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
		func(x, y contender) int { return cmp.Compare(analysis.Rank(x.variant), analysis.Rank(y.variant)) })
	for _, who := range all {
		t.Rows = append(t.Rows, document.Row{Cells: []document.Text{document.Literal(who.variant),
			document.Escape(who.version), document.Escape(who.kernel), document.Escape(who.process)}})
	}
	return t
}

// means is the table of the geometric means of all groups against all libraries.
func (b *Builder) means(c analysis.Contest) document.Table {
	names := analysis.PeersOf(c.Matches)
	t := document.Table{
		ID: "table-means" + c.Suffix, Caption: b.Say("means.caption"),
		Columns: b.Columns("shapes"), Command: b.Rerun(c.View, analysis.MatchRows(c.Matches)),
	}
	for _, name := range names {
		t.Columns = append(t.Columns,
			document.Column{Title: b.Plain("means.against", text.Args{"Library": analysis.Short(name)}), Numeric: true})
	}
	for _, g := range c.Groups() {
		row := document.Row{Cells: []document.Text{document.Link(b.groupName(g), "#"+g.Id()+c.Suffix)}}
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

// group has the figure and the tables of one group.
func (b *Builder) group(c analysis.Contest, g analysis.Group) document.Section {
	title := string(b.groupName(g))
	if c.Suffix != "" {
		title += b.Plain("onhost", text.Args{"Host": b.HostName(c.View)})
	}
	s := document.Section{ID: g.Id() + c.Suffix, Title: title, Level: 2}
	own, command := g.Own(), b.Rerun(c.View, analysis.MatchRows(g.Matches))
	b.Figure(&s, c.View, g.Figure(), "fig.group", command, text.Args{
		"Variant": own, "Shapes": b.Say("group." + g.Kind.Id), "Type": g.Type, "Threads": b.threads(g.Threads),
	})
	s.Add(b.groupSpeeds(c, g, command), b.groupRatios(c, g, command))
	return s
}

// groupSpeeds is the table of the speeds of all contenders of a group.
func (b *Builder) groupSpeeds(c analysis.Contest, g analysis.Group, command string) document.Table {
	t := document.Table{
		ID: "table-" + g.Figure() + c.Suffix, Caption: b.Say("group.speeds"), Command: command,
		Columns: b.Columns("size", "#clock-peak"),
	}
	head := func(title string) { t.Columns = append(t.Columns, document.Column{Title: title, Numeric: true}) }
	head(g.Own())
	twice := g.Threads > 1 && slices.ContainsFunc(g.Matches,
		func(m analysis.Match) bool { _, ok := c.Scaling(m); return ok })
	if twice {
		head(b.Plain("group.over", text.Args{"Threads": g.Threads, "Variant": analysis.Packed}))
	}
	names := analysis.PeersOf(g.Matches)
	for _, name := range names {
		head(analysis.Short(name))
	}
	for _, m := range g.Matches {
		row := document.Row{Cells: []document.Text{document.Escape(m.Label()), document.Text(number.Significant(m.Top())),
			b.rate(c.View, m.Own)}}
		if twice {
			x, _ := c.Scaling(m)
			row.Cells = append(row.Cells, document.Text(number.Significant(x)))
		}
		for _, name := range names {
			cell := document.Text(number.Absent)
			if r, ok := m.Row(name); ok {
				cell = b.rate(c.View, r)
			}
			row.Cells = append(row.Cells, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// groupRatios is the table of the ratios of a group to every library, with their means.
func (b *Builder) groupRatios(c analysis.Contest, g analysis.Group, command string) document.Table {
	t := document.Table{
		ID:      "table-ratios-" + g.Figure() + c.Suffix,
		Caption: b.Say("group.ratios", text.Args{"Variant": document.Literal(g.Own())}), Command: command,
		Columns: b.Columns("size"),
	}
	names := analysis.PeersOf(g.Matches)
	total := document.Row{Cells: []document.Text{b.Say("means.mean")}, Class: "best"}
	for _, name := range names {
		t.Columns = append(t.Columns,
			document.Column{Title: b.Plain("means.against", text.Args{"Library": analysis.Short(name)}), Numeric: true})
		m := analysis.MeanOf(g.Matches, name)
		total.Cells = append(total.Cells, number.Times(m.Ratio, m.Lo, m.Hi))
	}
	for _, m := range g.Matches {
		row := document.Row{Cells: []document.Text{document.Escape(m.Label())}}
		for _, name := range names {
			cell := document.Text(number.Absent)
			if r, ok := m.Peer(name); ok {
				x := analysis.Contrast(r, m.Own)
				cell = number.Times(x.Ratio, x.Lo, x.Hi)
			}
			row.Cells = append(row.Cells, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	t.Rows = append(t.Rows, total)
	return t
}

// rate returns the speed of a row with its share of the peak of the host, or why it has none.
func (b *Builder) rate(v *analysis.View, r compare.Record) document.Text {
	if !r.Speed() {
		return b.Status(r.Status)
	}
	text := number.Significant(float64(r.Gflops))
	if share := analysis.Percent(r); !math.IsNaN(share) {
		text += fmt.Sprintf(" (%.0f %%%s)", share, number.Dagger(share))
	}
	return document.Text(text)
}

// partNames are the measurements of the parts of a packed product, in the order of their
// table.
var partNames = []string{"micro-kernel", "micro-kernel-l2", "packing", "update-c"}

// parts shows the measurements of the parts of a product: kernels compared with the ceiling of the
// host, parts compared with the whole product.
func (b *Builder) parts(c analysis.Contest) (document.Section, bool) {
	s := b.Of(c.View, "parts", "parts.title")
	t := document.Table{
		ID: "table-parts" + c.Suffix, Caption: b.Say("parts.caption"),
		Columns: b.Columns("part", "params", "#median", "#range", "unit", "#ofceiling", "#ofproduct"),
	}
	for _, name := range partNames {
		for _, m := range c.Measurements {
			if m.Name != name || len(m.Samples) == 0 {
				continue
			}
			median := analysis.Middle(m.Samples)
			ceiling, time := math.NaN(), math.NaN()
			typ, _ := m.Params["type"].(string)
			if n, whole := m.Params["n"].(int); whole {
				time = 100 * c.SpeedAt(typ, n) / median
			} else if top, ok := c.Ceiling(typ, 1); ok {
				ceiling = 100 * median / float64(top.Gflops)
			}
			t.Rows = append(t.Rows, document.Row{Cells: []document.Text{
				b.Say("part." + name), document.Escape(m.Params.String()), document.Text(number.Significant(median)),
				document.Text(number.Extent(slices.Min(m.Samples), slices.Max(m.Samples), number.Significant)),
				document.Escape(m.Unit),
				document.Text(number.OfPeak(ceiling)), document.Text(number.Significant(time)),
			}})
		}
	}
	s.Add(t)
	return s, len(t.Rows) > 0
}
