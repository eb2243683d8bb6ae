package paper

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

// answer is the chapter for readers of one page: what is wrong, if anything is, then the fastest
// variants and the way to them.
func (b builder) answer() document.Section {
	s := b.Section("answer", 1)
	if len(b.Doc.Records) == 0 {
		s.Text(b.Say("summary.empty", text.Args{"Command": document.Literal(b.Program + " compare --out report")}))
		return s
	}
	if bad := b.bad(); bad > 0 {
		s.Text(b.Count("answer.bad", bad) + document.Link(b.Say("answer.appendix"), "appendix#results") + b.Say("stop"))
	} else {
		s.Text(b.Count("answer.right", len(analysis.Timed(b.Doc.Records))))
	}
	if wide := len(b.wide()); wide > 0 {
		s.Text(b.Count("answer.wide", wide))
	}
	for _, v := range b.Views {
		if len(analysis.Timed(v.Records)) > 0 {
			b.answerOf(&s, v)
		}
	}
	return s
}

// wide returns the rows whose samples vary too much.
func (b builder) wide() []compare.Record {
	return slices.DeleteFunc(analysis.Timed(b.Doc.Records), func(r compare.Record) bool { return !analysis.Wide(r) })
}

// rate returns the speed of a row as a cell, with a mark if its samples vary too much.
func (b builder) rate(r compare.Record) document.Text {
	return document.Text(number.Significant(rateOf(r))) + b.Mark(r)
}

// bad counts the rows that went wrong.
func (b builder) bad() int {
	n := 0
	for _, r := range b.Doc.Records {
		if r.Status.Bad() {
			n++
		}
	}
	return n
}

// answerOf is the answer of one host.
func (b builder) answerOf(s *document.Section, v *analysis.View) {
	typ := v.MainType()
	a := v.Answer(typ)
	if a.Main == 0 && len(b.Views) > 1 && len(b.kernels(v, typ)) == 0 {
		return // it is of other hosts that there is something to say
	}
	if v.Suffix != "" {
		s.Text(b.Say("summary.host", text.Args{"Host": b.HostName(v)}))
	}
	if a.Main == 0 {
		s.Text(b.Say("answer.none", text.Args{"Type": typ}))
		s.List(b.kernels(v, typ))
		return
	}
	command := b.Rerun(v, v.Ladder(typ))
	items := []document.Text{b.leader(v, a)}
	items = append(items, b.largestSteps(a), b.besidePeers(a))
	items = append(items, b.kernels(v, typ)...)
	for _, other := range analysis.Types(analysis.Timed(v.Records)) {
		if o := v.Answer(other); other != typ && o.Main > 0 {
			items = append(items, b.otherType(o))
		}
	}
	s.List(slices.DeleteFunc(items, func(t document.Text) bool { return t == "" }))
	waterfall := "fig.waterfall"
	if slices.ContainsFunc(a.Champions(a.Main), func(c analysis.Champion) bool { return analysis.Brought(c.Record) }) {
		waterfall = "fig.waterfall.kernels"
	}
	b.Figure(s, v, "waterfall-"+typ, waterfall, "", text.Args{"Type": typ, "Size": a.Main})
	s.Add(b.champions(v, a, command))
	b.Figure(s, v, "families-"+typ, "fig.families", "", text.Args{"Type": typ})
}

// leader says which variant is the fastest at the main size.
func (b builder) leader(v *analysis.View, a analysis.Answer) document.Text {
	best, ok := a.Leader(a.Main)
	if !ok {
		return ""
	}
	sentence := b.Say("answer.fastest", text.Args{
		"Variant": document.Literal(best.Variant), "Threads": b.Busy(best), "Size": a.Main, "Type": a.Type,
		"Speed": b.speed(best),
	})
	sentence += b.OfPeak(analysis.WholeShare(best)) + b.overNaive(a, best)
	if level := a.Level(a.Main); len(level) > 0 {
		sentence += b.Say("answer.level", text.Args{"Variants": b.Names(level)})
	}
	return sentence + b.Say("stop")
}

// overNaive says how many times as fast as the textbook loops a row is, if these were timed.
func (b builder) overNaive(a analysis.Answer, r compare.Record) document.Text {
	naive, ok := a.Textbook(a.Main)
	if !ok || analysis.Textbook(r) {
		return ""
	}
	return b.Say("answer.naive", text.Args{
		"Ratio":    number.Significant(analysis.Whole(naive) / analysis.Whole(r)),
		"Baseline": document.Literal(naive.Variant),
	})
}

// speed returns the speed of a row with its unit, of a GPU with the copies.
func (b builder) speed(r compare.Record) document.Text {
	_, unit := analysis.Speed(r)
	return document.Text(number.Significant(rateOf(r)) + " " + unit)
}

// rateOf returns the speed of a row, of a GPU with the copies.
func rateOf(r compare.Record) float64 {
	rate, _ := analysis.Speed(r)
	return float64(rate) * float64(r.Median) / analysis.Whole(r)
}

// largestSteps says which two steps from the textbook loops to the fastest variant gain the most, and
// which lose.
func (b builder) largestSteps(a analysis.Answer) document.Text {
	steps := a.Steps(a.Main)
	if len(steps) < 3 {
		return ""
	}
	var losses []document.Text
	for i, s := range steps {
		if i > 0 && analysis.Apart(s.Row, steps[i-1].Row) && s.Factor < 1-analysis.Tolerance {
			losses = append(losses, b.Say("answer.loss",
				text.Args{"Step": b.stepName(s), "Ratio": number.Significant(s.Factor)}))
		}
	}
	steps = slices.Clone(steps[1:])
	slices.SortStableFunc(steps, func(x, y analysis.Step) int { return cmp.Compare(y.Factor, x.Factor) })
	key := "answer.steps"
	if best, ok := a.Leader(a.Main); ok && analysis.Brought(best) {
		key = "answer.steps.ours"
	}
	sentence := b.Say(key, text.Args{
		"First": b.stepName(steps[0]), "FirstRatio": number.Significant(steps[0].Factor),
		"Second": b.stepName(steps[1]), "SecondRatio": number.Significant(steps[1].Factor),
	})
	if len(losses) > 0 {
		sentence += b.Say("answer.but", text.Args{"Losses": b.Join(losses)})
	}
	return sentence + b.Say("stop")
}

// stepName names a step with the variant that it ends at.
func (b builder) stepName(s analysis.Step) document.Text {
	return b.Say("answer.step."+s.Key, text.Args{"Variant": document.Literal(s.Row.Variant)})
}

// besidePeers compares our fastest variant with the fastest library of others, at each number of
// threads that both were timed on, and on the GPU, at the main size.
func (b builder) besidePeers(a analysis.Answer) document.Text {
	var parts []document.Text
	for _, d := range a.Pairs(a.Main) {
		c := analysis.Versus(d.Peer, d.Own)
		key := "answer.peer.level"
		switch {
		case !analysis.Apart(d.Peer, d.Own):
		case c.Ratio > 1+analysis.Tolerance:
			key = "answer.peer.faster"
		case c.Ratio < 1-analysis.Tolerance:
			key = "answer.peer.slower"
		}
		on := b.Busy(d.Own)
		if analysis.ByGPU(d.Own) { // the intervals are of the kernels alone
			on = b.Say("answer.kernels")
		}
		parts = append(parts, b.Say(key, text.Args{
			"Own": document.Literal(d.Own.Variant), "Peer": document.Literal(d.Peer.Variant), "Threads": on,
			"Ratio": number.Times(c.Ratio, c.Lo, c.Hi),
		}))
	}
	if len(parts) == 0 {
		return b.Say("answer.nopeer", text.Args{"Size": a.Main})
	}
	return b.Say("answer.peers", text.Args{"Size": a.Main}) + b.Sentence(parts)
}

// otherType says which variant is the fastest for another type.
func (b builder) otherType(a analysis.Answer) document.Text {
	best, ok := a.Leader(a.Main)
	if !ok {
		return ""
	}
	sentence := b.Say("answer.other", text.Args{
		"Type": a.Type, "Variant": document.Literal(best.Variant), "Threads": b.Busy(best), "Size": a.Main,
		"Speed": b.speed(best),
	})
	return sentence + b.overNaive(a, best) + b.Say("stop")
}

// champions is the table of the fastest of each family at the main size, with the speeds at up to
// three smaller sizes.
func (b builder) champions(v *analysis.View, a analysis.Answer, command string) document.Table {
	t := document.Table{
		ID: "table-answer" + v.Suffix, Caption: b.Say("answer.caption", text.Args{"Size": a.Main, "Type": a.Type}),
		Columns: b.Columns("family", "variant", "on", "#gflops", "#peak", "#naive", "#before", "#median"), Command: command,
	}
	others := a.Sizes[max(0, len(a.Sizes)-4) : len(a.Sizes)-1]
	for _, n := range others {
		t.Columns = append(t.Columns, document.Column{Title: b.Plain("col.gflopsat", text.Args{"Size": n}), Numeric: true})
	}
	naive, timed := a.Textbook(a.Main)
	all := a.Champions(a.Main)
	best := 0
	for i, c := range all {
		if c.Key != analysis.OnSpread && analysis.Whole(c.Record) < analysis.Whole(all[best].Record) {
			best = i
		}
	}
	for i, c := range all {
		absolute, relative := math.NaN(), math.NaN()
		if timed {
			absolute = analysis.Whole(naive) / analysis.Whole(c.Record)
		}
		if i > 0 && analysis.Ours(c.Record) {
			relative = analysis.Whole(all[i-1].Record) / analysis.Whole(c.Record)
		}
		row := document.Row{Cells: []document.Text{
			b.champion(c), document.Literal(analysis.Short(c.Variant)), b.Busy(c.Record),
			b.rate(c.Record), document.Text(number.OfPeak(analysis.WholeShare(c.Record))),
			document.Text(number.Significant(absolute)), document.Text(number.Significant(relative)),
			document.Text(number.Seconds(analysis.Whole(c.Record))),
		}}
		for _, n := range others {
			cell := document.Text(number.Absent)
			if r, ok := a.Like(c, n); ok {
				cell = b.rate(r)
			}
			row.Cells = append(row.Cells, cell)
		}
		if i == best {
			row.Class = "best"
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// champion names the line of the table that a row is in.
func (b builder) champion(c analysis.Champion) document.Text {
	switch {
	case analysis.Textbook(c.Record):
		return b.Say("answer.textbook")
	case analysis.Brought(c.Record):
		return b.Say("answer.kernel")
	case !analysis.Ours(c.Record):
		return b.Say("answer.library")
	}
	return document.Text(fmt.Sprint(b.Plain("family." + c.Key)))
}
