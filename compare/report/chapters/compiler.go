package chapters

import (
	"slices"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// byOutcome returns a clause for each outcome that variants have, the good news first.
func (b *Builder) byOutcome(sorted map[analysis.Outcome][]document.Text) []document.Text {
	var parts []document.Text
	for _, o := range []analysis.Outcome{analysis.Quicker, analysis.Slower, analysis.Level, analysis.TooFew} {
		if variants := sorted[o]; len(variants) > 0 {
			word := []string{analysis.TooFew: "compiler.few", analysis.Level: "compiler.level",
				analysis.Quicker: "compiler.gain", analysis.Slower: "compiler.loss"}[o]
			parts = append(parts, b.Say(word, text.Args{"Variants": b.Join(variants)}))
		}
	}
	return parts
}

// CompilersOfC is the section on loops in C and in Go, if a loop in C was timed.
func (b *Builder) CompilersOfC(v *analysis.View) []document.Section {
	s := b.Of(v, "compiler-c", "cloops.title")
	if b.loopsOfC(&s, v); len(s.Blocks) == 0 {
		return nil
	}
	return []document.Section{s}
}

// loopsOfC compares textbook loops in C by the options of their compiler, and with the same loops in Go.
func (b *Builder) loopsOfC(s *document.Section, v *analysis.View) {
	for _, typ := range []string{"f64", "f32"} {
		c, ok := v.CLoops(typ)
		if len(c.All) == 0 {
			continue
		}
		command := b.Rerun(v, c.All)
		if !ok {
			s.Text(b.Say("cloops.absent", text.Args{"Type": typ}))
		} else {
			s.Text(b.Say("cloops.intro", text.Args{"Type": typ, "Compiler": b.compilerOf(c.All)}))
			s.List(b.cConclusion(c))
			b.Figure(s, v, "compiler-c-"+typ, "fig.cloops", command, text.Args{"Type": typ, "Size": c.Label()})
		}
		rows := b.WithoutUnavailable(s, c.All)
		if ok { // all rows are in the appendix
			rows = slices.DeleteFunc(rows, func(r compare.Record) bool { return analysis.ProblemOf(r) != c.Problem })
		}
		if len(rows) > 0 {
			t, notes := b.cTable(v, typ, rows)
			t.Command = command
			b.WithNotes(s, t, notes)
		}
	}
}

// compilerOf returns the compiler that rows say they were built by.
func (b *Builder) compilerOf(rows []compare.Record) document.Text {
	for _, r := range rows {
		if name, ok := r.Resolved["compiler"].(string); ok && analysis.Program(r) {
			return document.Escape(name)
		}
	}
	return number.Absent
}

// cConclusion says what each set of options gains, what restrict gains, what the order of the loops
// gains, and how far the fastest loop in Go is from the fastest in C.
func (b *Builder) cConclusion(c analysis.CLoops) []document.Text {
	var items []document.Text
	variants := analysis.Distinct(c.Loops, func(l analysis.CLoop) string { return l.Variant })
	for _, options := range c.Options[1:] {
		var pairs []analysis.Duel
		for _, variant := range variants {
			before, ok := c.Of(variant, c.Least())
			after, too := c.Of(variant, options)
			if ok && too {
				pairs = append(pairs, analysis.Duel{First: before, Second: after})
			}
		}
		if len(pairs) > 0 {
			items = append(items, b.Say("cloops.options", text.Args{"Before": document.Literal(c.Least()),
				"After": document.Literal(options)})+b.gains(pairs))
		}
	}
	for i, variant := range variants[min(1, len(variants)):] {
		key := "cloops.restrict"
		var parts []document.Text
		for _, options := range c.Options {
			before, ok := c.Of(variants[i], options)
			after, too := c.Of(variant, options)
			if analysis.Of(before).Loop.Order != analysis.Of(after).Loop.Order {
				key = "cloops.order"
			}
			if ok && too {
				x := analysis.Versus(before, after)
				parts = append(parts, b.Say("cloops.with", text.Args{"Options": document.Literal(options),
					"Ratio": number.Times(x.Ratio, x.Lo, x.Hi)}))
			}
		}
		if len(parts) > 0 {
			items = append(items, b.Say(key)+b.Sentence(parts))
		}
	}
	if best, ok := c.BestGo(); ok {
		fastest := c.Best()
		x := analysis.Versus(best, fastest)
		key := "cloops.level"
		switch {
		case x.Outcome == analysis.Quicker:
			key = "cloops.slower"
		case x.Outcome == analysis.Slower:
			key, x = "cloops.faster", x.Inverse()
		}
		items = append(items, b.Say(key, text.Args{"Go": document.Literal(best.Variant),
			"C": document.Literal(fastest.Variant), "Options": document.Literal(analysis.OptionsOf(fastest)),
			"Ratio": number.Times(x.Ratio, x.Lo, x.Hi)}))
	}
	return items
}

// gains groups pairs of rows by the outcome of their comparison, with the ratio of each.
func (b *Builder) gains(pairs []analysis.Duel) document.Text {
	sorted := map[analysis.Outcome][]document.Text{}
	for _, p := range pairs {
		x := analysis.Versus(p.First, p.Second)
		sorted[x.Outcome] = append(sorted[x.Outcome], b.Say("compiler.variant", text.Args{
			"Variant": document.Literal(p.Second.Variant), "Ratio": number.Significant(x.Ratio),
		}))
	}
	return b.Sentence(b.byOutcome(sorted))
}

// cTable has rows of the experiment on loops in C: each loop with each set of options, and the loops
// in Go.
func (b *Builder) cTable(v *analysis.View, typ string, rows []compare.Record) (document.Table, []document.Text) {
	t := document.Table{ID: "table-compiler-c-" + typ + v.Suffix,
		Caption: b.Say("cloops.caption", text.Args{"Type": typ}),
		Columns: b.Columns("variant", "options", "size", "state", "#median", "#interval", "#gflops", "#peak",
			"#overleastoptions")}
	var notes []document.Text
	for _, r := range rows {
		var state document.Text
		state, notes = b.State(r, notes)
		options, over := b.Say("cloops.go"), document.Text(number.Absent)
		if analysis.Program(r) {
			options = document.Literal(analysis.OptionsOf(r))
			least, ok := analysis.Unoptimized(rows, r)
			over = OverCell(least, r, ok && analysis.OptionsOf(r) != analysis.OptionsOf(least))
		}
		t.Rows = append(t.Rows, document.Row{Class: analysis.Class(r), Cells: []document.Text{
			document.Literal(r.Variant), options, document.Escape(analysis.ProblemOf(r).Label()), state,
			document.Text(b.Median(r)), document.Text(b.Ci(r)),
			document.Text(number.Significant(analysis.Known(r, r.Gflops))),
			document.Text(number.OfPeak(analysis.Percent(r))), over,
		}})
	}
	return t, notes
}
