package report

import (
	"math"
	"slices"

	"gemm/compare"
	"gemm/compare/report/document"
	"gemm/compare/report/text"
)

// analysis is what follows from the rows of one host.
func (b *builder) analysis(v *view) []document.Section {
	var sections []document.Section
	for _, part := range []func(*view) (document.Section, bool){b.steps, b.strassen, b.compiler, b.roofline} {
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
func (b *builder) steps(v *view) (document.Section, bool) {
	s := b.of(v, "ladder", "ladder.title")
	s.Text(b.Say("ladder.intro"))
	found := false
	main := v.pick(func(r compare.Record) bool {
		return r.Experiment == "ladder" && family(r.Variant) != "reference" && family(r.Variant) != overRanks.family && !byGPU(r)
	})
	for _, typ := range types(main) {
		for _, fam := range distinct(main, func(r compare.Record) string { return family(r.Variant) }) {
			rows := v.pick(func(r compare.Record) bool {
				return r.Experiment == "ladder" && r.Type == typ && family(r.Variant) == fam
			})
			variants := distinct(rows, variantOf)
			if len(variants) < 2 {
				continue
			}
			found = true
			s.Text(b.Say("ladder.of", text.Args{"Family": fam, "Type": typ}))
			table := document.Table{
				ID:      "table-ladder-" + anchor(fam) + "-" + anchor(typ) + v.suffix,
				Caption: b.Say("ladder.caption", text.Args{"Family": fam, "Type": typ}),
				Columns: b.columns("step", "size", "#measured", "#interval", "#p", "#operations", "#accesses", "#traffic1", "#traffic2", "verdict"),
				Command: b.rerun(v, rows),
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
func (b *builder) step(rows []compare.Record, from, to string) step {
	name := document.Literal(algorithm(from)) + " → " + document.Literal(algorithm(to))
	var lines []document.Row
	sorted := map[outcome][]problem{}
	var missing []problem
	var last problem // the largest case
	var lastPair [2]compare.Record
	var lastRatio comparison
	for _, p := range problems(rows) {
		before, ok1 := at(rows, from, p)
		after, ok2 := at(rows, to, p)
		if !ok1 && !ok2 {
			continue
		}
		if !before.Speed() || !after.Speed() {
			missing = append(missing, p)
			continue
		}
		c := contrast(before, after)
		sorted[c.Outcome] = append(sorted[c.Outcome], p)
		last, lastPair, lastRatio = p, [2]compare.Record{before, after}, c
		predicted := predictions(before, after)
		lines = append(lines, document.Row{Cells: []document.Text{
			name, document.Escape(p.label()), document.Text(significant(c.Ratio)), document.Text(extent(c.Lo, c.Hi, significant)), document.Text(probability(c.P)),
			document.Text(significant(predicted[0])), document.Text(significant(predicted[1])), document.Text(significant(predicted[2])), document.Text(significant(predicted[3])),
			b.verdict(c.Outcome),
		}})
	}
	sentence := b.Say("ladder.step", text.Args{"Step": name})
	if len(lines) == 0 {
		return step{text: sentence + b.Say("ladder.none")}
	}
	sentence += b.outcomes("ladder", sorted)
	sentence += b.Say("ladder.largest", text.Args{
		"Size": b.sizes([]problem{last}), "Ratio": significant(lastRatio.Ratio),
	})
	if known := extent(lastRatio.Lo, lastRatio.Hi, significant); known != absent {
		sentence += b.Say("interval", text.Args{"Interval": known})
	}
	sentence += b.Say("stop")
	why, unexplained := b.explained(lastPair[0], lastPair[1], lastRatio)
	sentence += why
	if len(missing) > 0 {
		sentence += b.Say("ladder.missing", text.Args{"Sizes": b.sizes(missing)})
	}
	return step{sentence, lines, unexplained}
}

// verdict returns the word for an outcome.
func (b *builder) verdict(o outcome) document.Text {
	return b.Say([]string{tooFew: "verdict.few", level: "verdict.level", quicker: "verdict.gain", slower: "verdict.loss"}[o])
}

// outcomes says at which sizes a comparison came out how, in the words of one
// chapter, the good news first.
func (b *builder) outcomes(chapter string, sorted map[outcome][]problem) document.Text {
	var parts []document.Text
	for _, o := range []outcome{quicker, slower, level, tooFew} {
		if ps := sorted[o]; len(ps) > 0 {
			key := []string{tooFew: ".few", level: ".level", quicker: ".gain", slower: ".loss"}[o]
			parts = append(parts, b.Say(chapter+key, text.Args{"Sizes": b.sizes(ps)}))
		}
	}
	return b.Sentence(parts)
}

// predictions returns the ratios of operations, accesses and traffic that the
// models of two rows predict, NaN where they do not.
func predictions(before, after compare.Record) [4]float64 {
	nan := math.NaN()
	if before.Predicted == nil || after.Predicted == nil {
		return [4]float64{nan, nan, nan, nan}
	}
	ratio := func(a, b float64) float64 {
		if !(a > 0) || !(b > 0) {
			return nan
		}
		return a / b
	}
	p, q := before.Predicted, after.Predicted
	return [4]float64{ratio(p.Flops, q.Flops), ratio(p.Accesses, q.Accesses), ratio(p.L1Traffic, q.L1Traffic), ratio(p.L2Traffic, q.L2Traffic)}
}

// explained says which of the predictions accounts for a measured ratio: of those
// on the same side of 1, the nearest, if it is within a factor of two. It reports
// whether the rows differ and none does.
func (b *builder) explained(before, after compare.Record, c comparison) (sentence document.Text, unexplained bool) {
	predicted := predictions(before, after)
	if !slices.ContainsFunc(predicted[:], func(x float64) bool { return !math.IsNaN(x) }) {
		return b.Say("explained.unpredicted"), false
	}
	sentence = b.Say("explained.predicted", text.Args{
		"Operations": significant(predicted[0]), "Accesses": significant(predicted[1]),
		"Traffic1": significant(predicted[2]), "Traffic2": significant(predicted[3]),
	})
	if c.Outcome != quicker && c.Outcome != slower {
		return sentence, false
	}
	nearest, name := math.Ln2, ""
	for i, key := range []string{"explained.operations", "explained.accesses", "explained.traffic1", "explained.traffic2"} {
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
