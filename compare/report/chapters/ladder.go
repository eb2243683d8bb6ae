package chapters

import (
	"math"
	"slices"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// Analysis is what follows from the rows of one host.
func (b *Builder) Analysis(v *analysis.View) []document.Section {
	var sections []document.Section
	for _, part := range []func(*analysis.View) (document.Section, bool){b.steps, b.strassen, b.compiler, b.roofline} {
		if s, ok := part(v); ok {
			sections = append(sections, s)
		}
	}
	return sections
}

// step is what the step from one variant to the next gains.
type step struct {
	text        document.Text
	lines       []document.Row // a row for every case that both variants were timed on
	unexplained bool           // the variants differ at the largest case, and no prediction says why
}

// steps reads the ladder of each family and type: what each variant gains over
// the one before it. Ranks and the GPU have chapters of their own.
func (b *Builder) steps(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "ladder", "ladder.title")
	s.Text(b.Say("ladder.intro"))
	found := false
	main := v.Pick(func(r compare.Record) bool {
		return r.Experiment == compare.MainLadder && !analysis.Foreign(r.Variant) &&
			analysis.Family(r.Variant) != analysis.OverRanks.Family && !analysis.ByGPU(r)
	})
	for _, typ := range analysis.Types(main) {
		for _, fam := range analysis.Distinct(main, func(r compare.Record) string { return analysis.Family(r.Variant) }) {
			rows := v.Pick(func(r compare.Record) bool {
				return r.Experiment == compare.MainLadder && r.Type == typ && analysis.Family(r.Variant) == fam
			})
			variants := analysis.Distinct(rows, analysis.VariantOf)
			if len(variants) < 2 {
				continue
			}
			found = true
			s.Text(b.Say("ladder.of", text.Args{"Family": fam, "Type": typ}))
			table := document.Table{
				ID:      "table-ladder-" + analysis.Anchor(fam) + "-" + analysis.Anchor(typ) + v.Suffix,
				Caption: b.Say("ladder.caption", text.Args{"Family": fam, "Type": typ}),
				Columns: b.Columns("step", "size", "#measured", "#interval", "#p", "#operations", "#accesses", "#traffic1",
					"#traffic2", "verdict"),
				Command: b.Rerun(v, rows),
			}
			var items []document.Text
			unexplained := false
			for i := 1; i < len(variants); i++ {
				st := b.step(rows, variants[i-1], variants[i])
				items = append(items, st.text)
				table.Rows = append(table.Rows, st.lines...)
				unexplained = unexplained || st.unexplained
			}
			s.List(items)
			if unexplained {
				s.Text(b.Say("explained.elsewhere"))
			}
			if len(table.Rows) > 0 {
				s.Add(table)
			}
		}
	}
	return s, found
}

// step compares two neighbours of the ladder.
func (b *Builder) step(rows []compare.Record, from, to string) step {
	name := document.Literal(analysis.Algorithm(from)) + " → " + document.Literal(analysis.Algorithm(to))
	var lines []document.Row
	sorted := map[analysis.Outcome][]analysis.Problem{}
	var missing []analysis.Problem
	var last analysis.Problem // the largest case
	var lastPair [2]compare.Record
	var lastRatio analysis.Comparison
	for _, p := range analysis.Problems(rows) {
		before, ok1 := analysis.At(rows, from, p)
		after, ok2 := analysis.At(rows, to, p)
		if !ok1 && !ok2 {
			continue
		}
		if !before.Speed() || !after.Speed() {
			missing = append(missing, p)
			continue
		}
		c := analysis.Contrast(before, after)
		sorted[c.Outcome] = append(sorted[c.Outcome], p)
		last, lastPair, lastRatio = p, [2]compare.Record{before, after}, c
		predicted := analysis.Predictions(before, after)
		lines = append(lines, document.Row{Cells: []document.Text{
			name, document.Escape(p.Label()), document.Text(number.Significant(c.Ratio)),
			document.Text(number.Extent(c.Lo, c.Hi, number.Significant)), document.Text(number.Probability(c.P)),
			document.Text(number.Significant(predicted[0])), document.Text(number.Significant(predicted[1])),
			document.Text(number.Significant(predicted[2])), document.Text(number.Significant(predicted[3])),
			b.Verdict(c.Outcome),
		}})
	}
	sentence := b.Say("ladder.step", text.Args{"Step": name})
	if len(lines) == 0 {
		return step{text: sentence + b.Say("ladder.none")}
	}
	sentence += b.outcomes("ladder", sorted)
	sentence += b.Say("ladder.largest", text.Args{
		"Size": b.Sizes([]analysis.Problem{last}), "Ratio": number.Significant(lastRatio.Ratio),
	})
	if known := number.Extent(lastRatio.Lo, lastRatio.Hi, number.Significant); known != number.Absent {
		sentence += b.Say("interval", text.Args{"Interval": known})
	}
	sentence += b.Say("stop")
	why, unexplained := b.explained(lastPair[0], lastPair[1], lastRatio)
	sentence += why
	if len(missing) > 0 {
		sentence += b.Say("ladder.missing", text.Args{"Sizes": b.Sizes(missing)})
	}
	return step{sentence, lines, unexplained}
}

// Verdict returns the word for an outcome.
func (b *Builder) Verdict(o analysis.Outcome) document.Text {
	return b.Say([]string{analysis.TooFew: "verdict.few", analysis.Level: "verdict.level",
		analysis.Quicker: "verdict.gain", analysis.Slower: "verdict.loss"}[o])
}

// outcomes says at which sizes a comparison came out how, in the words of one
// chapter, the good news first.
func (b *Builder) outcomes(chapter string, sorted map[analysis.Outcome][]analysis.Problem) document.Text {
	var parts []document.Text
	for _, o := range []analysis.Outcome{analysis.Quicker, analysis.Slower, analysis.Level, analysis.TooFew} {
		if ps := sorted[o]; len(ps) > 0 {
			key := []string{analysis.TooFew: ".few", analysis.Level: ".level", analysis.Quicker: ".gain",
				analysis.Slower: ".loss"}[o]
			parts = append(parts, b.Say(chapter+key, text.Args{"Sizes": b.Sizes(ps)}))
		}
	}
	return b.Sentence(parts)
}

// explained says which prediction accounts for a measured ratio: the nearest one on the same side
// of 1, if it is within a factor of two. It reports whether the rows differ and no prediction
// accounts for it.
func (b *Builder) explained(before, after compare.Record,
	c analysis.Comparison) (sentence document.Text, unexplained bool) {
	predicted := analysis.Predictions(before, after)
	if !slices.ContainsFunc(predicted[:], func(x float64) bool { return !math.IsNaN(x) }) {
		return b.Say("explained.unpredicted"), false
	}
	sentence = b.Say("explained.predicted", text.Args{
		"Operations": number.Significant(predicted[0]), "Accesses": number.Significant(predicted[1]),
		"Traffic1": number.Significant(predicted[2]), "Traffic2": number.Significant(predicted[3]),
	})
	if c.Outcome != analysis.Quicker && c.Outcome != analysis.Slower {
		return sentence, false
	}
	nearest, name := math.Ln2, ""
	for i, key := range []string{"explained.operations", "explained.accesses", "explained.traffic1",
		"explained.traffic2"} {
		sameSide := predicted[i] > 1.01 && c.Ratio > 1 || predicted[i] < 0.99 && c.Ratio < 1
		if d := math.Abs(math.Log(predicted[i] / c.Ratio)); sameSide && d <= nearest {
			nearest, name = d, key
		}
	}
	if name == "" {
		return sentence + b.Say("explained.none"), true
	}
	return sentence + b.Say("explained.by", text.Args{"Cause": b.Say(name)}), false
}
