package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gemm/compare"
	"gemm/compare/report/document"
	"gemm/compare/report/text"
)

// ladderSize is the size at which the ladder is read, where it was measured.
const ladderSize = 4096

// leastGain is what a rung has to gain over the one before it to be said to gain.
const leastGain = 0.02

// climb is a step of the ladder on the GPU.
type climb struct {
	before, after compare.Record
	comparison
}

// gains reports whether the step is one up: by leastGain, and not within the noise.
func (c climb) gains() bool {
	return c.Ratio >= 1+leastGain && c.Outcome != level && c.Outcome != slower
}

// ladderRows returns the rows of a type at the size at which its ladder is read: that of
// ladderSize, or else the largest at which most rungs were timed.
func (v *view) ladderRows(typ string) []compare.Record {
	rows := v.rungs(typ)
	var best []compare.Record
	for _, p := range problems(rows) {
		if !p.cube() {
			continue
		}
		here := slices.DeleteFunc(slices.Clone(rows), func(r compare.Record) bool { return problemOf(r) != p })
		switch {
		case p.n == ladderSize && len(here) > 2:
			return here
		case len(here) >= len(best):
			best = here
		}
	}
	return best
}

// climbs returns the steps between neighbours of the ladder among rows of one size.
func climbs(rows []compare.Record) []climb {
	var out []climb
	rungs := slices.DeleteFunc(slices.Clone(rows), func(r compare.Record) bool { return !ours(r) })
	for i := 1; i < len(rungs); i++ {
		out = append(out, climb{rungs[i-1], rungs[i], beside(rungs[i-1], rungs[i])})
	}
	return out
}

// gpuLadder is the section on the rungs in their order, what each gains and what it takes.
func (b *builder) gpuLadder(v *view) (document.Section, bool) {
	s := b.of(v, "gpu-ladder", "gpu-ladder.title")
	s.Text(b.Say("gpu-ladder.intro", text.Args{"Gain": fmt.Sprintf("%g %%", 100*leastGain)}))
	found := false
	for _, typ := range v.gpuTypes() {
		rows := v.ladderRows(typ)
		steps := climbs(rows)
		if len(steps) == 0 {
			continue
		}
		found = true
		size := problemOf(rows[0])
		command := b.rerun(v, rows)
		var not []document.Text
		up, most := 0, steps[0]
		for _, c := range steps {
			if c.gains() {
				up++
			} else {
				not = append(not, document.Literal(algorithm(c.after.Variant)))
			}
			if c.Ratio > most.Ratio {
				most = c
			}
		}
		sentence := b.Say("gpu-ladder.of", text.Args{
			"Type": typ, "Size": b.sizes([]problem{size}), "Gains": up, "Steps": len(steps),
		})
		sentence += b.Say("gpu-ladder.most", text.Args{
			"Rung": document.Literal(algorithm(most.after.Variant)), "Ratio": significant(most.Ratio),
			"Before": document.Literal(algorithm(most.before.Variant)),
		})
		if len(not) > 0 {
			sentence += b.Say("gpu-ladder.not", text.Args{
				"Rungs": b.Join(not), "Section": document.Link(b.Say("gpu-why.title"), "#gpu-why"+v.suffix),
			})
		}
		s.Add(document.Paragraph{Text: sentence})
		b.figure(&s, v, "gpu-ladder-"+typ, "fig.gpu-ladder", command, text.Args{"Type": typ, "Size": size.label()})
		t, notes := b.climbed(v, typ, size, rows, steps)
		t.Command = command
		b.withNotes(&s, t, notes)
		if needs := b.needs(v, typ, size, rows); len(needs.Rows) > 0 {
			needs.Command = command
			s.Add(needs)
		}
	}
	return s, found
}

// climbed is the table of the steps, NVIDIA's library last.
func (b *builder) climbed(v *view, typ string, size problem, rows []compare.Record, steps []climb) (document.Table, []document.Text) {
	t := document.Table{
		ID:      "table-gpu-ladder-" + anchor(typ) + v.suffix,
		Caption: b.Say("gpu-ladder.caption", text.Args{"Type": typ, "Size": size.label()}),
		Columns: b.columns("rung", "state", "#median", "#interval", "#tflops", "#ofcublas", "#peak", "#overbefore", "#p", "verdict"),
	}
	var notes []document.Text
	library, found := at(rows, cublas, size)
	for _, r := range rows {
		var state document.Text
		state, notes = b.state(r, notes)
		of := document.Text(absent)
		if found {
			of = document.Text(percent(float64(library.Median / r.Median)))
		}
		gain, p, verdict := b.stepTo(r, steps)
		t.Rows = append(t.Rows, document.Row{Class: held(r), Cells: []document.Text{
			document.Literal(algorithm(r.Variant)), state, document.Text(b.median(r)), document.Text(b.ci(r)), tflops(r), of, document.Text(significant(known(r, r.PercentPeak))), gain, p, verdict,
		}})
	}
	return t, notes
}

// stepTo returns how much faster a rung is than the one before it, with what probability that
// is chance, and the verdict.
func (b *builder) stepTo(r compare.Record, steps []climb) (gain, p, verdict document.Text) {
	gain, p, verdict = document.Text(absent), document.Text(absent), document.Text(absent)
	if i := slices.IndexFunc(steps, func(c climb) bool { return c.after.Variant == r.Variant }); i >= 0 {
		c := steps[i]
		gain, p = times(c.Ratio, c.Lo, c.Hi), document.Text(probability(c.P))
		if !math.IsNaN(c.P) {
			verdict = b.verdict(c.Outcome)
		}
	}
	return gain, p, verdict
}

// needs is the table of what the kernels take of the GPU.
func (b *builder) needs(v *view, typ string, size problem, rows []compare.Record) document.Table {
	t := document.Table{
		ID:      "table-gpu-needs-" + anchor(typ) + v.suffix,
		Caption: b.Say("gpu-needs.caption", text.Args{"Type": typ, "Size": size.label()}),
		Columns: b.columns("rung", "tile", "computes", "#blockthreads", "#blocks", "#registers", "#spills", "#shared", "#occupancy", "occlimit", "#reads", "#clock"),
	}
	for _, r := range rows {
		if r.GPU == nil {
			continue
		}
		g := r.GPU
		reads := document.Text(absent)
		if x := readsOf(r); x > 0 {
			reads = document.Text(significant(x))
		}
		t.Rows = append(t.Rows, document.Row{Class: held(r), Cells: []document.Text{
			document.Literal(algorithm(r.Variant)), settled(tileOf(r)), document.Escape(g.Pipe), numbered(g.Threads), numbered(g.Blocks), numbered(g.Registers),
			document.Text(byteSize(float64(g.Spills))), document.Text(byteSize(float64(g.Shared))), occupancyOf(r), b.limits(r), reads, numbered(g.Clock),
		}})
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
		return absent
	}
	return b.Join(names)
}

// unshared are the rungs whose threads read all that they need from global memory
// themselves.
var unshared = []string{"naive", "packed-global", "coalesced"}

// readsOf is the elements of global memory that are read and written for a multiply-add, by
// the tile of a block as it was run: its rows of A and columns of B once (equations 11 and
// 12 of the report of 2024), and C once. Where the tile is not known, or has no part in it,
// it is what the model of the variant says; 0 where neither is known.
func readsOf(r compare.Record) float64 {
	if !ours(r) {
		return 0
	}
	var rows, cols, slice int
	if n, _ := fmt.Sscanf(tileOf(r), "%dx%dx%d", &rows, &cols, &slice); n == 3 && rows > 0 && cols > 0 && r.K > 0 && !slices.Contains(unshared, algorithm(r.Variant)) {
		return 1/float64(rows) + 1/float64(cols) + 1/float64(r.K)
	}
	if r.Predicted == nil {
		return 0
	}
	return r.Predicted.Accesses / (float64(r.M) * float64(r.N) * float64(r.K))
}

// gpuWhy is the section on the rungs that do not gain: what speaks for one reason or
// another, and where nothing does.
func (b *builder) gpuWhy(v *view) (document.Section, bool) {
	s := b.of(v, "gpu-why", "gpu-why.title")
	s.Text(b.Say("gpu-why.intro"))
	found := false
	for _, typ := range v.gpuTypes() {
		rows := v.ladderRows(typ)
		var items []document.Text
		for _, c := range climbs(rows) {
			if !c.gains() {
				items = append(items, b.why(c))
			}
		}
		if len(climbs(rows)) == 0 {
			continue
		}
		found = true
		size := b.sizes([]problem{problemOf(rows[0])})
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
func (b *builder) why(c climb) document.Text {
	sentence := b.Say("why.step", text.Args{
		"Before": document.Literal(algorithm(c.before.Variant)),
		"After":  document.Literal(algorithm(c.after.Variant)), "Ratio": times(c.Ratio, c.Lo, c.Hi),
	})
	if key := "meant." + algorithm(c.after.Variant); b.Has(key) {
		sentence += b.Say(key)
	}
	reasons, notes := b.differences(c.before, c.after)
	if len(reasons) == 0 {
		reasons = []document.Text{b.Say("why.unexplained")}
	}
	return sentence + document.Join(append(notes, reasons...), "")
}

// nearPeak is the share of the peak from which little is left to gain.
const nearPeak = 0.9

// differences returns what of the records of two rungs may account for the second being
// no faster, and what is known besides.
func (b *builder) differences(before, after compare.Record) (reasons, notes []document.Text) {
	if before.GPU == nil || after.GPU == nil {
		return nil, nil
	}
	x, y := before.GPU, after.GPU
	if s := share(before); s >= nearPeak && x.Pipe == y.Pipe {
		reasons = append(reasons, b.Say("why.peak", text.Args{"Share": percent(s)}))
	}
	if y.Spills > x.Spills {
		reasons = append(reasons, b.Say("why.spills", text.Args{
			"After": byteSize(float64(y.Spills)), "Before": byteSize(float64(x.Spills)),
		}))
	}
	if x.Occupancy > 0 && y.Occupancy > 0 && y.Occupancy < 0.95*x.Occupancy {
		reasons = append(reasons, b.Say("why.occupancy", text.Args{
			"Before": percent(x.Occupancy), "After": percent(y.Occupancy), "Limit": b.limits(after),
			"RegistersBefore": x.Registers, "RegistersAfter": y.Registers,
		}))
	}
	if x.Clock > 0 && y.Clock > 0 && float64(y.Clock) < 0.98*float64(x.Clock) {
		reasons = append(reasons, b.Say("why.clock", text.Args{"Before": x.Clock, "After": y.Clock}))
	}
	if p, q := readsOf(before), readsOf(after); p > 0 && q > 0 {
		switch ratio := p / q; {
		case ratio > 1.05:
			notes = append(notes, b.Say("why.reads", text.Args{"Ratio": significant(ratio)}))
		case ratio >= 0.95:
			notes = append(notes, b.Say("why.samereads"))
		default:
			reasons = append(reasons, b.Say("why.morereads", text.Args{"Ratio": significant(1 / ratio)}))
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

// changes returns the profiler's counters that differ most between two kernels, of those
// that differ by a twentieth at least; known is false unless both have some in common.
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
			"Counter": document.Literal(c.name), "Before": significant(x[c.name]), "After": significant(y[c.name]),
		}))
	}
	return out, known
}

// tensorGap says what keeps tf32-wmma from NVIDIA's library in the same arithmetic.
func (b *builder) tensorGap(rows []compare.Record) (document.Text, bool) {
	find := func(variant string) (compare.Record, bool) {
		i := slices.IndexFunc(rows, func(r compare.Record) bool { return r.Variant == variant })
		if i < 0 {
			return compare.Record{}, false
		}
		return rows[i], true
	}
	own, ok := find(tf32WMMA)
	library, too := find(cublasTF32)
	if !ok || !too {
		return "", false
	}
	c := beside(library, own)
	sentence := b.Say("why.tensor", text.Args{
		"Rung": document.Literal(algorithm(own.Variant)), "Ratio": times(c.Ratio, c.Lo, c.Hi),
		"Library": document.Literal(algorithm(library.Variant)),
	})
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
				"Counter": document.Literal(name), "Value": significant(own.GPU.Counters[name]),
			}))
		}
	}
	if own.GPU.Occupancy > 0 {
		sentence += b.Say("why.runs", text.Args{
			"Registers": fmt.Sprint(own.GPU.Registers), "Occupancy": percent(own.GPU.Occupancy),
			"Limit": b.limits(own),
		})
	}
	if len(parts) == 0 {
		return sentence + b.Say("why.nocounters") + b.Say("why.unexplained"), true
	}
	return sentence + b.Say("why.counters", text.Args{"Counters": b.Join(parts)}), true
}
