package gpu

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

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
	var sections []document.Section
	for _, part := range []func(*analysis.View, []compare.Record) (document.Section, bool){b.codesMachine, b.codesTable,
		b.codesWidths, b.codesLadder} {
		if s, ok := part(v, rows); ok {
			sections = append(sections, s)
		}
	}
	if s, ok := b.codesTiles(v); ok {
		sections = append(sections, s)
	}
	return sections
}

// codesMachine is the section on the instructions used, their peak rate, and the bandwidth of memory.
func (b *builder) codesMachine(v *analysis.View, rows []compare.Record) (document.Section, bool) {
	s := b.Of(v, "codes-machine", "codes-machine.title")
	var kernels []document.Text
	for _, r := range analysis.Timed(rows) {
		if name, ok := r.Resolved["kernel"].(string); ok && !slices.Contains(kernels, document.Literal(name)) {
			kernels = append(kernels, document.Literal(name))
		}
	}
	if len(kernels) > 0 {
		s.Text(b.Say("codes-machine.kernel", text.Args{
			"Instructions": document.Escape(v.ISA), "Kernels": b.Join(kernels),
		}))
	}
	t := document.Table{
		ID:      "table-codes-machine" + v.Suffix,
		Caption: b.Say("codes-machine.caption"), Command: b.Program + " info --peak",
		Columns: b.Columns("device", "#threads", "isa", "#gmuls", "#gbps"),
	}
	for _, threads := range v.CodeThreads(rows) {
		peak, _ := v.Ceiling("gf256", threads)
		triad, _ := v.Bandwidth(threads)
		if peak.Gflops > 0 || triad.GBps > 0 {
			t.Rows = append(t.Rows, document.Row{Cells: []document.Text{b.Say("codes-machine.cpu"), number.Numbered(threads),
				document.Escape(cmp.Or(peak.ISA, number.Absent)), positive(peak.Gflops), positive(triad.GBps)}})
		}
	}
	if copies := v.DeviceCopy(); slices.ContainsFunc(rows, analysis.ByGPU) && !math.IsNaN(copies) {
		t.Rows = append(t.Rows, document.Row{Cells: []document.Text{b.Say("codes-machine.gpu"), number.Absent, number.Absent,
			number.Absent, document.Text(number.Significant(copies))}})
	}
	s.Text(b.Say("codes-machine.limits"))
	if len(t.Rows) > 0 {
		s.Add(t)
	}
	return s, len(kernels) > 0 || len(t.Rows) > 0
}

// positive returns x as a cell, absent unless it is above 0.
func positive(x compare.Number) document.Text {
	if !(x > 0) {
		return number.Absent
	}
	return document.Text(number.Significant(float64(x)))
}

// codesTable is the table of all variants and codes, compared with the library.
func (b *builder) codesTable(v *analysis.View, all []compare.Record) (document.Section, bool) {
	s := b.Of(v, "codes-table", "codes-table.title")
	widths, rows := analysis.AtWidths(all)
	b.codesLibrary(&s, all)
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
		if o.Variant == analysis.ReedSolomon && o.Speed() && analysis.Alone(o) == analysis.Alone(r) && fits {
			library = o
		}
	}
	if r.Variant == analysis.ReedSolomon || !r.Speed() || !library.Speed() || library.Variant == "" {
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
func (b *builder) codesLibrary(s *document.Section, rows []compare.Record) {
	var items []document.Text
	for _, threads := range analysis.Distinct(rows, func(r compare.Record) int { return max(r.Threads, 1) }) {
		sorted := map[analysis.Outcome][]analysis.Problem{}
		var best, worst analysis.Comparison
		var bestAt, worstAt document.Text
		var variants []string
		for _, o := range rows {
			if o.Variant != analysis.ReedSolomon || !o.Speed() || max(o.Threads, 1) != threads {
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
		s.Text(b.Say("codes.nolibrary", text.Args{"Library": document.Literal(analysis.ReedSolomon)}))
		return
	}
	s.Text(b.Say("codes.beside", text.Args{"Library": document.Literal(analysis.ReedSolomon)}))
	s.List(items)
}

// codesWidths is one code over the width of its shards, on processors and GPUs.
func (b *builder) codesWidths(v *analysis.View, all []compare.Record) (document.Section, bool) {
	p, ok := analysis.SweptCode(all)
	if !ok {
		return document.Section{}, false
	}
	s := b.Of(v, "codes-widths", "codes-widths.title")
	rows := analysis.SameCode(all, p)
	s.Text(b.Say("codes-widths.intro", text.Args{"Code": analysis.CodeName(p)}))
	b.codesFacing(&s, rows)
	command := b.Rerun(v, rows)
	b.Figure(&s, v, figures.CodesWidth, "fig.codes-width", command, text.Args{"Code": analysis.CodeName(p)})
	if rows = b.WithoutUnavailable(&s, rows); len(rows) == 0 {
		return s, true
	}
	t, notes := b.codeTable(v, rows, all)
	t.ID, t.Caption, t.Command = "table-codes-widths"+v.Suffix, b.Say("codes-widths.caption", text.Args{
		"Code": analysis.CodeName(p),
	}), command
	b.WithNotes(&s, t, notes)
	return s, true
}

// codesFacing holds the GPU against the processor at the largest width that both have.
func (b *builder) codesFacing(s *document.Section, rows []compare.Record) {
	var last analysis.Problem
	fastest := func(p analysis.Problem, keep func(compare.Record) bool,
		rate func(compare.Record) float64) (best compare.Record) {
		for _, r := range rows {
			if r.Speed() && analysis.Alone(r) == p && analysis.Ours(r) && keep(r) && rate(r) > 0 &&
				(!best.Speed() || rate(r) > rate(best)) {
				best = r
			}
		}
		return best
	}
	data := func(r compare.Record) float64 { return float64(r.DataGBps) }
	cpu := func(r compare.Record) bool { return !analysis.ByGPU(r) }
	for _, p := range analysis.Problems(rows) {
		p.Threads = 1
		if p.N > last.N && fastest(p, analysis.ByGPU, data).Speed() && fastest(p, cpu, data).Speed() {
			last = p
		}
	}
	if last.N == 0 {
		return
	}
	own, kernel, copied := fastest(last, cpu, data), fastest(last, analysis.ByGPU, data),
		fastest(last, analysis.ByGPU, analysis.HostRate)
	sentence := b.Say("codes-widths.facing", text.Args{
		"Width": number.ByteSize(float64(last.N)), "Variant": document.Literal(own.Variant),
		"Threads": b.Count("threads", max(own.Threads, 1)), "Rate": number.Significant(data(own)),
		"Rung": document.Literal(kernel.Variant), "RungRate": number.Significant(data(kernel)),
		"Ratio": number.Significant(data(kernel) / data(own)),
	})
	if copied.Speed() {
		sentence += b.Say("codes-widths.copied", text.Args{
			"Rung": document.Literal(copied.Variant), "Rate": number.Significant(analysis.HostRate(copied)),
			"Ratio": number.Significant(analysis.HostRate(copied) / data(own)),
		})
	}
	s.Add(document.Paragraph{Text: sentence})
}

// codesLadder is the section on the rungs of the GPU in their order: the gain and the resources of each.
func (b *builder) codesLadder(v *analysis.View, _ []compare.Record) (document.Section, bool) {
	rows := v.CodeLadder()
	steps := analysis.Climbs(rows)
	if len(steps) == 0 {
		return document.Section{}, false
	}
	s := b.Of(v, "codes-ladder", "codes-ladder.title")
	size := analysis.ProblemOf(rows[0])
	up, most := 0, steps[0]
	var not []document.Text
	for _, c := range steps {
		if c.Gains() {
			up++
		} else {
			not = append(not, b.why(c))
		}
		if c.Ratio > most.Ratio {
			most = c
		}
	}
	s.Text(b.Say("codes-ladder.intro", text.Args{
		"Code": analysis.CodeName(size), "Width": number.ByteSize(float64(size.N)),
		"Gain": fmt.Sprintf("%g %%", 100*analysis.LeastGain),
	}))
	sentence := b.Say("codes-ladder.of", text.Args{
		"Gains": up, "Steps": len(steps),
	}) + b.Say("gpu-ladder.most", text.Args{
		"Rung": document.Literal(analysis.Algorithm(most.After.Variant)), "Ratio": number.Significant(most.Ratio),
		"Before": document.Literal(analysis.Algorithm(most.Before.Variant)),
	})
	s.Add(document.Paragraph{Text: document.Text(strings.TrimSpace(string(sentence)))})
	s.List(not)
	command := b.Rerun(v, rows)
	b.Figure(&s, v, figures.CodesLadder, "fig.codes-ladder", command, text.Args{
		"Code": analysis.CodeName(size), "Width": number.ByteSize(float64(size.N)),
	})
	t := document.Table{
		ID: "table-codes-ladder" + v.Suffix,
		Caption: b.Say("codes-ladder.caption",
			text.Args{"Code": analysis.CodeName(size), "Width": number.ByteSize(float64(size.N))}),
		Command: command,
		Columns: b.Columns("rung", "state", "#median", "#interval", "#datagbps", "#gmuls", "#ofmemory", "#overbefore",
			"#p", "verdict"),
	}
	var notes []document.Text
	for _, r := range rows {
		var state document.Text
		state, notes = b.State(r, notes)
		gain, p, verdict := b.stepTo(r, steps)
		t.Rows = append(t.Rows, document.Row{Class: analysis.Held(r), Cells: []document.Text{
			document.Literal(analysis.Algorithm(r.Variant)), state, document.Text(b.Median(r)), document.Text(b.Ci(r)),
			document.Text(number.Significant(analysis.Known(r, r.DataGBps))),
			document.Text(number.Significant(analysis.Known(r, r.Rate))),
			b.OfMemory(analysis.Known(r, r.DataGBps) / v.DataLimit(r)), gain, p, verdict,
		}})
	}
	b.WithNotes(&s, t, notes)
	if needs := b.needs(v, "gf256", size, rows); len(needs.Rows) > 0 {
		needs.Command = command
		s.Add(needs)
	}
	return s, true
}
