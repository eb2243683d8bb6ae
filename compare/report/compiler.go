package report

import (
	"slices"

	"gemm/compare"
	"gemm/compare/report/document"
	"gemm/compare/report/text"
)

// builds are the comparisons between child builds: what raising the instruction
// set does, and what leaving out the checks of bounds does.
var buildPairs = []struct{ before, after, key string }{
	{"v1", "v3", "compiler.v3"},
	{"v1", "v1 -B", "compiler.bounds1"},
	{"v3", "v3 -B", "compiler.bounds3"},
}

// compiler says what the compiler's options do to each variant.
func (b *builder) compiler(v *view) (document.Section, bool) {
	s := b.of(v, "compiler", "compiler.title")
	all := v.pick(func(r compare.Record) bool { return r.Experiment == "compiler" })
	if len(all) == 0 {
		s.Text(b.Say("compiler.absent", text.Args{"Command": document.Literal(b.program + " compare")}))
		return s, v.hasCPU()
	}
	s.Text(b.Say("compiler.intro"))
	for _, typ := range types(all) {
		rows := v.pick(func(r compare.Record) bool { return r.Experiment == "compiler" && r.Type == typ })
		command := b.rerun(v, rows)
		table := document.Table{
			ID: "table-compiler-" + anchor(typ) + v.suffix, Caption: b.Say("compiler.caption", text.Args{"Type": typ}),
			Columns: b.columns("variant", "size", "comparison", "#measured", "#interval", "#p", "verdict"), Command: command,
		}
		var items []document.Text
		for _, pair := range buildPairs {
			sentence, lines := b.builds(rows, pair.before, pair.after, pair.key)
			if sentence != "" {
				items = append(items, sentence)
			}
			table.Rows = append(table.Rows, lines...)
		}
		s.Text(b.Say("compiler.of", text.Args{"Type": typ}))
		if len(items) == 0 {
			s.Text(b.Say("compiler.none"))
		}
		s.List(items)
		b.figure(&s, v, "compiler-"+typ, "fig.compiler", command, text.Args{"Type": typ})
		if len(table.Rows) > 0 {
			s.Add(table)
		}
		timings := document.Table{
			ID: "table-builds-" + anchor(typ) + v.suffix, Caption: b.Say("builds.caption", text.Args{"Type": typ}),
			Columns: b.columns("variant", "size", "build", "state", "#median", "#interval", "#gflops", "#residual", "#bound"), Command: command,
		}
		var notes []document.Text
		for _, r := range rows {
			var state document.Text
			state, notes = b.state(r, notes)
			rate, _ := speed(r)
			timings.Rows = append(timings.Rows, document.Row{Class: class(r), Cells: []document.Text{
				b.name(r), document.Escape(problemOf(r).label()), document.Literal(r.Build), state, document.Text(b.median(r)), document.Text(b.ci(r)),
				document.Text(significant(float64(rate))), document.Text(significant(float64(r.Residual))), document.Text(significant(float64(r.Bound))),
			}})
		}
		s.Add(timings)
		if len(notes) > 0 {
			s.Text(b.Say("results.notes"))
			s.Add(document.List{Ordered: true, Items: notes})
		}
	}
	return s, true
}

// builds compares two builds: a sentence that sorts the variants by what came of
// it at their largest size, and a table row for each case.
func (b *builder) builds(rows []compare.Record, before, after, key string) (document.Text, []document.Row) {
	of := func(build string) []compare.Record {
		return slices.DeleteFunc(slices.Clone(rows), func(r compare.Record) bool { return r.Build != build })
	}
	first, second := of(before), of(after)
	var lines []document.Row
	sorted := map[outcome][]document.Text{}
	for _, variant := range distinct(rows, variantOf) {
		var last *comparison
		for _, p := range problems(rows) {
			x, _ := at(first, variant, p)
			y, _ := at(second, variant, p)
			if !x.Speed() || !y.Speed() {
				continue
			}
			c := contrast(x, y)
			last = &c
			lines = append(lines, document.Row{Cells: []document.Text{
				document.Literal(variant), document.Escape(p.label()), document.Literal(before) + " → " + document.Literal(after), document.Text(significant(c.Ratio)),
				document.Text(extent(c.Lo, c.Hi, significant)), document.Text(probability(c.P)), b.verdict(c.Outcome),
			}})
		}
		if last != nil {
			sorted[last.Outcome] = append(sorted[last.Outcome], b.Say("compiler.variant", text.Args{
				"Variant": document.Literal(variant), "Ratio": significant(last.Ratio),
			}))
		}
	}
	if len(lines) == 0 {
		return "", nil
	}
	var parts []document.Text
	for _, o := range []outcome{quicker, slower, level, tooFew} {
		if variants := sorted[o]; len(variants) > 0 {
			word := []string{tooFew: "compiler.few", level: "compiler.level", quicker: "compiler.gain", slower: "compiler.loss"}[o]
			parts = append(parts, b.Say(word, text.Args{"Variants": b.Join(variants)}))
		}
	}
	sentence := b.Say(key) + b.Sentence(parts)
	return sentence, lines
}
