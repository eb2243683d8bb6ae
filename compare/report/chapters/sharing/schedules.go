package sharing

import (
	"fmt"
	"slices"
	"strconv"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/chapters"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// chunks says what schedules and chunks do.
func (b *builder) chunks(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "chunk", "chunk.title")
	s.Text(b.Say("chunk.intro"))
	found := false
	for _, typ := range v.SharedTypes() {
		chunks, schedules := v.ChunkBouts(typ), v.ScheduleBouts(typ)
		if len(chunks)+len(schedules) == 0 {
			continue
		}
		found = true
		b.decide(&s, v, "chunk", "chunk", typ, chunks)
		for _, schedule := range []string{"static", "dynamic", "guided"} {
			b.Figure(&s, v, "chunk-"+schedule+"-"+typ, "fig.chunk", b.Rerun(v, analysis.RowsOf(chunks)), text.Args{
				"Type": typ, "Schedule": schedule,
			})
		}
		b.decide(&s, v, "schedule", "schedule", typ, schedules)
		if c, ok := v.Collapsed(typ); ok {
			b.Figure(&s, v, "times-"+typ, "fig.times", b.Rerun(v, c.Rows), text.Args{"Type": typ})
		}
	}
	return s, found
}

// placing returns the section on an experiment that sweeps the parameter of its name.
func (b *builder) placing(a analysis.Axis, of compare.Experiment) func(*analysis.View) (document.Section, bool) {
	return func(v *analysis.View) (document.Section, bool) {
		param := string(of)
		kind := a.Prefix + param
		s := b.Of(v, kind, kind+".title")
		s.Text(b.Say(kind + ".intro"))
		found := false
		for _, typ := range v.TypesOf(a) {
			all := analysis.Bouts(v.Along(a, typ, compare.Experiment(param)), param)
			for i, g := range all {
				all[i].Set = v.Trait(g.Variant, g.Rest)
			}
			if len(all) > 0 {
				found = true
				b.decide(&s, v, kind, param, typ, all)
				if of == compare.PanelWidths {
					b.Figure(&s, v, kind+"-"+typ, "fig."+kind, b.Rerun(v, analysis.RowsOf(all)), text.Args{"Type": typ})
				} else {
					s.Add(b.placements(v, kind, param, typ, all))
				}
			}
		}
		if of == compare.Affinities {
			b.Places(&s, v, a.Family)
		}
		b.nodes(&s, v, kind)
		return s, found
	}
}

// nodes says whether the host has memory that is nearer to some of its processors, where
// threads that share operands are placed.
func (b *builder) nodes(s *document.Section, v *analysis.View, kind string) {
	switch {
	case kind != "affinity":
	case v.NUMA > 1:
		s.Text(b.Say("numa.several", text.Args{"Nodes": v.NUMA}))
	case v.NUMA == 1:
		s.Text(b.Say("numa.one"))
	}
}

// called returns the value of a parameter for prose: a number is followed by its unit or noun.
func (b *builder) called(r compare.Record, param string) document.Text {
	if n, ok := r.Params[param].(int); ok && n != 0 {
		return document.Escape(fmt.Sprintf("%s=%d", param, n))
	}
	return b.ValueOf(r, param)
}

// decide adds what the tests say of the bouts over one parameter: a sentence a variant
// and a table of all.
func (b *builder) decide(s *document.Section, v *analysis.View, kind, param, typ string, all []analysis.Bout) {
	if len(all) == 0 {
		return
	}
	var items []document.Text
	variants := map[string][]analysis.Bout{}
	for _, g := range all {
		variants[g.Variant] = append(variants[g.Variant], g)
	}
	for _, variant := range analysis.Distinct(analysis.RowsOf(all), analysis.VariantOf) {
		items = append(items, b.Say("scales.name", text.Args{
			"Subject": document.Literal(variant),
		})+b.verdicts(variants[variant], param))
	}
	s.Text(b.Say(kind+".of", text.Args{"Type": typ}))
	s.List(items)
	t := document.Table{
		ID:      "table-bouts-" + analysis.Anchor(kind) + "-" + analysis.Anchor(typ) + v.Suffix,
		Caption: b.Say(kind+".caption", text.Args{"Type": typ}), Command: b.Rerun(v, analysis.RowsOf(all)),
		Columns: b.Columns("variant", "setting", "size", "#"+analysis.AxisOf(all[0].Variant).Param, "quickest", "slowest",
			"#slowdown", "#padjusted", "#apart", "verdict", "turn"),
	}
	for _, g := range all {
		turn := "turn.apart"
		if g.Turn != "" {
			turn = "turn.together"
		}
		t.Rows = append(t.Rows, document.Row{Cells: []document.Text{
			document.Literal(g.Variant), number.Settled(g.Set), document.Escape(g.Label()), document.Text(fmt.Sprint(g.Count())),
			b.ValueOf(g.Quick, param), b.ValueOf(g.Slow, param), number.Times(g.Ratio, g.Lo, g.Hi),
			document.Text(number.Probability(g.P)),
			document.Text(fmt.Sprintf("%d / %d", g.Apart, g.Pairs)), b.spreadVerdict(g.Outcome), b.Say(turn),
		}})
	}
	s.Add(t)
}

// spreadVerdict returns the word for what the pairs of a bout say.
func (b *builder) spreadVerdict(o analysis.SpreadOutcome) document.Text {
	return b.Say([]string{analysis.Untold: "spread.untold", analysis.Same: "spread.same", analysis.Slight: "spread.slight",
		analysis.Differ: "spread.differ"}[o])
}

// verdicts sums bouts up: how many came out how, and the largest difference.
func (b *builder) verdicts(all []analysis.Bout, param string) document.Text {
	counts := map[analysis.SpreadOutcome]int{}
	var worst *analysis.Bout
	for i, g := range all {
		counts[g.Outcome]++
		if (g.Outcome == analysis.Differ || g.Outcome == analysis.Slight) && (worst == nil || g.Ratio > worst.Ratio) {
			worst = &all[i]
		}
	}
	var parts []document.Text
	for _, o := range []analysis.SpreadOutcome{analysis.Same, analysis.Slight, analysis.Differ, analysis.Untold} {
		switch n := counts[o]; {
		case n == len(all):
			parts = append(parts, b.Say([]string{analysis.Untold: "every.untold", analysis.Same: "every.same",
				analysis.Slight: "every.slight", analysis.Differ: "every.differ"}[o]))
		case n > 0:
			parts = append(parts, b.Say([]string{analysis.Untold: "some.untold", analysis.Same: "some.same",
				analysis.Slight: "some.slight", analysis.Differ: "some.differ"}[o], text.Args{
				"Some": n, "All": len(all),
			}))
		}
	}
	sentence := b.Sentence(parts)
	if worst != nil {
		sentence += b.largest(*worst, param)
	}
	return sentence
}

// largest says which pair of a bout differs most, and by how much.
func (b *builder) largest(g analysis.Bout, param string) document.Text {
	where := []document.Text{b.Sizes([]analysis.Problem{g.Problem}), b.Count(analysis.AxisOf(g.Variant).Param, g.Count())}
	if g.Set != "" {
		where = append(where, document.Escape(g.Set))
	}
	return b.Say("spread.largest", text.Args{
		"Place": b.Join(where), "Slow": b.called(g.Slow, param), "Ratio": number.Times(g.Ratio, g.Lo, g.Hi),
		"Quick": b.called(g.Quick, param),
	})
}

// placements compares the rows of the bouts, one by one, with the row that has the default of the
// parameter.
func (b *builder) placements(v *analysis.View, kind, param, typ string, all []analysis.Bout) document.Table {
	t := document.Table{
		ID:      "table-" + kind + "-" + analysis.Anchor(typ) + v.Suffix,
		Caption: b.Say(kind+".rows", text.Args{"Type": typ}), Command: b.Rerun(v, analysis.RowsOf(all)),
		Columns: slices.Insert(b.Columns("variant", "setting", "size", "#"+analysis.AxisOf(all[0].Variant).Param, "placement",
			"#median", "#interval", "#overfree"), 4, b.Named([]string{param})...),
	}
	for _, g := range all {
		free := slices.IndexFunc(g.Rows, func(r compare.Record) bool {
			value := r.Params[param]
			return value == nil || value == 0 || value == "none"
		})
		for i, r := range g.Rows {
			cells := []document.Text{
				document.Literal(r.Variant), number.Settled(g.Set), document.Escape(g.Label()),
				document.Text(strconv.Itoa(g.Count())),
				b.ValueOf(r, param), chapters.Placement(r), document.Text(b.Median(r)), document.Text(b.Ci(r)),
			}
			over := document.Text(number.Absent)
			if free >= 0 && i != free {
				c := analysis.Versus(g.Rows[free], r)
				over = number.Times(c.Ratio, c.Lo, c.Hi)
			}
			t.Rows = append(t.Rows, document.Row{Cells: append(cells, over)})
		}
	}
	return t
}
