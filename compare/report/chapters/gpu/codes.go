package gpu

import (
	"math"
	"slices"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/chapters"
	"gemm/compare/report/document"
	"gemm/compare/report/figures"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// Codes is the section about Reed–Solomon codes on one host: how fast processors and GPUs encode,
// compared with the library and with their limits.
func Codes(base *chapters.Builder, v *analysis.View) []document.Section {
	b := &builder{base}
	rows := v.CodeRows()
	if len(rows) == 0 {
		return nil
	}
	if s, ok := b.codesTable(v, rows); ok {
		return []document.Section{s}
	}
	return nil
}

// codesTable is the table of all variants and codes, compared with the library.
func (b *builder) codesTable(v *analysis.View, all []compare.Record) (document.Section, bool) {
	s := b.Of(v, "codes-table", "codes-table.title")
	widths, rows := analysis.AtWidths(all)
	b.codesLibrary(&s, v, all)
	command := b.Rerun(v, rows)
	for _, width := range widths {
		b.Figure(&s, v, figures.Codes(width), "fig.codes", command, text.Args{"Width": number.ByteSize(float64(width))})
	}
	if rows = b.WithoutUnavailable(&s, rows); len(rows) == 0 {
		return s, true
	}
	t, notes := b.codeTable(v, rows, all)
	t.ID, t.Caption, t.Command = "table-codes"+v.Suffix, b.Say("codes-table.caption"), command
	b.WithNotes(&s, t, notes)
	return s, true
}

// codeTable is a table of rows of codes. The library's are among all.
func (b *builder) codeTable(v *analysis.View, rows, all []compare.Record) (document.Table, []document.Text) {
	copied := slices.ContainsFunc(rows,
		func(r compare.Record) bool { return analysis.ByGPU(r) && !math.IsNaN(analysis.HostRate(r)) })
	heads := []string{"code", "shard", "variant", "#threads", "state", "#median", "#interval", "#datagbps", "#gmuls",
		"#peak", "#ofmemory", "#overlibrary", "verdict"}
	if copied {
		heads = append(heads, "#hostgbps")
	}
	t := document.Table{Columns: b.Columns(heads...)}
	var notes []document.Text
	for _, r := range rows {
		p := analysis.ProblemOf(r)
		var state document.Text
		state, notes = b.State(r, notes)
		over, verdict := b.overLibrary(all, r)
		row := document.Row{Class: analysis.Held(r), Cells: []document.Text{
			document.Text(analysis.CodeName(p)), document.Text(number.ByteSize(float64(p.N))),
			b.Name(compare.Record{Key: compare.Key{Variant: r.Variant}, Params: analysis.Omit(r.Params, "threads")}),
			number.Numbered(analysis.CoderOf(r).Threads), state, document.Text(b.Median(r)), document.Text(b.Ci(r)),
			document.Text(number.Significant(analysis.Known(r, r.DataGBps))),
			document.Text(number.Significant(analysis.Known(r, r.Rate))),
			document.Text(number.OfPeak(analysis.Percent(r))),
			b.OfMemory(analysis.Known(r, r.DataGBps) / v.DataLimit(r)), over, verdict,
		}}
		if copied {
			rate := document.Text(number.Absent)
			if analysis.ByGPU(r) {
				rate = document.Text(number.Significant(analysis.HostRate(r)))
			}
			row.Cells = append(row.Cells, rate)
		}
		if r.Status == compare.Wrong {
			row.Class = "wrong"
		}
		t.Rows = append(t.Rows, row)
	}
	return t, notes
}

// overLibrary returns cells with the ratio of a row to the library on as many threads. A row of a
// GPU is compared with the library on the most threads.
func (b *builder) overLibrary(all []compare.Record, r compare.Record) (ratio, verdict document.Text) {
	var library compare.Record
	for _, o := range all {
		fits := max(o.Threads, 1) == max(r.Threads, 1) || analysis.ByGPU(r) && o.Threads >= library.Threads
		if analysis.Rival(o) && o.Speed() && analysis.Alone(o) == analysis.Alone(r) && fits {
			library = o
		}
	}
	if analysis.Rival(r) || !r.Speed() || !library.Speed() || library.Variant == "" {
		return number.Absent, number.Absent
	}
	c := analysis.Versus(library, r)
	verdict = number.Absent
	if !math.IsNaN(c.P) {
		verdict = b.Verdict(c.Outcome)
	}
	return number.Times(c.Ratio, c.Lo, c.Hi), verdict
}

// codePlaces names problems by the widths of their shards and the codes of each.
func (b *builder) codePlaces(ps []analysis.Problem) document.Text {
	var out []document.Text
	for _, width := range analysis.Distinct(ps, func(p analysis.Problem) int { return p.N }) {
		var codes []document.Text
		for _, p := range ps {
			if p.N == width {
				codes = append(codes, document.Text(analysis.CodeName(p)))
			}
		}
		out = append(out, b.Say("codes.places", text.Args{"Width": number.ByteSize(float64(width)), "Codes": b.Join(codes)}))
	}
	return b.Join(out)
}

// codesLibrary says for each number of threads where the suite is ahead of the library.
func (b *builder) codesLibrary(s *document.Section, v *analysis.View, rows []compare.Record) {
	var items []document.Text
	for _, threads := range analysis.Distinct(rows, func(r compare.Record) int { return max(r.Threads, 1) }) {
		sorted := map[analysis.Outcome][]analysis.Problem{}
		var best, worst analysis.Comparison
		var bestAt, worstAt document.Text
		var variants []string
		for _, o := range rows {
			if !analysis.Rival(o) || !o.Speed() || max(o.Threads, 1) != threads {
				continue
			}
			p := analysis.ProblemOf(o)
			own, ok := analysis.Quickest(rows, p,
				func(r compare.Record) bool { return analysis.Ours(r) && !analysis.ByGPU(r) && analysis.InTurn(r, o) })
			if !ok {
				continue
			}
			name := b.Say("codes.at", text.Args{"Code": analysis.CodeName(p), "Width": number.ByteSize(float64(p.N))})
			c := analysis.Contrast(o, own)
			sorted[c.Outcome] = append(sorted[c.Outcome], p)
			if bestAt == "" || c.Ratio > best.Ratio {
				best, bestAt = c, name
			}
			if worstAt == "" || c.Ratio < worst.Ratio {
				worst, worstAt = c, name
			}
			if !slices.Contains(variants, own.Variant) {
				variants = append(variants, own.Variant)
			}
		}
		if bestAt == "" {
			continue
		}
		var parts []document.Text
		for _, o := range []analysis.Outcome{analysis.Quicker, analysis.Slower, analysis.Level, analysis.TooFew} {
			if ps := sorted[o]; len(ps) > 0 {
				key := []string{analysis.TooFew: "codes.few", analysis.Level: "codes.level", analysis.Quicker: "codes.gain",
					analysis.Slower: "codes.loss"}[o]
				parts = append(parts, b.Say(key, text.Args{"Places": b.codePlaces(ps)}))
			}
		}
		sentence := b.Say("codes.library", text.Args{
			"Threads": b.Count("threads", threads), "Variants": b.Names(variants),
		}) + b.Sentence(parts)
		if _, _, same := number.Between(worst.Ratio, best.Ratio, number.Significant); same {
			sentence += b.Say("codes.ratio", text.Args{"Ratio": number.Times(best.Ratio, best.Lo, best.Hi)})
		} else {
			sentence += b.Say("codes.range", text.Args{
				"Least": number.Times(worst.Ratio, worst.Lo, worst.Hi), "LeastAt": worstAt,
				"Most": number.Times(best.Ratio, best.Lo, best.Hi), "MostAt": bestAt,
			})
		}
		items = append(items, sentence)
	}
	if len(items) == 0 {
		s.Text(b.Say("codes.nolibrary", text.Args{"Library": document.Literal(v.OfField())}))
		return
	}
	s.Text(b.Say("codes.beside", text.Args{"Library": document.Literal(v.OfField())}))
	s.List(items)
}
