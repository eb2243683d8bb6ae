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

// reedSolomon is the library that products over GF(2⁸) are held against.
const reedSolomon = "reference/reedsolomon"

// mostShards is how many shards a code over GF(2⁸) has at most.
const mostShards = 256

// encodes reports whether a row is a Reed–Solomon code: k rows of B are its data shards, m
// rows of C its parity shards, n bytes each.
func encodes(r compare.Record) bool {
	p := problemOf(r)
	return r.Type == "gf256" && r.Experiment == "ladder" && p.plain() && !p.cube() && r.M > 0 && r.K > 0 && r.M+r.K <= mostShards
}

// coder is a variant with a number of threads, which is 0 of a GPU.
type coder struct {
	variant string
	threads int
}

func coderOf(r compare.Record) coder {
	if byGPU(r) {
		return coder{variant: r.Variant}
	}
	return coder{r.Variant, max(r.Threads, 1)}
}

// codeName names the code of a problem by its data and parity shards.
func codeName(p problem) string { return fmt.Sprintf("%d+%d", p.k, p.m) }

// codeRows returns the rows of codes, one a coder and problem: that with its parameters at
// their defaults, if it was measured with several.
func (v *view) codeRows() []compare.Record {
	type place struct {
		problem
		variant string
	}
	all := v.pick(encodes)
	var out []compare.Record
	for _, p := range distinct(all, func(r compare.Record) place { return place{problemOf(r), r.Variant} }) {
		if r, ok := at(all, p.variant, p.problem); ok {
			out = append(out, r)
		}
	}
	families := []string{"serial", "parallel", "reference", overRanks.family, onGPU}
	rungs := v.gpuVariants()
	slices.SortStableFunc(out, func(x, y compare.Record) int {
		return cmp.Or(
			cmp.Compare(x.N, y.N), cmp.Compare(x.M, y.M), cmp.Compare(x.K, y.K), cmp.Compare(slices.Index(families, family(x.Variant)), slices.Index(families, family(y.Variant))),
			cmp.Compare(slices.Index(rungs, x.Variant), slices.Index(rungs, y.Variant)), cmp.Compare(x.Threads, y.Threads))
	})
	return out
}

// memoryShare is the part of what a product over GF(2⁸) moves that is data: it reads k
// shards and writes m.
func memoryShare(p problem) float64 { return float64(p.k) / float64(p.k+p.m) }

// dataLimit is the data a second, in GB/s, at which memory would read the data and take the
// parity of a row, each once: by the triad at as many threads, or the GPU's own copies. It
// is NaN where these were not measured.
func (v *view) dataLimit(r compare.Record) float64 {
	if byGPU(r) {
		return memoryShare(problemOf(r)) * v.deviceCopy()
	}
	if triad, ok := v.bandwidth(max(r.Threads, 1)); ok {
		return memoryShare(problemOf(r)) * float64(triad.GBps)
	}
	return math.NaN()
}

// deviceCopy returns the measured bandwidth of copies within the GPU's memory in GB/s, the
// highest where several runs measured it; NaN where none did.
func (v *view) deviceCopy() float64 {
	fastest := math.NaN()
	for _, w := range v.Bandwidths {
		if w.Unit == "gpu" && w.Name == "copy" && w.GBps.Known() && !(float64(w.GBps) <= fastest) {
			fastest = float64(w.GBps)
		}
	}
	return fastest
}

// hostRate is the data a second, in GB/s, that a GPU encodes from and to the memory of the
// host; NaN where copies were not timed.
func hostRate(r compare.Record) float64 {
	return known(r, compare.Number(float64(r.K)*float64(r.N)/withCopies(r)/1e9))
}

// codes is what is said of Reed–Solomon codes on one host: how fast processors and GPUs
// encode, beside the library and what limits them.
func (b *builder) codes(v *view) []document.Section {
	rows := v.codeRows()
	if len(rows) == 0 {
		return nil
	}
	var sections []document.Section
	for _, part := range []func(*view, []compare.Record) (document.Section, bool){b.codesMachine, b.codesTable, b.codesWidths, b.codesLadder} {
		if s, ok := part(v, rows); ok {
			sections = append(sections, s)
		}
	}
	return sections
}

// codesMachine says by which instructions was multiplied, and what they and memory give.
func (b *builder) codesMachine(v *view, rows []compare.Record) (document.Section, bool) {
	s := b.of(v, "codes-machine", "codes-machine.title")
	var kernels []document.Text
	for _, r := range timed(rows) {
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
		ID:      "table-codes-machine" + v.suffix,
		Caption: b.Say("codes-machine.caption"), Command: b.program + " info --peak",
		Columns: b.columns("device", "#threads", "isa", "#gmuls", "#gbps"),
	}
	for _, threads := range v.codeThreads(rows) {
		peak, _ := v.ceiling("gf256", threads)
		triad, _ := v.bandwidth(threads)
		if peak.Gflops > 0 || triad.GBps > 0 {
			t.Rows = append(t.Rows, document.Row{Cells: []document.Text{b.Say("codes-machine.cpu"), numbered(threads), document.Escape(cmp.Or(peak.ISA, absent)), positive(peak.Gflops), positive(triad.GBps)}})
		}
	}
	if copies := v.deviceCopy(); slices.ContainsFunc(rows, byGPU) && !math.IsNaN(copies) {
		t.Rows = append(t.Rows, document.Row{Cells: []document.Text{b.Say("codes-machine.gpu"), absent, absent, absent, document.Text(significant(copies))}})
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
		return absent
	}
	return document.Text(significant(float64(x)))
}

// codeThreads returns the numbers of threads of the processor's rows, ascending.
func (v *view) codeThreads(rows []compare.Record) []int {
	var out []int
	for _, r := range rows {
		if !byGPU(r) && !slices.Contains(out, max(r.Threads, 1)) {
			out = append(out, max(r.Threads, 1))
		}
	}
	slices.Sort(out)
	return out
}

// sweptCode returns the code that was measured at the most widths of shards, three at least,
// as the problem of its least width.
func sweptCode(rows []compare.Record) (problem, bool) {
	widths := map[string]int{}
	least := map[string]problem{}
	most := ""
	for _, p := range distinct(rows, alone) {
		name := codeName(p)
		widths[name]++
		if q, ok := least[name]; !ok || p.n < q.n {
			least[name] = p
		}
		if widths[name] > widths[most] {
			most = name
		}
	}
	return least[most], widths[most] >= 3
}

// sameCode returns the rows of the code of p.
func sameCode(rows []compare.Record, p problem) []compare.Record {
	return slices.DeleteFunc(slices.Clone(rows), func(r compare.Record) bool { return r.K != p.k || r.M != p.m })
}

// atWidths returns the widths of shards at which several codes were measured, ascending, and
// the rows of these; where there is none, all rows.
func atWidths(rows []compare.Record) (widths []int, at []compare.Record) {
	codes := map[int]int{}
	for _, p := range distinct(rows, alone) {
		if codes[p.n]++; codes[p.n] == 2 {
			widths = append(widths, p.n)
		}
	}
	slices.Sort(widths)
	if len(widths) == 0 {
		return nil, rows
	}
	return widths, slices.DeleteFunc(slices.Clone(rows), func(r compare.Record) bool { return !slices.Contains(widths, r.N) })
}

// codesTable is every variant and code, beside the library.
func (b *builder) codesTable(v *view, all []compare.Record) (document.Section, bool) {
	s := b.of(v, "codes-table", "codes-table.title")
	widths, rows := atWidths(all)
	b.codesLibrary(&s, all)
	command := b.rerun(v, rows)
	for _, width := range widths {
		b.figure(&s, v, codesFigure(width), "fig.codes", command, text.Args{"Width": byteSize(float64(width))})
	}
	t, notes := b.codeTable(v, rows, all)
	t.ID, t.Caption, t.Command = "table-codes"+v.suffix, b.Say("codes-table.caption"), command
	b.withNotes(&s, t, notes)
	return s, true
}

// codeTable is a table of rows of codes. The library's are among all.
func (b *builder) codeTable(v *view, rows, all []compare.Record) (document.Table, []document.Text) {
	copied := slices.ContainsFunc(rows, func(r compare.Record) bool { return byGPU(r) && !math.IsNaN(hostRate(r)) })
	heads := []string{"code", "shard", "variant", "#threads", "state", "#median", "#interval", "#datagbps", "#gmuls", "#peak", "#ofmemory", "#overlibrary", "verdict"}
	if copied {
		heads = append(heads, "#hostgbps")
	}
	t := document.Table{Columns: b.columns(heads...)}
	var notes []document.Text
	for _, r := range rows {
		p := problemOf(r)
		var state document.Text
		state, notes = b.state(r, notes)
		over, verdict := b.overLibrary(all, r)
		row := document.Row{Class: held(r), Cells: []document.Text{
			document.Text(codeName(p)), document.Text(byteSize(float64(p.n))), b.name(compare.Record{Variant: r.Variant, Params: omit(r.Params, "threads")}), numbered(coderOf(r).threads), state, document.Text(b.median(r)), document.Text(b.ci(r)),
			document.Text(significant(known(r, r.DataGBps))), document.Text(significant(known(r, r.Rate))), document.Text(significant(known(r, r.PercentPeak))),
			document.Text(percent(known(r, r.DataGBps) / v.dataLimit(r))), over, verdict,
		}}
		if copied {
			rate := document.Text(absent)
			if byGPU(r) {
				rate = document.Text(significant(hostRate(r)))
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

// overLibrary says as cells how many times as fast as the library on as many threads a row
// is; one of a GPU, as the library on the most.
func (b *builder) overLibrary(all []compare.Record, r compare.Record) (ratio, verdict document.Text) {
	var library compare.Record
	for _, o := range all {
		fits := max(o.Threads, 1) == max(r.Threads, 1) || byGPU(r) && o.Threads >= library.Threads
		if o.Variant == reedSolomon && o.Speed() && alone(o) == alone(r) && fits {
			library = o
		}
	}
	if r.Variant == reedSolomon || !r.Speed() || !library.Speed() || library.Variant == "" {
		return absent, absent
	}
	c := beside(library, r)
	verdict = absent
	if !math.IsNaN(c.P) {
		verdict = b.verdict(c.Outcome)
	}
	return times(c.Ratio, c.Lo, c.Hi), verdict
}

// codePlaces names problems by the widths of their shards and the codes of each.
func (b *builder) codePlaces(ps []problem) document.Text {
	var out []document.Text
	for _, width := range distinct(ps, func(p problem) int { return p.n }) {
		var codes []document.Text
		for _, p := range ps {
			if p.n == width {
				codes = append(codes, document.Text(codeName(p)))
			}
		}
		out = append(out, b.Say("codes.places", text.Args{"Width": byteSize(float64(width)), "Codes": b.Join(codes)}))
	}
	return b.Join(out)
}

// codesLibrary says for each number of threads where the suite is ahead of the library.
func (b *builder) codesLibrary(s *document.Section, rows []compare.Record) {
	var items []document.Text
	for _, threads := range distinct(rows, func(r compare.Record) int { return max(r.Threads, 1) }) {
		sorted := map[outcome][]problem{}
		var best, worst comparison
		var bestAt, worstAt document.Text
		var variants []string
		for _, o := range rows {
			if o.Variant != reedSolomon || !o.Speed() || max(o.Threads, 1) != threads {
				continue
			}
			p := problemOf(o)
			own, ok := quickest(rows, p, func(r compare.Record) bool { return ours(r) && !byGPU(r) && inTurn(r, o) })
			if !ok {
				continue
			}
			name := b.Say("codes.at", text.Args{"Code": codeName(p), "Width": byteSize(float64(p.n))})
			c := contrast(o, own)
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
		for _, o := range []outcome{quicker, slower, level, tooFew} {
			if ps := sorted[o]; len(ps) > 0 {
				key := []string{tooFew: "codes.few", level: "codes.level", quicker: "codes.gain", slower: "codes.loss"}[o]
				parts = append(parts, b.Say(key, text.Args{"Places": b.codePlaces(ps)}))
			}
		}
		sentence := b.Say("codes.library", text.Args{
			"Threads": b.Count("threads", threads), "Variants": b.Names(variants),
		}) + b.Sentence(parts)
		if worstAt == bestAt {
			sentence += b.Say("codes.ratio", text.Args{"Ratio": times(best.Ratio, best.Lo, best.Hi)})
		} else {
			sentence += b.Say("codes.range", text.Args{
				"Least": times(worst.Ratio, worst.Lo, worst.Hi), "LeastAt": worstAt,
				"Most": times(best.Ratio, best.Lo, best.Hi), "MostAt": bestAt,
			})
		}
		items = append(items, sentence)
	}
	if len(items) == 0 {
		s.Text(b.Say("codes.nolibrary", text.Args{"Library": document.Literal(reedSolomon)}))
		return
	}
	s.Text(b.Say("codes.beside", text.Args{"Library": document.Literal(reedSolomon)}))
	s.List(items)
}

// codesWidths is one code over the width of its shards, on processors and GPUs.
func (b *builder) codesWidths(v *view, all []compare.Record) (document.Section, bool) {
	p, ok := sweptCode(all)
	if !ok {
		return document.Section{}, false
	}
	s := b.of(v, "codes-widths", "codes-widths.title")
	rows := sameCode(all, p)
	s.Text(b.Say("codes-widths.intro", text.Args{"Code": codeName(p)}))
	b.codesFacing(&s, rows)
	command := b.rerun(v, rows)
	b.figure(&s, v, codesWidthFigure, "fig.codes-width", command, text.Args{"Code": codeName(p)})
	t, notes := b.codeTable(v, rows, all)
	t.ID, t.Caption, t.Command = "table-codes-widths"+v.suffix, b.Say("codes-widths.caption", text.Args{
		"Code": codeName(p),
	}), command
	b.withNotes(&s, t, notes)
	return s, true
}

// codesFacing holds the GPU against the processor at the largest width that both have.
func (b *builder) codesFacing(s *document.Section, rows []compare.Record) {
	var last problem
	fastest := func(p problem, keep func(compare.Record) bool, rate func(compare.Record) float64) (best compare.Record) {
		for _, r := range rows {
			if r.Speed() && alone(r) == p && ours(r) && keep(r) && rate(r) > 0 && (!best.Speed() || rate(r) > rate(best)) {
				best = r
			}
		}
		return best
	}
	data := func(r compare.Record) float64 { return float64(r.DataGBps) }
	cpu := func(r compare.Record) bool { return !byGPU(r) }
	for _, p := range problems(rows) {
		p.threads = 1
		if p.n > last.n && fastest(p, byGPU, data).Speed() && fastest(p, cpu, data).Speed() {
			last = p
		}
	}
	if last.n == 0 {
		return
	}
	own, kernel, copied := fastest(last, cpu, data), fastest(last, byGPU, data), fastest(last, byGPU, hostRate)
	sentence := b.Say("codes-widths.facing", text.Args{
		"Width": byteSize(float64(last.n)), "Variant": document.Literal(own.Variant),
		"Threads": b.Count("threads", max(own.Threads, 1)), "Rate": significant(data(own)),
		"Rung": document.Literal(kernel.Variant), "RungRate": significant(data(kernel)),
		"Ratio": significant(data(kernel) / data(own)),
	})
	if copied.Speed() {
		sentence += b.Say("codes-widths.copied", text.Args{
			"Rung": document.Literal(copied.Variant), "Rate": significant(hostRate(copied)),
			"Ratio": significant(hostRate(copied) / data(own)),
		})
	}
	s.Add(document.Paragraph{Text: sentence})
}

// codeLadder returns the timed rungs at the problem that most of them have, the largest of
// those that are level.
func (v *view) codeLadder() []compare.Record {
	rows := slices.DeleteFunc(v.rungs("gf256"), func(r compare.Record) bool { return !encodes(r) })
	var best []compare.Record
	for _, p := range problems(rows) {
		here := slices.DeleteFunc(slices.Clone(rows), func(r compare.Record) bool { return problemOf(r) != p })
		if len(here) >= len(best) {
			best = here
		}
	}
	return best
}

// codesLadder is the rungs of the GPU in their order, what each gains and what it takes.
func (b *builder) codesLadder(v *view, _ []compare.Record) (document.Section, bool) {
	rows := v.codeLadder()
	steps := climbs(rows)
	if len(steps) == 0 {
		return document.Section{}, false
	}
	s := b.of(v, "codes-ladder", "codes-ladder.title")
	size := problemOf(rows[0])
	up, most := 0, steps[0]
	var not []document.Text
	for _, c := range steps {
		if c.gains() {
			up++
		} else {
			not = append(not, b.why(c))
		}
		if c.Ratio > most.Ratio {
			most = c
		}
	}
	s.Text(b.Say("codes-ladder.intro", text.Args{
		"Code": codeName(size), "Width": byteSize(float64(size.n)), "Gain": fmt.Sprintf("%g %%", 100*leastGain),
	}))
	sentence := b.Say("codes-ladder.of", text.Args{
		"Gains": up, "Steps": len(steps),
	}) + b.Say("gpu-ladder.most", text.Args{
		"Rung": document.Literal(algorithm(most.after.Variant)), "Ratio": significant(most.Ratio),
		"Before": document.Literal(algorithm(most.before.Variant)),
	})
	s.Add(document.Paragraph{Text: document.Text(strings.TrimSpace(string(sentence)))})
	s.List(not)
	command := b.rerun(v, rows)
	b.figure(&s, v, codesLadderFigure, "fig.codes-ladder", command, text.Args{
		"Code": codeName(size), "Width": byteSize(float64(size.n)),
	})
	t := document.Table{
		ID:      "table-codes-ladder" + v.suffix,
		Caption: b.Say("codes-ladder.caption", text.Args{"Code": codeName(size), "Width": byteSize(float64(size.n))}),
		Command: command,
		Columns: b.columns("rung", "state", "#median", "#interval", "#datagbps", "#gmuls", "#ofmemory", "#overbefore", "#p", "verdict"),
	}
	var notes []document.Text
	for _, r := range rows {
		var state document.Text
		state, notes = b.state(r, notes)
		gain, p, verdict := b.stepTo(r, steps)
		t.Rows = append(t.Rows, document.Row{Class: held(r), Cells: []document.Text{
			document.Literal(algorithm(r.Variant)), state, document.Text(b.median(r)), document.Text(b.ci(r)), document.Text(significant(known(r, r.DataGBps))), document.Text(significant(known(r, r.Rate))),
			document.Text(percent(known(r, r.DataGBps) / v.dataLimit(r))), gain, p, verdict,
		}})
	}
	b.withNotes(&s, t, notes)
	if needs := b.needs(v, "gf256", size, rows); len(needs.Rows) > 0 {
		needs.Command = command
		s.Add(needs)
	}
	return s, true
}
