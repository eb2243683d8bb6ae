package report

import (
	"cmp"
	"fmt"
	"slices"

	"gemm/compare"
	"gemm/compare/report/document"
	"gemm/compare/report/text"
)

// packed is what the fast algorithms have to beat.
const packed = "serial/packed"

// fastVariants are the variants that trade multiplications for additions.
var fastVariants = []string{"serial/strassen", "serial/winograd"}

// strassen says from which size on the fast algorithms pay, by the ladder and by
// the sweep of their cut-offs, and why they seldom do.
func (b *builder) strassen(v *view) (document.Section, bool) {
	isFast := func(r compare.Record) bool { return slices.Contains(fastVariants, r.Variant) }
	s := b.of(v, "strassen", "strassen.title")
	s.Text(b.Say("strassen.intro", text.Args{"Packed": document.Literal(packed)}))
	found, reasoned := false, false
	for _, typ := range types(v.pick(func(r compare.Record) bool { return isFast(r) || r.Experiment == "cutoff" })) {
		rows := v.ladder(typ)
		against := v.pick(func(r compare.Record) bool {
			return r.Type == typ && r.Experiment == "ladder" && (isFast(r) || r.Variant == packed)
		})
		sweep := v.pick(func(r compare.Record) bool { return r.Experiment == "cutoff" && r.Type == typ })
		found = true
		if slices.ContainsFunc(against, isFast) {
			s.Text(b.Say("strassen.of", text.Args{"Type": typ}))
			table := document.Table{
				ID:      "table-strassen-" + anchor(typ) + v.suffix,
				Caption: b.Say("strassen.caption", text.Args{"Type": typ, "Packed": document.Literal(packed)}),
				Columns: b.columns("variant", "size", "#timeratio", "#interval", "verdict", "#saved", "#workspace", "#residual", "#packedresidual"),
				Command: b.rerun(v, against),
			}
			var items []document.Text
			for _, variant := range fastVariants {
				sentence, lines := b.crossover(rows, variant)
				if sentence != "" {
					items = append(items, sentence)
				}
				table.Rows = append(table.Rows, lines...)
			}
			s.List(items)
			b.figure(&s, v, "strassen-crossover-"+typ, "fig.crossover", table.Command, text.Args{"Type": typ})
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
			s.Text(b.Say("reasons.intro", text.Args{"Type": typ}))
			s.Add(document.List{Ordered: true, Items: b.reasons(rows)})
		}
	}
	return s, found
}

// crossover says from which size a fast variant pays, and gives a table row for
// every case that it was timed on beside packed.
func (b *builder) crossover(rows []compare.Record, variant string) (document.Text, []document.Row) {
	var lines []document.Row
	var cubes []problem
	gains := map[problem]bool{}
	unclear := false // the largest case
	ratios := map[problem]float64{}
	seen := false
	for _, p := range problems(rows) {
		r, ok := at(rows, variant, p)
		seen = seen || ok
		base, _ := at(rows, packed, p)
		if !r.Speed() || !base.Speed() {
			continue
		}
		c := contrast(r, base) // above 1: packed is faster
		lines = append(lines, document.Row{Cells: []document.Text{
			document.Literal(variant), document.Escape(p.label()), document.Text(significant(c.Ratio)), document.Text(extent(c.Lo, c.Hi, significant)),
			b.payVerdict(c.Outcome), b.saved(r, base), b.workspace(r),
			document.Text(significant(float64(r.Residual))), document.Text(significant(float64(base.Residual))),
		}})
		if p.cube() {
			cubes = append(cubes, p)
			gains[p] = c.Outcome == slower
			unclear = c.Outcome == level || c.Outcome == tooFew
			ratios[p] = c.Ratio
		}
	}
	if !seen {
		return "", nil
	}
	if len(cubes) == 0 {
		return b.Say("strassen.untimed", text.Args{
			"Variant": document.Literal(variant), "Packed": document.Literal(packed),
		}), lines
	}
	largest := cubes[len(cubes)-1]
	from := len(cubes)
	for from > 0 && gains[cubes[from-1]] {
		from--
	}
	ratio := significant(ratios[largest])
	switch {
	case from < len(cubes):
		return b.Say("strassen.pays", text.Args{
			"Variant": document.Literal(variant), "From": cubes[from].n, "Largest": largest.n, "Ratio": ratio,
		}), lines
	case slices.ContainsFunc(cubes, func(p problem) bool { return gains[p] }):
		var at []problem
		for _, p := range cubes {
			if gains[p] {
				at = append(at, p)
			}
		}
		return b.Say("strassen.unsteady", text.Args{
			"Variant": document.Literal(variant), "Sizes": b.sizes(at), "Largest": largest.n, "Ratio": ratio,
		}), lines
	case unclear:
		return b.Say("strassen.level", text.Args{
			"Variant": document.Literal(variant), "Largest": largest.n, "Ratio": ratio,
		}), lines
	default:
		return b.Say("strassen.never", text.Args{
			"Variant": document.Literal(variant), "Largest": largest.n, "Ratio": ratio,
		}), lines
	}
}

// payVerdict returns the word for a comparison in which the fast variant is the
// first row.
func (b *builder) payVerdict(o outcome) document.Text {
	return b.Say([]string{tooFew: "verdict.few", level: "verdict.level", quicker: "pays.no", slower: "pays.yes"}[o])
}

// saved returns the predicted share of operations that r saves over base.
func (b *builder) saved(r, base compare.Record) document.Text {
	return document.Text(percent(1 - 1/predictions(base, r)[0]))
}

func percent(x float64) string {
	sentence := significant(100 * x)
	if sentence == absent {
		return absent
	}
	return sentence + " %"
}

// workspace returns the bytes that a row's model predicts besides the operands.
func (b *builder) workspace(r compare.Record) document.Text {
	if r.Predicted == nil {
		return absent
	}
	return document.Text(byteSize(r.Predicted.Workspace))
}

// sweep says which cut-off is best and whether it beats packed, and tables all
// rows of the sweep.
func (b *builder) sweep(s *document.Section, v *view, typ string, sweep, ladder []compare.Record) {
	s.Text(b.Say("cutoff.intro", text.Args{"Type": typ}))
	table := document.Table{
		ID:      "table-cutoff-" + anchor(typ) + v.suffix,
		Caption: b.Say("cutoff.caption", text.Args{"Type": typ, "Packed": document.Literal(packed)}),
		Columns: b.columns("variant", "size", "#cutoff", "state", "#median", "#interval", "#timeratio", "#ratiointerval", "verdict"),
		Command: b.rerun(v, sweep),
	}
	var items, notes []document.Text
	for _, variant := range distinct(sweep, variantOf) {
		for _, p := range problems(sweep) {
			var rows []compare.Record
			for _, r := range sweep {
				if r.Variant == variant && problemOf(r) == p {
					rows = append(rows, r)
				}
			}
			slices.SortStableFunc(rows, func(x, y compare.Record) int { return cmp.Compare(cutoff(x), cutoff(y)) })
			base, ok := at(sweep, packed, p)
			if !ok {
				base, ok = at(ladder, packed, p)
			}
			if !ok { // on several threads
				base, _ = at(ladder, parallelPacked, p)
			}
			for _, r := range rows {
				var state document.Text
				state, notes = b.state(r, notes)
				line := []document.Text{document.Literal(r.Variant), document.Escape(p.label()), b.cutoff(r), state, document.Text(b.median(r)), document.Text(b.ci(r))}
				if r.Speed() && base.Speed() && r.Variant != packed {
					c := contrast(r, base)
					line = append(line, document.Text(significant(c.Ratio)), document.Text(extent(c.Lo, c.Hi, significant)), b.payVerdict(c.Outcome))
				} else {
					line = append(line, absent, absent, absent)
				}
				table.Rows = append(table.Rows, document.Row{Cells: line, Class: class(r)})
			}
			if variant != packed && len(rows) > 0 {
				items = append(items, b.bestCutoff(variant, p, rows, base))
			}
		}
	}
	s.List(items)
	b.figure(s, v, "cutoff-"+typ, "fig.cutoff", table.Command, text.Args{"Type": typ})
	s.Add(table)
	if len(notes) > 0 {
		s.Text(b.Say("results.notes"))
		s.Add(document.List{Ordered: true, Items: notes})
	}
}

// class marks a row of a table by its status.
func class(r compare.Record) string {
	switch {
	case r.Status == compare.Wrong:
		return "wrong"
	case !r.Speed():
		return "muted"
	}
	return ""
}

// cutoff returns the cut-off of a row of the sweep, 0 where it has none.
func cutoff(r compare.Record) int {
	n, _ := r.Params["cutoff"].(int)
	return n
}

// cutoff returns the cut-off of a row as text.
func (b *builder) cutoff(r compare.Record) document.Text {
	if n := cutoff(r); n > 0 {
		return document.Text(fmt.Sprint(n))
	}
	return absent
}

// bestCutoff says which cut-off of a variant is the fastest on one case, how
// much the least one costs beside it, and how it stands to packed.
func (b *builder) bestCutoff(variant string, p problem, rows []compare.Record, base compare.Record) document.Text {
	ok := timed(rows)
	if len(ok) == 0 {
		return b.Say("cutoff.none", text.Args{"Variant": document.Literal(variant), "Size": b.sizes([]problem{p})})
	}
	best := slices.MinFunc(ok, func(x, y compare.Record) int { return cmp.Compare(x.Median, y.Median) })
	sentence := b.Say("cutoff.best", text.Args{
		"Variant": document.Literal(variant), "Size": b.sizes([]problem{p}), "Cutoff": cutoff(best),
		"Time": seconds(float64(best.Median)),
	})
	if least := ok[0]; cutoff(least) != cutoff(best) {
		sentence += b.Say("cutoff.least", text.Args{
			"Cutoff": cutoff(least), "Ratio": significant(float64(least.Median / best.Median)),
		})
	}
	against := packed
	if p.threads > 1 {
		against = parallelPacked
	}
	if !base.Speed() {
		return sentence + b.Say("cutoff.nobase", text.Args{"Against": document.Literal(against)})
	}
	c := contrast(best, base)
	key := []string{tooFew: "cutoff.few", level: "cutoff.level", quicker: "cutoff.behind", slower: "cutoff.ahead"}[c.Outcome]
	return sentence + b.Say(key, text.Args{"Against": document.Literal(against), "Ratio": significant(c.Ratio)})
}

// reasons are why a fast algorithm seldom pays, each with what was measured here.
// The figures are those of Strassen's algorithm, or of Winograd's form where
// Strassen's was not timed.
func (b *builder) reasons(rows []compare.Record) []document.Text {
	var variant string
	for _, name := range slices.Backward(fastVariants) {
		if slices.ContainsFunc(rows, func(r compare.Record) bool { return r.Variant == name && r.Speed() }) {
			variant = name
		}
	}
	var pairs [][2]compare.Record // with packed, cubes, the smallest first
	gained := 0                   // pairs from which on all are gains
	for _, p := range problems(rows) {
		r, _ := at(rows, variant, p)
		base, _ := at(rows, packed, p)
		if p.cube() && r.Speed() && base.Speed() {
			pairs = append(pairs, [2]compare.Record{r, base})
			if contrast(r, base).Outcome != slower {
				gained = len(pairs)
			}
		}
	}
	if len(pairs) == 0 {
		return []document.Text{
			b.Say("reason.constant"), b.Say("reason.workspace"), b.Say("reason.error"), b.Say("reason.structure"), b.Say("reason.rare"),
		}
	}
	small, large := pairs[0], pairs[len(pairs)-1]
	for _, pair := range slices.Backward(pairs) {
		if ops := predictions(pair[0], pair[1])[0]; ops < 0.999 { // below the cut-off there is no recursion
			small = pair
		}
	}
	r, base := large[0], large[1]
	n := r.N
	matrices := byteSize(3 * float64(n) * float64(n) * elementBytes(r.Type))

	constant := b.Say("reason.constant") + b.Say("reason.constant.here", text.Args{
		"Variant": document.Literal(variant), "N": small[0].N,
		"Ratio": significant(float64(small[0].Median / small[1].Median)),
	})
	if ops := predictions(small[0], small[1])[0]; significant(ops) != absent {
		constant += b.Say("reason.constant.ops", text.Args{"Ratio": significant(ops)})
	}
	workspace := b.Say("reason.workspace")
	structure := b.Say("reason.structure")
	if r.Predicted != nil && base.Predicted != nil {
		workspace += b.Say("reason.workspace.here", text.Args{
			"N": n, "Variant": document.Literal(variant), "Workspace": byteSize(r.Predicted.Workspace),
			"Packed": document.Literal(packed), "PackedWorkspace": byteSize(base.Predicted.Workspace),
			"Matrices": matrices,
		})
		structure += b.Say("reason.structure.here", text.Args{"N": n, "Saved": b.saved(r, base)})
	}
	errors := b.Say("reason.error") + b.Say("reason.error.here", text.Args{
		"N": n, "Variant": document.Literal(variant), "Residual": significant(float64(r.Residual)),
		"Kind": b.Word("kind.", string(r.BoundKind)), "Bound": significant(float64(r.Bound)),
		"Packed": document.Literal(packed), "PackedResidual": significant(float64(base.Residual)),
		"PackedKind": b.Word("kind.", string(base.BoundKind)),
	})
	if ratio := errorRatio(r, base); significant(ratio) != absent {
		errors += b.Say("reason.error.ratio", text.Args{"Ratio": significant(ratio)})
	}
	rare := b.Say("reason.rare")
	if gained < len(pairs) {
		at := pairs[gained]
		rare += b.Say("reason.rare.from", text.Args{
			"N": at[0].N, "Matrices": byteSize(3 * float64(at[0].N) * float64(at[0].N) * elementBytes(at[0].Type)),
			"Time": seconds(float64(at[1].Median)),
		})
	} else {
		rare += b.Say("reason.rare.never", text.Args{
			"N": n, "Matrices": matrices, "Time": seconds(float64(base.Median)),
		})
	}
	return []document.Text{constant, workspace, errors, structure, rare}
}

// errorRatio returns how many times larger the error of r is than that of base,
// on one case. Residuals of one kind compare as they are. A normwise one is over
// max|A|·max|B|, a componentwise one over |A||B|, which on the operands that
// measuring draws, of magnitudes uniform in [½, 1), is 9/16·k times that.
func errorRatio(r, base compare.Record) float64 {
	scale := 1.0
	if r.BoundKind == "normwise" && base.BoundKind == "componentwise" {
		scale = 9.0 / 16 * float64(r.K)
	} else if r.BoundKind != base.BoundKind {
		return float64(compare.None())
	}
	return float64(r.Residual) / scale / float64(base.Residual)
}

// elementBytes returns the size of an element of a type.
func elementBytes(typ string) float64 {
	switch typ {
	case "f64":
		return 8
	case "f32":
		return 4
	default:
		return 1
	}
}
