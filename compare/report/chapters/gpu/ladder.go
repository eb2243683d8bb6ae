package gpu

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/chapters"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// gpuLadder is the section on the rungs in their order: the gain and the resources of each.
func (b *builder) gpuLadder(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "gpu-ladder", "gpu-ladder.title")
	s.Text(b.Say("gpu-ladder.intro", text.Args{"Gain": fmt.Sprintf("%g %%", 100*analysis.LeastGain)}))
	found := false
	for _, typ := range v.GPUTypes() {
		rows := v.LadderRows(typ)
		steps := analysis.Climbs(rows)
		if len(steps) == 0 {
			continue
		}
		found = true
		size := analysis.ProblemOf(rows[0])
		command := b.Rerun(v, rows)
		var not []document.Text
		up, most := 0, steps[0]
		for _, c := range steps {
			if c.Gains() {
				up++
			} else {
				not = append(not, document.Literal(analysis.Algorithm(c.After.Variant)))
			}
			if c.Ratio > most.Ratio {
				most = c
			}
		}
		sentence := b.Say("gpu-ladder.of", text.Args{
			"Type": typ, "Size": b.Sizes([]analysis.Problem{size}), "Gains": up, "Steps": len(steps),
		})
		sentence += b.Say("gpu-ladder.most", text.Args{
			"Rung": document.Literal(analysis.Algorithm(most.After.Variant)), "Ratio": number.Significant(most.Ratio),
			"Before": document.Literal(analysis.Algorithm(most.Before.Variant)),
		})
		if len(not) > 0 {
			sentence += b.Say("gpu-ladder.not", text.Args{
				"Rungs": b.Join(not), "Section": document.Link(b.Say("gpu-why.title"), "#gpu-why"+v.Suffix),
			})
		}
		s.Add(document.Paragraph{Text: sentence})
		b.Figure(&s, v, "gpu-ladder-"+typ, "fig.gpu-ladder", command, text.Args{"Type": typ, "Size": size.Label()})
		t, notes := b.climbed(v, typ, size, rows, steps)
		t.Command = command
		b.WithNotes(&s, t, notes)
		if needs := b.needs(v, typ, size, rows); len(needs.Rows) > 0 {
			needs.Command = command
			s.Add(needs)
		}
	}
	return s, found
}

// climbed is the table of the steps, NVIDIA's library last.
func (b *builder) climbed(v *analysis.View, typ string, size analysis.Problem, rows []compare.Record,
	steps []analysis.Climb) (document.Table, []document.Text) {
	t := document.Table{
		ID:      "table-gpu-ladder-" + analysis.Anchor(typ) + v.Suffix,
		Caption: b.Say("gpu-ladder.caption", text.Args{"Type": typ, "Size": size.Label()}),
		Columns: b.Columns("rung", "state", "#median", "#interval", "#tflops", "#ofcublas", "#peak", "#overbefore",
			"#p", "verdict"),
	}
	if slices.ContainsFunc(rows, analysis.Emulates) {
		t.Caption += b.Say("paper.threeproducts")
	}
	var notes []document.Text
	library, found := analysis.At(rows, analysis.CuBLAS, size)
	for _, r := range rows {
		var state document.Text
		state, notes = b.State(r, notes)
		of := document.Text(number.Absent)
		if found {
			of = document.Text(number.Percent(float64(library.Median / r.Median)))
		}
		gain, p, verdict := b.stepTo(r, steps)
		t.Rows = append(t.Rows, document.Row{Class: analysis.Held(r), Cells: []document.Text{
			document.Literal(analysis.Short(r.Variant)), state, document.Text(b.Median(r)), document.Text(b.Ci(r)),
			chapters.Tflops(r), of, chapters.PeakCell(r, analysis.Percent(r)), gain, p, verdict,
		}})
	}
	return t, notes
}

// stepTo returns how much faster a rung is than the one before it, with what probability that
// is chance, and the verdict.
func (b *builder) stepTo(r compare.Record, steps []analysis.Climb) (gain, p, verdict document.Text) {
	gain, p, verdict = document.Text(number.Absent), document.Text(number.Absent), document.Text(number.Absent)
	if i := slices.IndexFunc(steps, func(c analysis.Climb) bool { return c.After.Variant == r.Variant }); i >= 0 {
		c := steps[i]
		gain, p = number.Times(c.Ratio, c.Lo, c.Hi), document.Text(number.Probability(c.P))
		if !math.IsNaN(c.P) {
			verdict = b.Verdict(c.Outcome)
		}
	}
	return gain, p, verdict
}

// needs is the table of what the kernels take of the GPU.
func (b *builder) needs(v *analysis.View, typ string, size analysis.Problem, rows []compare.Record) document.Table {
	t := document.Table{
		ID:      "table-gpu-needs-" + analysis.Anchor(typ) + v.Suffix,
		Caption: b.Say("gpu-needs.caption", text.Args{"Type": typ, "Size": size.Label()}),
		Columns: b.Columns("rung", "tile", "computes", "#blockthreads", "#blocks", "#registers", "#spills", "#shared",
			"#occupancy", "occlimit", "#reads", "#clock"),
	}
	_, powered := extent(rows, powerOf)
	if powered > 0 {
		t.Columns = append(t.Columns, b.Columns("#power")...)
	}
	for _, r := range rows {
		if r.GPU == nil {
			continue
		}
		g := r.GPU
		reads := document.Text(number.Absent)
		if x := analysis.ReadsOf(r); x > 0 {
			reads = document.Text(number.Significant(x))
		}
		row := document.Row{Class: analysis.Held(r), Cells: []document.Text{
			document.Literal(analysis.Short(r.Variant)), number.Settled(analysis.TileOf(r)), document.Escape(g.Pipe),
			number.Numbered(g.Threads), number.Numbered(g.Blocks), number.Numbered(g.Registers),
			document.Text(number.ByteSize(float64(g.Spills))), document.Text(number.ByteSize(float64(g.Shared))), occupancyOf(r),
			b.limits(r), reads, number.Numbered(g.Clock),
		}}
		if powered > 0 {
			row.Cells = append(row.Cells, number.Numbered(powerOf(*g)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// limits names what limits the occupancy of a row.
func (b *builder) limits(r compare.Record) document.Text {
	var names []document.Text
	if r.GPU != nil {
		for _, limit := range r.GPU.Limit {
			names = append(names, b.Word("limit.", limit))
		}
	}
	if len(names) == 0 {
		return number.Absent
	}
	return b.Join(names)
}

// gpuWhy is the section on the rungs without a gain, with the evidence for each possible reason.
func (b *builder) gpuWhy(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "gpu-why", "gpu-why.title")
	s.Text(b.Say("gpu-why.intro"))
	found := false
	for _, typ := range v.GPUTypes() {
		rows := v.LadderRows(typ)
		var items []document.Text
		for _, c := range analysis.Climbs(rows) {
			if !c.Gains() {
				items = append(items, b.why(c))
			}
		}
		if len(analysis.Climbs(rows)) == 0 {
			continue
		}
		found = true
		size := b.Sizes([]analysis.Problem{analysis.ProblemOf(rows[0])})
		if len(items) == 0 {
			s.Text(b.Say("gpu-why.none", text.Args{"Type": typ, "Size": size}))
		} else {
			s.Text(b.Say("gpu-why.of", text.Args{"Type": typ, "Size": size}))
			s.List(items)
		}
		if sentence, ok := b.tensorGap(rows); ok {
			s.Add(document.Paragraph{Text: document.Text(strings.TrimSpace(string(sentence)))})
		}
	}
	return s, found
}

// why says what may account for a step that does not gain.
func (b *builder) why(c analysis.Climb) document.Text {
	sentence := b.Say("why.step", text.Args{
		"Before": document.Literal(analysis.Algorithm(c.Before.Variant)),
		"After":  document.Literal(analysis.Algorithm(c.After.Variant)), "Ratio": number.Times(c.Ratio, c.Lo, c.Hi),
	})
	if key := "meant." + analysis.Algorithm(c.After.Variant); b.Has(key) {
		sentence += b.Say(key)
	}
	reasons, notes := b.differences(c.Before, c.After)
	if len(reasons) == 0 {
		reasons = []document.Text{b.Say("why.unexplained")}
	}
	return sentence + document.Join(append(notes, reasons...), "")
}

// differences returns the differences of two rungs' records that may explain why the second is not faster,
// and other known facts.
func (b *builder) differences(before, after compare.Record) (reasons, notes []document.Text) {
	if before.GPU == nil || after.GPU == nil {
		return nil, nil
	}
	x, y := before.GPU, after.GPU
	if s := analysis.Percent(before) / 100; s >= analysis.NearPeak && x.Pipe == y.Pipe {
		reasons = append(reasons, b.Say("why.peak", text.Args{"Share": number.Percent(s)}))
	}
	if y.Spills > x.Spills {
		reasons = append(reasons, b.Say("why.spills", text.Args{
			"After": number.ByteSize(float64(y.Spills)), "Before": number.ByteSize(float64(x.Spills)),
		}))
	}
	if x.Occupancy > 0 && y.Occupancy > 0 && y.Occupancy < 0.95*x.Occupancy {
		reasons = append(reasons, b.Say("why.occupancy", text.Args{
			"Before": number.Percent(x.Occupancy), "After": number.Percent(y.Occupancy), "Limit": b.limits(after),
			"RegistersBefore": x.Registers, "RegistersAfter": y.Registers,
		}))
	}
	if x.Clock > 0 && y.Clock > 0 && float64(y.Clock) < 0.98*float64(x.Clock) {
		reasons = append(reasons, b.Say("why.clock", text.Args{"Before": x.Clock, "After": y.Clock}))
	}
	if p, q := analysis.ReadsOf(before), analysis.ReadsOf(after); p > 0 && q > 0 {
		switch ratio := p / q; {
		case ratio > 1.05:
			notes = append(notes, b.Say("why.reads", text.Args{"Ratio": number.Significant(ratio)}))
		case ratio >= 0.95:
			notes = append(notes, b.Say("why.samereads"))
		default:
			reasons = append(reasons, b.Say("why.morereads", text.Args{"Ratio": number.Significant(1 / ratio)}))
		}
	}
	switch changes, known := b.changes(x.Counters, y.Counters, 5); {
	case !known:
		notes = append(notes, b.Say("why.nocounters"))
	case len(changes) == 0:
		notes = append(notes, b.Say("why.samecounters"))
	default:
		reasons = append(reasons, b.Say("why.counters", text.Args{"Counters": b.Join(changes)}))
	}
	return reasons, notes
}

// changes returns the profiler's counters that differ most between two kernels, by at least 5 %.
// known is false if they have no common counters.
func (b *builder) changes(x, y map[string]float64, most int) (out []document.Text, known bool) {
	type change struct {
		name string
		size float64
	}
	var all []change
	for _, name := range slices.Sorted(maps.Keys(x)) {
		after, ok := y[name]
		if !ok {
			continue
		}
		known = true
		before := x[name]
		size := math.Abs(math.Log(after / before))
		if before == after {
			size = 0
		}
		if size >= math.Log(1.05) {
			all = append(all, change{name, size})
		}
	}
	slices.SortStableFunc(all, func(p, q change) int {
		switch {
		case p.size > q.size:
			return -1
		case p.size < q.size:
			return 1
		}
		return strings.Compare(p.name, q.name)
	})
	for _, c := range all[:min(most, len(all))] {
		out = append(out, b.Say("why.counter", text.Args{
			"Counter": document.Literal(c.name), "Before": number.Significant(x[c.name]), "After": number.Significant(y[c.name]),
		}))
	}
	return out, known
}

// tensorGap says what keeps the fastest rung in TF32 from NVIDIA's library in the same arithmetic.
func (b *builder) tensorGap(rows []compare.Record) (document.Text, bool) {
	at := slices.IndexFunc(rows, func(r compare.Record) bool { return r.Variant == analysis.CuBLASTF32 })
	if at < 0 {
		return "", false
	}
	library := rows[at]
	own, ok := analysis.Quickest(rows, analysis.ProblemOf(library), analysis.InTF32)
	if !ok {
		return "", false
	}
	c := analysis.Versus(library, own)
	sentence := b.Say("why.tensor", text.Args{
		"Rung": document.Literal(analysis.Algorithm(own.Variant)), "Ratio": number.Times(c.Ratio, c.Lo, c.Hi),
		"Library": document.Literal(analysis.Algorithm(library.Variant)),
	})
	if c.Outcome == analysis.Level {
		return sentence + b.Say("why.level"), true
	}
	if own.GPU == nil {
		return sentence + b.Say("why.unexplained"), true
	}
	var parts []document.Text
	if library.GPU != nil {
		parts, _ = b.changes(library.GPU.Counters, own.GPU.Counters, 10)
	}
	for _, name := range slices.Sorted(maps.Keys(own.GPU.Counters)) {
		if library.GPU == nil || len(library.GPU.Counters) == 0 {
			parts = append(parts, b.Say("why.value", text.Args{
				"Counter": document.Literal(name), "Value": number.Significant(own.GPU.Counters[name]),
			}))
		}
	}
	if own.GPU.Occupancy > 0 {
		sentence += b.Say("why.runs", text.Args{
			"Registers": fmt.Sprint(own.GPU.Registers), "Occupancy": number.Percent(own.GPU.Occupancy),
			"Limit": b.limits(own),
		})
	}
	if len(parts) == 0 {
		return sentence + b.Say("why.nocounters") + b.Say("why.unexplained"), true
	}
	return sentence + b.Say("why.counters", text.Args{"Counters": b.Join(parts)}), true
}
