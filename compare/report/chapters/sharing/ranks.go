package sharing

import (
	"fmt"
	"slices"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/chapters"
	"gemm/compare/report/document"
	"gemm/compare/report/figures"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// Ranks is the chapter about the family mpi on one host: its variants by ranks and sizes, where
// their time goes, the bytes that they send compared with the least possible, how they scale, and
// the findings of the 2024 report.
func Ranks(base *chapters.Builder, v *analysis.View) []document.Section {
	b := &builder{base}
	if !v.Distributes() {
		return nil
	}
	var sections []document.Section
	for _, part := range []func(*analysis.View) (document.Section, bool){
		b.ranked, b.distributions, b.besideLibrary, b.phases, b.bytes, b.shares, b.modelled,
		b.strong(analysis.OverRanks), b.weak(analysis.OverRanks),
		b.strong(analysis.OverHosts), b.weak(analysis.OverHosts), b.placing(analysis.OverRanks, compare.PanelWidths),
		b.placing(analysis.OverRanks, compare.RankSchedules), b.placing(analysis.OverRanks, compare.Affinities),
		b.overlap, b.rankFindings,
	} {
		if s, ok := part(v); ok {
			sections = append(sections, s)
		}
	}
	return sections
}

// place returns the cells that identify a row of the family mpi, and their heads: variant, setting, size,
// ranks, and hosts if some row of v has several.
func place(v *analysis.View) (heads []string, cells func(compare.Record) []document.Text) {
	heads = []string{"variant", "setting", "size", "#ranks"}
	several := v.SpansHosts()
	if several {
		heads = append(heads, "#hosts")
	}
	return heads, func(r compare.Record) []document.Text {
		out := []document.Text{
			document.Literal(r.Variant), number.Settled(v.Trait(r.Variant, r.Params)),
			document.Escape(analysis.ProblemOf(r).Label()), document.Text(fmt.Sprint(analysis.OverRanks.Count(r))),
		}
		if several {
			out = append(out, document.Text(fmt.Sprint(max(1, analysis.Hosts(r)))))
		}
		return out
	}
}

// ranked is the section on all variants by ranks and sizes.
func (b *builder) ranked(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "mpi-variants", "mpi-variants.title")
	s.Text(b.Say("mpi-variants.intro"))
	rows := v.OfRanks()
	if common := analysis.Setting(analysis.Constants(analysis.Settled(rows))); common != "" {
		s.Text(b.Say("mpi-variants.common", text.Args{"Parameters": common}))
	}
	if slices.ContainsFunc(rows, func(r compare.Record) bool { return v.Crowds(r) }) {
		s.Text(b.Say("mpi-variants.crowded", text.Args{"Processors": fmt.Sprintf("%.4g", v.Granted())}))
	}
	for _, typ := range analysis.Types(rows) {
		own := slices.DeleteFunc(slices.Clone(rows), func(r compare.Record) bool { return r.Type != typ })
		command := b.Rerun(v, own)
		var items []document.Text
		sizes := analysis.Distinct(own, analysis.Alone)
		slices.SortFunc(sizes, analysis.Problem.Compare)
		for _, p := range sizes {
			best := compare.Record{Median: compare.None()}
			for _, r := range v.OfRanksIn(typ) {
				if analysis.Alone(r) == p && !v.Crowds(r) && !(r.Median >= best.Median) {
					best = r
				}
			}
			if best.Median.Known() {
				items = append(items, b.Say("mpi-variants.best", text.Args{
					"Type": typ, "Row": b.Where(v, best), "Time": number.Seconds(float64(best.Median)),
				}))
			}
		}
		s.List(items)
		for _, p := range sizes {
			b.Figure(&s, v, figures.WaysID(typ, p), "fig.mpi-ways", command, text.Args{"Type": typ, "Size": p.Label()})
		}
		heads, cells := place(v)
		t := document.Table{
			ID:      "table-mpi-variants-" + analysis.Anchor(typ) + v.Suffix,
			Caption: b.Say("mpi-variants.caption", text.Args{"Type": typ}), Command: command,
			Columns: b.Columns(append(heads, "#rankthreads", "#used", "state", "#median", "#interval", "#overonerank",
				"#ofceiling")...),
		}
		for _, r := range own {
			used := document.Text(number.Absent)
			if r.RanksUsed > 0 {
				used = document.Text(fmt.Sprint(r.RanksUsed))
			}
			over := document.Text(number.Absent)
			if one, ok := analysis.OneRank(own, r); ok && r.Speed() && analysis.OverRanks.Count(r) > 1 {
				c := analysis.Versus(one, r)
				over = number.Times(c.Ratio, c.Lo, c.Hi)
			}
			t.Rows = append(t.Rows, document.Row{Class: v.Muted(r), Cells: append(cells(r),
				document.Text(fmt.Sprint(r.Threads/analysis.OverRanks.Count(r))), used, b.Status(r.Status),
				document.Text(b.Median(r)), document.Text(b.Ci(r)), over,
				document.Text(number.Percent(analysis.Percent(r)/100)+number.Dagger(analysis.Percent(r))))})
		}
		s.Add(t)
	}
	return s, true
}

// distributions is the section on the experiment of the 2024 report: three ways to share a product out, with
// the plain loops on each rank.
func (b *builder) distributions(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "mpi-distribution", "mpi-distribution.title")
	s.Text(b.Say("mpi-distribution.intro", text.Args{"Local": document.Literal(analysis.Baseline)}))
	found := false
	for _, typ := range v.TypesOf(analysis.OverRanks) {
		all := v.Distributions(typ)
		if len(all) == 0 {
			continue
		}
		found = true
		var used []compare.Record
		t := document.Table{
			ID:      "table-mpi-distribution-" + analysis.Anchor(typ) + v.Suffix,
			Caption: b.Say("mpi-distribution.caption", text.Args{"Type": typ}),
			Columns: b.Columns("size", "#ranks", "#p2prows", "#scatterrows", "#scatterblocks", "#messagesrows",
				"#rowsblocks"),
		}
		for _, d := range all {
			cells := []document.Text{document.Escape(d.Label()), document.Text(fmt.Sprint(d.Ranks))}
			class := ""
			for _, r := range d.Rows {
				cells = append(cells, document.Text(b.Median(r)))
				if r.Speed() {
					used = append(used, r)
					class = v.Muted(r)
				}
			}
			rows := d.Rows[1]
			t.Rows = append(t.Rows, document.Row{Class: class, Cells: append(cells,
				chapters.OverCell(d.Rows[0], rows, true), chapters.OverCell(rows, d.Rows[2], true))})
		}
		t.Command = b.Rerun(v, used)
		b.Figure(&s, v, "mpi-distribution-"+typ, "fig.mpi-distribution", t.Command, text.Args{"Type": typ})
		s.Add(t)
	}
	return s, found
}

// phases is the section on where the time goes.
func (b *builder) phases(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "mpi-phases", "mpi-phases.title")
	s.Text(b.Say("mpi-phases.intro"))
	found := false
	for _, typ := range v.TypesOf(analysis.OverRanks) {
		rows := v.Phased(typ)
		if len(rows) == 0 {
			continue
		}
		found = true
		command := b.Rerun(v, rows)
		main := v.Foremost(rows)
		var parts []document.Text
		for _, r := range main {
			phases, name, total := analysis.Slowest(r), "", 0.0
			for _, phase := range analysis.PhaseNames {
				total += phases[phase]
				if name == "" || phases[phase] > phases[name] {
					name = phase
				}
			}
			if total > 0 {
				parts = append(parts, b.Say("mpi-phases.part", text.Args{
					"Variant": document.Literal(analysis.Algorithm(r.Variant)), "Phase": b.Say("col.phase." + name),
					"Share": number.Percent(phases[name] / total),
				}))
			}
		}
		if len(parts) > 0 {
			s.Text(b.Say("mpi-phases.most", text.Args{
				"Type": typ, "Size": b.Sizes([]analysis.Problem{analysis.Alone(main[0])}),
				"Ranks": b.Count("ranks", analysis.OverRanks.Count(main[0])), "Parts": b.Join(parts),
			}))
		}
		b.Figure(&s, v, "mpi-phases-"+typ, "fig.mpi-phases", command, text.Args{"Type": typ})
		heads, cells := place(v)
		heads = append(heads, "#median")
		var present []string
		for _, phase := range analysis.PhaseNames {
			if slices.ContainsFunc(rows, func(r compare.Record) bool { _, _, ok := analysis.PhaseSpread(r, phase); return ok }) {
				present = append(present, phase)
				heads = append(heads, "#phase."+phase)
			}
		}
		t := document.Table{
			ID:      "table-mpi-phases-" + analysis.Anchor(typ) + v.Suffix,
			Caption: b.Say("mpi-phases.caption", text.Args{"Type": typ}),
			Command: command, Columns: b.Columns(heads...),
		}
		for _, r := range rows {
			line := append(cells(r), document.Text(b.Median(r)))
			for _, phase := range present {
				cell := document.Text(number.Absent)
				if most, least, ok := analysis.PhaseSpread(r, phase); ok {
					cell = document.Text(number.Seconds(most))
					if least < most {
						cell += document.Text(" (" + number.Seconds(least) + ")")
					}
				}
				line = append(line, cell)
			}
			t.Rows = append(t.Rows, document.Row{Cells: line, Class: v.Muted(r)})
		}
		s.Add(t)
	}
	Ensemble(b.Builder, &s, v, analysis.OnRanks, "")
	return s, found
}
