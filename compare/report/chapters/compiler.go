package chapters

import (
	"slices"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
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
func (b *Builder) compiler(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "compiler", "compiler.title")
	all := v.Pick(func(r compare.Record) bool { return r.Experiment == compare.CompilerOptions })
	if len(all) == 0 {
		s.Text(b.Say("compiler.absent", text.Args{"Command": document.Literal(b.Program + " compare")}))
		return s, v.HasCPU()
	}
	s.Text(b.Say("compiler.intro"))
	for _, typ := range analysis.Types(all) {
		rows := v.Pick(func(r compare.Record) bool { return r.Experiment == compare.CompilerOptions && r.Type == typ })
		command := b.Rerun(v, rows)
		table := document.Table{
			ID: "table-compiler-" + analysis.Anchor(typ) + v.Suffix, Caption: b.Say("compiler.caption", text.Args{"Type": typ}),
			Columns: b.Columns("variant", "size", "comparison", "#measured", "#interval", "#p", "verdict"), Command: command,
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
		b.Figure(&s, v, "compiler-"+typ, "fig.compiler", command, text.Args{"Type": typ})
		if len(table.Rows) > 0 {
			s.Add(table)
		}
		timings := document.Table{
			ID: "table-builds-" + analysis.Anchor(typ) + v.Suffix, Caption: b.Say("builds.caption", text.Args{"Type": typ}),
			Columns: b.Columns("variant", "size", "build", "state", "#median", "#interval", "#gflops", "#residual", "#bound"),
			Command: command,
		}
		var notes []document.Text
		for _, r := range rows {
			var state document.Text
			state, notes = b.State(r, notes)
			rate, _ := analysis.Speed(r)
			timings.Rows = append(timings.Rows, document.Row{Class: analysis.Class(r), Cells: []document.Text{
				b.Name(r), document.Escape(analysis.ProblemOf(r).Label()), document.Literal(r.Build), state,
				document.Text(b.Median(r)), document.Text(b.Ci(r)),
				document.Text(number.Significant(float64(rate))), document.Text(number.Significant(float64(r.Residual))),
				document.Text(number.Significant(float64(r.Bound))),
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

// builds compares two builds: a sentence that groups the variants by the result at their largest
// size, and a table row for each case.
func (b *Builder) builds(rows []compare.Record, before, after, key string) (document.Text, []document.Row) {
	of := func(build string) []compare.Record {
		return slices.DeleteFunc(slices.Clone(rows), func(r compare.Record) bool { return r.Build != build })
	}
	first, second := of(before), of(after)
	var lines []document.Row
	sorted := map[analysis.Outcome][]document.Text{}
	for _, variant := range analysis.Distinct(rows, analysis.VariantOf) {
		var last *analysis.Comparison
		for _, p := range analysis.Problems(rows) {
			x, _ := analysis.At(first, variant, p)
			y, _ := analysis.At(second, variant, p)
			if !x.Speed() || !y.Speed() {
				continue
			}
			c := analysis.Contrast(x, y)
			last = &c
			lines = append(lines, document.Row{Cells: []document.Text{
				document.Literal(variant), document.Escape(p.Label()), document.Literal(before) + " → " + document.Literal(after),
				document.Text(number.Significant(c.Ratio)),
				document.Text(number.Extent(c.Lo, c.Hi, number.Significant)), document.Text(number.Probability(c.P)),
				b.Verdict(c.Outcome),
			}})
		}
		if last != nil {
			sorted[last.Outcome] = append(sorted[last.Outcome], b.Say("compiler.variant", text.Args{
				"Variant": document.Literal(variant), "Ratio": number.Significant(last.Ratio),
			}))
		}
	}
	if len(lines) == 0 {
		return "", nil
	}
	var parts []document.Text
	for _, o := range []analysis.Outcome{analysis.Quicker, analysis.Slower, analysis.Level, analysis.TooFew} {
		if variants := sorted[o]; len(variants) > 0 {
			word := []string{analysis.TooFew: "compiler.few", analysis.Level: "compiler.level",
				analysis.Quicker: "compiler.gain", analysis.Slower: "compiler.loss"}[o]
			parts = append(parts, b.Say(word, text.Args{"Variants": b.Join(variants)}))
		}
	}
	sentence := b.Say(key) + b.Sentence(parts)
	return sentence, lines
}
