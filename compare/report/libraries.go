package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gemm/compare"
	"gemm/compare/report/document"
	"gemm/compare/report/text"
)

// contest is what was measured in turn with libraries: who took part, the means over shapes, where a
// library is ahead, and every shape.
func (b *builder) contest(v *view) []document.Section {
	c := newContest(v)
	if len(c.matches) == 0 {
		return nil
	}
	who := b.of(v, "contenders", "contenders.title")
	who.Text(b.Say("contenders.intro", text.Args{"Own": document.Literal(packed), "Parallel": document.Literal(parallelPacked)}))
	who.Add(b.contenders(c))
	means := b.of(v, "means", "means.title")
	means.Add(b.means(c))
	sections := []document.Section{who, means, b.lost(c)}
	for _, g := range c.groups() {
		sections = append(sections, b.group(c, g))
	}
	if s, ok := b.parts(c); ok {
		sections = append(sections, s)
	}
	return sections
}

// contenders is the table of who took part, by what each said of itself.
func (b *builder) contenders(c contest) document.Table {
	t := document.Table{
		ID: "table-contenders" + c.suffix, Caption: b.Say("contenders.caption"),
		Columns: b.columns("variant", "version", "kernel", "process"),
	}
	type contender struct{ variant, version, kernel, process string }
	var all []contender
	for _, r := range matchRows(c.matches) {
		said := func(name string) string {
			if value, ok := r.Resolved[name]; ok {
				return fmt.Sprint(value)
			}
			return absent
		}
		who := contender{r.Variant, said("version"), said("kernel"), said("process")}
		if r.Speed() && !slices.Contains(all, who) {
			all = append(all, who)
		}
	}
	slices.SortStableFunc(all, func(x, y contender) int { return cmp.Compare(rank(x.variant), rank(y.variant)) })
	for _, who := range all {
		t.Rows = append(t.Rows, document.Row{Cells: []document.Text{document.Literal(who.variant), document.Escape(who.version), document.Escape(who.kernel), document.Escape(who.process)}})
	}
	return t
}

// means is the table of the geometric means of all groups against all libraries.
func (b *builder) means(c contest) document.Table {
	names := peersOf(c.matches)
	t := document.Table{
		ID: "table-means" + c.suffix, Caption: b.Say("means.caption"),
		Columns: b.columns("shapes"), Command: b.rerun(c.view, matchRows(c.matches)),
	}
	for _, name := range names {
		t.Columns = append(t.Columns, document.Column{Title: b.Plain("means.against", text.Args{"Library": algorithm(name)}), Numeric: true})
	}
	for _, g := range c.groups() {
		row := document.Row{Cells: []document.Text{document.Link(b.groupName(g), "#"+g.id()+c.suffix)}}
		for _, name := range names {
			m := meanOf(g.matches, name)
			cell := times(m.Ratio, m.Lo, m.Hi)
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
func (b *builder) groupName(g group) document.Text {
	return b.Say("group.name", text.Args{"Shapes": b.Say("group." + g.kind.id), "Type": g.typ, "Threads": b.threads(g.threads)})
}

// threads says how many threads.
func (b *builder) threads(n int) document.Text { return b.Count("group.threads", n) }

// lost has every shape at which the fastest library is ahead.
func (b *builder) lost(c contest) document.Section {
	s := b.of(c.view, "lost", "lost.title")
	losses, level, compared := c.losses()
	s.Text(b.Say("lost.count", text.Args{"Compared": compared, "Lost": len(losses), "Level": significance}))
	if len(losses) > 0 {
		t := document.Table{
			ID: "table-lost" + c.suffix, Caption: b.Say("lost.caption"),
			Columns: b.columns("size", "type", "#threads", "peer", "#ourgflops", "#theirgflops", "#ratiowithinterval", "#p"),
		}
		var rows []compare.Record
		for _, l := range losses {
			rows = append(rows, l.own, l.peer)
			t.Rows = append(t.Rows, document.Row{Cells: []document.Text{
				document.Escape(l.label()), document.Text(l.typ), document.Text(fmt.Sprint(l.threads)), document.Literal(l.peer.Variant),
				document.Text(significant(float64(l.own.Gflops))), document.Text(significant(float64(l.peer.Gflops))),
				times(l.Ratio, l.Lo, l.Hi), document.Text(probability(l.P)),
			}})
		}
		t.Command = b.rerun(c.view, rows)
		s.Add(t)
	}
	var names []document.Text
	for _, l := range level {
		names = append(names, b.Say("lost.place", text.Args{
			"Size": l.label(), "Type": l.typ, "Threads": b.threads(l.threads), "Ratio": significant(l.Ratio),
		}))
	}
	if len(names) > 0 {
		s.Text(b.Say("lost.level", text.Args{"Places": b.Join(names)}))
	}
	return s
}

// group has the figure and the tables of one group.
func (b *builder) group(c contest, g group) document.Section {
	title := string(b.groupName(g))
	if c.suffix != "" {
		title += b.Plain("onhost", text.Args{"Host": b.hostName(c.view)})
	}
	s := document.Section{ID: g.id() + c.suffix, Title: title, Level: 2}
	own, command := g.own(), b.rerun(c.view, matchRows(g.matches))
	b.figure(&s, c.view, g.figure(), "fig.group", command, text.Args{
		"Variant": own, "Shapes": b.Say("group." + g.kind.id), "Type": g.typ, "Threads": b.threads(g.threads),
	})
	s.Add(b.groupSpeeds(c, g, command), b.groupRatios(c, g, command))
	return s
}

// groupSpeeds is the table of the speeds of all contenders of a group.
func (b *builder) groupSpeeds(c contest, g group, command string) document.Table {
	t := document.Table{
		ID: "table-" + g.figure() + c.suffix, Caption: b.Say("group.speeds"), Command: command,
		Columns: b.columns("size", "#ceiling"),
	}
	head := func(title string) { t.Columns = append(t.Columns, document.Column{Title: title, Numeric: true}) }
	head(g.own())
	twice := g.threads > 1 && slices.ContainsFunc(g.matches, func(m match) bool { _, ok := c.scaling(m); return ok })
	if twice {
		head(b.Plain("group.over", text.Args{"Threads": g.threads, "Variant": packed}))
	}
	names := peersOf(g.matches)
	for _, name := range names {
		head(algorithm(name))
	}
	for _, m := range g.matches {
		row := document.Row{Cells: []document.Text{document.Escape(m.label()), document.Text(significant(m.top())), b.rate(m.own)}}
		if twice {
			x, _ := c.scaling(m)
			row.Cells = append(row.Cells, document.Text(significant(x)))
		}
		for _, name := range names {
			cell := document.Text(absent)
			if r, ok := m.row(name); ok {
				cell = b.rate(r)
			}
			row.Cells = append(row.Cells, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// groupRatios is the table of the ratios of a group to every library, with their means.
func (b *builder) groupRatios(c contest, g group, command string) document.Table {
	t := document.Table{
		ID: "table-ratios-" + g.figure() + c.suffix, Caption: b.Say("group.ratios", text.Args{"Variant": document.Literal(g.own())}), Command: command,
		Columns: b.columns("size"),
	}
	names := peersOf(g.matches)
	total := document.Row{Cells: []document.Text{b.Say("means.mean")}, Class: "best"}
	for _, name := range names {
		t.Columns = append(t.Columns, document.Column{Title: b.Plain("means.against", text.Args{"Library": algorithm(name)}), Numeric: true})
		m := meanOf(g.matches, name)
		total.Cells = append(total.Cells, times(m.Ratio, m.Lo, m.Hi))
	}
	for _, m := range g.matches {
		row := document.Row{Cells: []document.Text{document.Escape(m.label())}}
		for _, name := range names {
			cell := document.Text(absent)
			if r, ok := m.peer(name); ok {
				x := contrast(r, m.own)
				cell = times(x.Ratio, x.Lo, x.Hi)
			}
			row.Cells = append(row.Cells, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	t.Rows = append(t.Rows, total)
	return t
}

// rate returns the speed of a row with its share of the ceiling, or why it has none.
func (b *builder) rate(r compare.Record) document.Text {
	if !r.Speed() {
		return b.status(r.Status)
	}
	text := significant(float64(r.Gflops))
	if r.PercentPeak.Known() {
		text += fmt.Sprintf(" (%.0f %%)", float64(r.PercentPeak))
	}
	return document.Text(text)
}

// times returns a ratio with its interval.
func times(ratio, lo, hi float64) document.Text {
	text := significant(ratio)
	if known := extent(lo, hi, significant); known != absent {
		text += " (" + strings.ReplaceAll(known, " ", "") + ")"
	}
	return document.Text(text)
}

// partNames are the measurements of the parts of a packed product, in the order of their
// table.
var partNames = []string{"micro-kernel", "micro-kernel-l2", "packing", "update-c"}

// parts shows the measurements of the parts: kernels beside the ceiling of the host, parts
// of a product of a size beside that product.
func (b *builder) parts(c contest) (document.Section, bool) {
	s := b.of(c.view, "parts", "parts.title")
	t := document.Table{
		ID: "table-parts" + c.suffix, Caption: b.Say("parts.caption"),
		Columns: b.columns("part", "params", "#median", "#range", "unit", "#ofceiling", "#ofproduct"),
	}
	for _, name := range partNames {
		for _, m := range c.measurements {
			if m.Name != name || len(m.Samples) == 0 {
				continue
			}
			median := middle(m.Samples)
			ceiling, time := math.NaN(), math.NaN()
			typ, _ := m.Params["type"].(string)
			if n, whole := m.Params["n"].(int); whole {
				time = 100 * c.speedAt(typ, n) / median
			} else if top, ok := c.ceiling(typ, 1); ok {
				ceiling = 100 * median / float64(top.Gflops)
			}
			t.Rows = append(t.Rows, document.Row{Cells: []document.Text{
				b.Say("part." + name), document.Escape(m.Params.String()), document.Text(significant(median)),
				document.Text(extent(slices.Min(m.Samples), slices.Max(m.Samples), significant)), document.Escape(m.Unit),
				document.Text(significant(ceiling)), document.Text(significant(time)),
			}})
		}
	}
	s.Add(t)
	return s, len(t.Rows) > 0
}
