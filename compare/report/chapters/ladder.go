package chapters

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// step is what the step from a variant to one that changes one thing of it gains.
type step struct {
	text        document.Text
	lines       []document.Row // a row for every case that both variants were timed on
	unexplained bool           // the variants differ at the largest case, and no model says why
}

// stepsOf returns the steps to the variants of some rows, from their parents among all.
func (b *Builder) stepsOf(v *analysis.View, all, rows []compare.Record) []step {
	var steps []step
	for _, variant := range v.ParentsFirst(analysis.Distinct(rows, analysis.VariantOf)) {
		if parent := v.Ancestor(all, variant); parent != "" {
			steps = append(steps, b.step(v, all, parent, variant))
		}
	}
	return steps
}

// StepsOf says what each variant of a family gains over its parent.
func (b *Builder) StepsOf(v *analysis.View, fam, typ string) []document.Text {
	all := v.WholeLadder(typ)
	var items []document.Text
	for _, st := range b.stepsOf(v, all, slices.DeleteFunc(slices.Clone(all), func(r compare.Record) bool {
		return analysis.Home(r) != fam
	})) {
		if len(st.lines) > 0 {
			items = append(items, st.text)
		}
	}
	return items
}

// step compares a variant with its parent. A row that another variant computed is no step.
func (b *Builder) step(v *analysis.View, rows []compare.Record, from, to string) step {
	name := stepName([2]string{from, to})
	var lines []document.Row
	sorted := map[analysis.Outcome][]analysis.Problem{}
	var missing []analysis.Problem
	same := map[[2]string][]analysis.Problem{} // by variant and by the one that ran
	var last analysis.Problem                  // the largest case
	var lastRatio analysis.Comparison
	var why analysis.Explanation
	noisy := false // the samples of the largest case vary too much
	for _, p := range analysis.Problems(rows) {
		after, ok := analysis.At(rows, to, p)
		if !ok {
			continue
		}
		before, ok := analysis.ParentRow(rows, from, after)
		if !ok || !before.Speed() || !after.Speed() {
			missing = append(missing, p)
			continue
		}
		if r, other := another(before, after); other {
			key := [2]string{r.Variant, analysis.Ran(r)}
			same[key] = append(same[key], p)
			continue
		}
		c := analysis.Contrast(before, after)
		sorted[c.Outcome] = append(sorted[c.Outcome], p)
		last, lastRatio, why = p, c, v.Explain(before, after, c.Ratio)
		noisy = analysis.Wide(before) || analysis.Wide(after)
		reason := document.Text(number.Absent)
		if len(why.Causes) > 0 && differ(c) {
			reason = b.Say("reason." + string(why.Causes[0].Reason))
		}
		lines = append(lines, document.Row{Cells: []document.Text{
			name, document.Escape(p.Label()), document.Text(number.Significant(c.Ratio)),
			document.Text(number.Extent(c.Lo, c.Hi, number.Significant)),
			document.Text(number.Significant(why.Predicted)), reason, b.Verdict(c.Outcome),
		}})
	}
	sentence := b.Say("ladder.step", text.Args{"Step": name})
	unexplained := false
	if len(lines) > 0 {
		sentence += b.Say("ladder.largest", text.Args{
			"Size": b.Sizes([]analysis.Problem{last}), "Ratio": number.Significant(lastRatio.Ratio),
		})
		if known := number.Extent(lastRatio.Lo, lastRatio.Hi, number.Significant); known != number.Absent {
			sentence += b.Say("interval", text.Args{"Interval": known})
		}
		sentence += b.Say("stop")
		var reasons document.Text
		reasons, unexplained = b.explained(why, lastRatio)
		if noisy {
			reasons, unexplained = b.Say("explained.noisy"), false
		}
		sentence += reasons + b.Say("ladder.sizes", text.Args{"Outcomes": b.outcomes("ladder", sorted)})
	} else if len(same) == 0 {
		sentence += b.Say("ladder.none")
	}
	byName := func(x, y [2]string) int { return slices.Compare(x[:], y[:]) }
	for _, key := range slices.SortedFunc(maps.Keys(same), byName) {
		sentence += b.Say("ladder.same", text.Args{
			"Variant": document.Literal(key[0]), "Ran": document.Literal(key[1]), "Sizes": b.Sizes(same[key]),
		})
	}
	if len(missing) > 0 && len(lines) > 0 {
		sentence += b.Say("ladder.missing", text.Args{"Sizes": b.Sizes(missing)})
	}
	return step{document.Text(strings.TrimSpace(string(sentence))), lines, unexplained}
}

// stepName names a step by its two variants, with their families if these differ.
func stepName(of [2]string) document.Text {
	from, to := of[0], of[1]
	if analysis.Family(from) == analysis.Family(to) {
		from, to = analysis.Algorithm(from), analysis.Algorithm(to)
	}
	return document.Literal(from) + " → " + document.Literal(to)
}

// another returns the row of two that another variant computed, the later one first.
func another(before, after compare.Record) (compare.Record, bool) {
	for _, r := range []compare.Record{after, before} {
		if analysis.Ran(r) != r.Variant {
			return r, true
		}
	}
	return compare.Record{}, false
}

// differ reports whether a comparison found a difference.
func differ(c analysis.Comparison) bool {
	return c.Outcome == analysis.Quicker || c.Outcome == analysis.Slower
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

// explained says why a variant is faster or slower than its parent: the causes that the models have,
// the main one first. It reports whether no model accounts for how much they differ, or do not.
func (b *Builder) explained(why analysis.Explanation,
	c analysis.Comparison) (sentence document.Text, unexplained bool) {
	predicted := number.Significant(why.Predicted)
	switch {
	case !differ(c) && predicted == number.Absent:
		return "", false
	case c.Outcome == analysis.Level && math.Abs(math.Log(why.Predicted)) > math.Ln2:
		return b.Say("explained.none", text.Args{"Predicted": predicted}), true
	case !differ(c):
		return b.Say("explained.level", text.Args{"Predicted": predicted}), false
	case len(why.Causes) == 0 && analysis.Alike(c.Ratio):
		return b.Say("explained.small"), false
	case len(why.Causes) == 0 && predicted == number.Absent:
		return b.Say("explained.unpredicted"), true
	case len(why.Causes) == 0:
		return b.Say("explained.none", text.Args{"Predicted": predicted}), true
	}
	clauses := make([]document.Text, len(why.Causes))
	for i, cause := range why.Causes {
		clauses[i] = b.Say("explained.clause", text.Args{
			"Reason": b.clause(why, cause.Reason), "Predicted": number.Significant(cause.Ratio),
		})
	}
	sentence = b.Say("explained.by", text.Args{"Reason": clauses[0]})
	if len(clauses) > 1 {
		sentence += b.Say("explained.also", text.Args{"Reasons": b.Clauses(clauses[1:])})
	}
	return sentence, false
}

// clause says what a reason is, in the words of the slower variant.
func (b *Builder) clause(why analysis.Explanation, reason analysis.Reason) document.Text {
	slow, fast := why.Before, why.After
	if slow.Cycles < fast.Cycles {
		slow, fast = fast, slow
	}
	key, cycles := "explained."+string(reason), number.Significant(slow.Terms[reason]*slow.Workers)
	switch reason {
	case analysis.Chain, analysis.Stream, analysis.Atomics:
		return b.Say(key, text.Args{"Cycles": cycles})
	case analysis.Lines:
		return b.Say(key, text.Args{"Share": number.Percent(slow.Share)})
	case analysis.Conflicts:
		return b.Say(key, text.Args{"Share": number.Percent(slow.Share), "Lines": fmt.Sprint(slow.Column),
			"Sets": fmt.Sprint(slow.Sets), "All": fmt.Sprint(slow.AllSets)})
	case analysis.Instructions:
		clause := b.Say(key, text.Args{"Before": fmt.Sprint(why.Before.Loop.Instructions),
			"After": fmt.Sprint(why.After.Loop.Instructions)})
		if slow.Loop.Checks > fast.Loop.Checks {
			clause += b.Say("explained.checks", text.Args{"Checks": fmt.Sprint(slow.Loop.Checks)})
		}
		return clause
	case analysis.Vectors:
		return b.Say(key, text.Args{"Before": fmt.Sprint(why.Before.Lanes), "After": fmt.Sprint(why.After.Lanes)})
	case analysis.Workers, analysis.Balance:
		return b.Say(key, text.Args{"Before": fmt.Sprintf("%.3g", why.Before.Workers),
			"After": fmt.Sprintf("%.3g", why.After.Workers)})
	}
	return b.Say(key)
}
