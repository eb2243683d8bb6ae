package chapters

import (
	"cmp"
	"fmt"
	"slices"

	"gemm"
	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// strassen says from which size on the fast algorithms pay, by the ladder and by
// the sweep of their cut-offs, and why they seldom do.
func (b *Builder) strassen(v *analysis.View) (document.Section, bool) {
	isFast := func(r compare.Record) bool { return slices.Contains(analysis.FastVariants, r.Variant) }
	s := b.Of(v, "strassen", "strassen.title")
	s.Text(b.Say("strassen.intro", text.Args{"Packed": document.Literal(analysis.Packed)}))
	found, reasoned := false, false
	for _, typ := range analysis.Types(v.PickAll(func(r compare.Record) bool {
		return isFast(r) || r.Experiment == compare.CutoffSweep
	})) {
		rows := v.WholeLadder(typ)
		against := v.PickAll(func(r compare.Record) bool {
			return r.Type == typ && r.Experiment == compare.MainLadder && (isFast(r) || r.Variant == analysis.Packed)
		})
		sweep := v.PickAll(func(r compare.Record) bool { return r.Experiment == compare.CutoffSweep && r.Type == typ })
		found = true
		if slices.ContainsFunc(against, isFast) {
			s.Text(b.Say("strassen.of", text.Args{"Type": typ}))
			table := document.Table{
				ID:      "table-strassen-" + analysis.Anchor(typ) + v.Suffix,
				Caption: b.Say("strassen.caption", text.Args{"Type": typ, "Packed": document.Literal(analysis.Packed)}),
				Columns: b.Columns("variant", "size", "#timeratio", "#interval", "verdict", "#saved", "#workspace",
					"#errorratio"),
				Command: b.Rerun(v, against),
			}
			var items []document.Text
			for _, variant := range analysis.FastVariants {
				sentence, lines := b.crossover(rows, variant)
				if sentence != "" {
					items = append(items, sentence)
				}
				table.Rows = append(table.Rows, lines...)
			}
			s.List(items)
			b.Figure(&s, v, "strassen-crossover-"+typ, "fig.crossover", table.Command, text.Args{"Type": typ})
			if len(table.Rows) > 0 {
				s.Add(table)
			}
		}
		if len(sweep) > 0 {
			b.sweep(&s, v, typ, sweep, rows)
		}
		// The reasons are the same for every type: once is enough.
		if !reasoned && slices.ContainsFunc(against, func(r compare.Record) bool { return isFast(r) && r.Speed() }) {
			reasoned = true
			items, measured := b.reasons(rows)
			if measured {
				s.Text(b.Say("reasons.intro", text.Args{"Type": typ}))
			} else {
				s.Text(b.Say("reasons.general"))
			}
			s.Add(document.List{Ordered: true, Items: items})
		}
	}
	return s, found
}

// crossover says from which size a fast variant pays, and returns a table row for every case that
// was timed for both it and packed.
func (b *Builder) crossover(rows []compare.Record, variant string) (document.Text, []document.Row) {
	var lines []document.Row
	var cubes []analysis.Problem
	gains := map[analysis.Problem]bool{}
	unclear := false // the largest case
	ratios := map[analysis.Problem]float64{}
	seen, cutoff := false, 0 // cutoff: of a row below it
	for _, p := range analysis.Problems(rows) {
		r, ok := analysis.At(rows, variant, p)
		seen = seen || ok
		if !analysis.RanItself(r) {
			cutoff, _ = r.Resolved["cutoff"].(int)
			continue
		}
		base, _ := analysis.At(rows, analysis.Packed, p)
		if !r.Speed() || !base.Speed() {
			continue
		}
		c := analysis.Contrast(r, base) // above 1: packed is faster
		lines = append(lines, document.Row{Cells: []document.Text{
			document.Literal(variant), document.Escape(p.Label()), document.Text(number.Significant(c.Ratio)),
			document.Text(number.Extent(c.Lo, c.Hi, number.Significant)),
			b.payVerdict(c.Outcome), b.saved(r, base), b.workspace(r),
			document.Text(number.Significant(analysis.ErrorRatio(r, base))),
		}})
		if p.Cube() {
			cubes = append(cubes, p)
			gains[p] = c.Outcome == analysis.Slower
			unclear = c.Outcome == analysis.Level || c.Outcome == analysis.TooFew
			ratios[p] = c.Ratio
		}
	}
	if !seen {
		return "", nil
	}
	if len(cubes) == 0 && cutoff > 0 {
		return b.Say("strassen.below", text.Args{
			"Variant": document.Literal(variant), "Packed": document.Literal(analysis.Packed), "Cutoff": cutoff,
		}), lines
	}
	if len(cubes) == 0 {
		return b.Say("strassen.untimed", text.Args{
			"Variant": document.Literal(variant), "Packed": document.Literal(analysis.Packed),
		}), lines
	}
	largest := cubes[len(cubes)-1]
	from := len(cubes)
	for from > 0 && gains[cubes[from-1]] {
		from--
	}
	ratio := number.Significant(ratios[largest])
	switch {
	case from == len(cubes)-1:
		return b.Say("strassen.largest", text.Args{
			"Variant": document.Literal(variant), "Largest": largest.N, "Ratio": ratio,
		}), lines
	case from < len(cubes):
		return b.Say("strassen.pays", text.Args{
			"Variant": document.Literal(variant), "From": cubes[from].N, "Largest": largest.N, "Ratio": ratio,
		}), lines
	case slices.ContainsFunc(cubes, func(p analysis.Problem) bool { return gains[p] }):
		var at []analysis.Problem
		for _, p := range cubes {
			if gains[p] {
				at = append(at, p)
			}
		}
		return b.Say("strassen.unsteady", text.Args{
			"Variant": document.Literal(variant), "Sizes": b.Sizes(at), "Largest": largest.N, "Ratio": ratio,
		}), lines
	case unclear:
		return b.Say("strassen.level", text.Args{
			"Variant": document.Literal(variant), "Largest": largest.N, "Ratio": ratio,
		}), lines
	default:
		return b.Say("strassen.never", text.Args{
			"Variant": document.Literal(variant), "Largest": largest.N, "Ratio": ratio,
		}), lines
	}
}

// payVerdict returns the word for a comparison in which the fast variant is the
// first row.
func (b *Builder) payVerdict(o analysis.Outcome) document.Text {
	return b.Say([]string{analysis.TooFew: "verdict.few", analysis.Level: "verdict.level", analysis.Quicker: "pays.no",
		analysis.Slower: "pays.yes"}[o])
}

// saved returns the predicted share of operations that r saves over base, absent if it saves none.
func (b *Builder) saved(r, base compare.Record) document.Text {
	share := 1 - 1/analysis.Predictions(base, r)[0]
	if !(share > 0.0005) { // none, or not known
		return number.Absent
	}
	return document.Text(number.Share(share))
}

// workspace returns the bytes that a row's model predicts besides the operands.
func (b *Builder) workspace(r compare.Record) document.Text {
	if r.Predicted == nil {
		return number.Absent
	}
	return document.Text(number.ByteSize(r.Predicted.Workspace))
}

// sweep says which cut-off is best and whether it beats packed, and tables all
// rows of the sweep.
func (b *Builder) sweep(s *document.Section, v *analysis.View, typ string, sweep, ladder []compare.Record) {
	s.Text(b.Say("cutoff.intro", text.Args{"Type": typ}))
	table := document.Table{
		ID:      "table-cutoff-" + analysis.Anchor(typ) + v.Suffix,
		Caption: b.Say("cutoff.caption", text.Args{"Type": typ, "Packed": document.Literal(analysis.Packed)}),
		Columns: b.Columns("variant", "size", "#cutoff", "state", "#median", "#interval", "#timeratio",
			"#ratiointerval", "verdict"),
		Command: b.Rerun(v, sweep),
	}
	var items, notes []document.Text
	for _, variant := range analysis.Distinct(sweep, analysis.VariantOf) {
		for _, p := range analysis.Problems(sweep) {
			var rows []compare.Record
			for _, r := range sweep {
				if r.Variant == variant && analysis.ProblemOf(r) == p {
					rows = append(rows, r)
				}
			}
			slices.SortStableFunc(rows,
				func(x, y compare.Record) int { return cmp.Compare(analysis.Cutoff(x), analysis.Cutoff(y)) })
			base, ok := analysis.At(sweep, analysis.Packed, p)
			if !ok {
				base, ok = analysis.At(ladder, analysis.Packed, p)
			}
			if !ok { // on several threads
				base, _ = analysis.At(ladder, analysis.ParallelPacked, p)
			}
			for _, r := range rows {
				var state document.Text
				state, notes = b.State(r, notes)
				line := []document.Text{document.Literal(r.Variant), document.Escape(p.Label()), b.cutoff(r), state,
					document.Text(b.Median(r)), document.Text(b.Ci(r))}
				if !analysis.RanItself(r) && r.Speed() {
					line = append(line, number.Absent, number.Absent, b.Say("pays.leaf"))
				} else if r.Speed() && base.Speed() && r.Variant != analysis.Packed {
					c := analysis.Contrast(r, base)
					line = append(line, document.Text(number.Significant(c.Ratio)),
						document.Text(number.Extent(c.Lo, c.Hi, number.Significant)), b.payVerdict(c.Outcome))
				} else {
					line = append(line, number.Absent, number.Absent, number.Absent)
				}
				table.Rows = append(table.Rows, document.Row{Cells: line, Class: analysis.Class(r)})
			}
			if variant != analysis.Packed && len(rows) > 0 {
				items = append(items, b.bestCutoff(variant, p, rows, base))
			}
		}
	}
	s.List(items)
	b.Figure(s, v, "cutoff-"+typ, "fig.cutoff", table.Command, text.Args{"Type": typ})
	s.Add(table)
	if len(notes) > 0 {
		s.Text(b.Say("results.notes"))
		s.Add(document.List{Ordered: true, Items: notes})
	}
}

// cutoff returns the cut-off of a row as text.
func (b *Builder) cutoff(r compare.Record) document.Text {
	if n := analysis.Cutoff(r); n > 0 {
		return document.Text(fmt.Sprint(n))
	}
	return number.Absent
}

// bestCutoff says which cut-off of a variant is the fastest on one case, how much slower the
// smallest one is, and how the best compares with packed.
func (b *Builder) bestCutoff(variant string, p analysis.Problem, rows []compare.Record,
	base compare.Record) document.Text {
	ok := slices.DeleteFunc(analysis.Timed(rows), func(r compare.Record) bool { return !analysis.RanItself(r) })
	if len(ok) == 0 {
		return b.Say("cutoff.none", text.Args{"Variant": document.Literal(variant), "Size": b.Sizes([]analysis.Problem{p})})
	}
	best := slices.MinFunc(ok, func(x, y compare.Record) int { return cmp.Compare(x.Median, y.Median) })
	sentence := b.Say("cutoff.best", text.Args{
		"Variant": document.Literal(variant), "Size": b.Sizes([]analysis.Problem{p}), "Cutoff": analysis.Cutoff(best),
		"Time": number.Seconds(float64(best.Median)),
	})
	if least := ok[0]; analysis.Cutoff(least) != analysis.Cutoff(best) {
		sentence += b.Say("cutoff.least", text.Args{
			"Cutoff": analysis.Cutoff(least), "Ratio": number.Significant(float64(least.Median / best.Median)),
		})
	}
	against := analysis.Packed
	if p.Threads > 1 {
		against = analysis.ParallelPacked
	}
	if !base.Speed() {
		return sentence + b.Say("cutoff.nobase", text.Args{"Against": document.Literal(against)})
	}
	c := analysis.Contrast(best, base)
	key := []string{analysis.TooFew: "cutoff.few", analysis.Level: "cutoff.level", analysis.Quicker: "cutoff.behind",
		analysis.Slower: "cutoff.ahead"}[c.Outcome]
	return sentence + b.Say(key, text.Args{"Against": document.Literal(against), "Ratio": number.Significant(c.Ratio)})
}

// reasons are the reasons why a fast algorithm seldom pays, each with figures if they were measured. They are of
// Strassen's algorithm, or of Winograd's form if Strassen's was not timed.
func (b *Builder) reasons(rows []compare.Record) (items []document.Text, measured bool) {
	var variant string
	for _, name := range slices.Backward(analysis.FastVariants) {
		if slices.ContainsFunc(rows, func(r compare.Record) bool { return r.Variant == name && r.Speed() }) {
			variant = name
		}
	}
	var pairs [][2]compare.Record // with packed, cubes, the smallest first
	gained := 0                   // pairs from which on all are gains
	for _, p := range analysis.Problems(rows) {
		r, _ := analysis.At(rows, variant, p)
		base, _ := analysis.At(rows, analysis.Packed, p)
		if p.Cube() && r.Speed() && base.Speed() && analysis.RanItself(r) {
			pairs = append(pairs, [2]compare.Record{r, base})
			if analysis.Contrast(r, base).Outcome != analysis.Slower {
				gained = len(pairs)
			}
		}
	}
	if len(pairs) == 0 {
		return []document.Text{
			b.Say("reason.constant"), b.Say("reason.workspace"), b.Say("reason.error"), b.Say("reason.structure"),
			b.Say("reason.rare"),
		}, false
	}
	small, large := pairs[0], pairs[len(pairs)-1]
	for _, pair := range slices.Backward(pairs) {
		if ops := analysis.Predictions(pair[0], pair[1])[0]; ops < 0.999 { // below the cut-off there is no recursion
			small = pair
		}
	}
	r, base := large[0], large[1]
	n := r.N
	matrices := number.ByteSize(3 * float64(n) * float64(n) * float64(gemm.TypeNamed(r.Type).Size))

	constant := b.Say("reason.constant") + b.Say("reason.constant.here", text.Args{
		"Variant": document.Literal(variant), "N": small[0].N,
		"Ratio": number.Significant(float64(small[0].Median / small[1].Median)),
	})
	if ops := number.Significant(analysis.Predictions(small[0], small[1])[0]); ops != number.Absent && ops != "1.00" {
		constant += b.Say("reason.constant.ops", text.Args{"Ratio": ops})
	}
	workspace := b.Say("reason.workspace")
	structure := b.Say("reason.structure")
	if r.Predicted != nil && base.Predicted != nil {
		workspace += b.Say("reason.workspace.here", text.Args{
			"N": n, "Variant": document.Literal(variant), "Workspace": number.ByteSize(r.Predicted.Workspace),
			"Packed": document.Literal(analysis.Packed), "PackedWorkspace": number.ByteSize(base.Predicted.Workspace),
			"Matrices": matrices,
		})
		if saved := b.saved(r, base); saved != number.Absent {
			structure += b.Say("reason.structure.here", text.Args{"N": n, "Saved": saved})
		}
	}
	errors := b.Say("reason.error") + b.Say("reason.error.here", text.Args{
		"N": n, "Variant": document.Literal(variant), "Residual": number.Significant(float64(r.Residual)),
		"Kind": b.Word("kind.", string(r.BoundKind)), "Bound": number.Significant(float64(r.Bound)),
	})
	if ratio := analysis.ErrorRatio(r, base); number.Significant(ratio) != number.Absent {
		errors += b.Say("reason.error.ratio", text.Args{
			"Packed": document.Literal(analysis.Packed), "Ratio": number.Significant(ratio),
		})
	}
	rare := b.Say("reason.rare")
	if gained < len(pairs) {
		at := pairs[gained]
		rare += b.Say("reason.rare.from", text.Args{
			"N": at[0].N, "Matrices": number.ByteSize(3 * float64(at[0].N) * float64(at[0].N) *
				float64(gemm.TypeNamed(at[0].Type).Size)),
			"Time": number.Seconds(float64(at[1].Median)),
		})
	} else {
		rare += b.Say("reason.rare.never", text.Args{
			"N": n, "Matrices": matrices, "Time": number.Seconds(float64(base.Median)),
		})
	}
	return []document.Text{constant, workspace, errors, structure, rare}, true
}
