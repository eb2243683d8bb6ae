package chapters

import (
	"math"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/analysis/lab"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// Chains is the section on the iterated products among rows: the time of the whole chain, and what a step takes longer
// than one product.
func (b *Builder) Chains(v *analysis.View, id string, rows []compare.Record) (document.Section, bool) {
	s := b.Of(v, id, "chain.title")
	chains := lab.Chains(rows)
	if len(chains) == 0 {
		return s, false
	}
	s.Text(b.Say("chain.intro"))
	t := document.Table{ID: "table-" + id + v.Suffix, Caption: b.Say("chain.caption"),
		Columns: b.Columns("variant", "pipe", "size", "#steps", "state", "#median", "#eachstep", "#oneproduct", "#lost",
			"#chainrate", "verdict")}
	var notes []document.Text
	var used []compare.Record
	most, least := math.Inf(-1), math.Inf(1)
	for _, c := range chains {
		r := c.Row
		used = append(used, r)
		var state document.Text
		state, notes = b.State(r, notes)
		each, one, lost, verdict := document.Text(number.Absent), document.Text(number.Absent),
			document.Text(number.Absent), document.Text(number.Absent)
		if seconds, ok := c.Seconds(); ok {
			each = document.Text(number.Seconds(seconds))
		}
		if c.One.Speed() {
			one = document.Text(b.Median(c.One))
			used = append(used, c.One)
		}
		if share, ok := c.Lost(); ok {
			lost = document.Text(number.Percent(share))
			most, least = max(most, share), min(least, share)
			if !math.IsNaN(c.Each.P) {
				verdict = b.Verdict(c.Each.Outcome)
			}
		}
		t.Rows = append(t.Rows, document.Row{Class: analysis.Held(r), Cells: []document.Text{
			b.Name(compare.Record{Key: compare.Key{Variant: r.Variant}, Params: analysis.Omit(r.Params, "chain")}),
			document.Escape(r.Type), document.Escape(analysis.ProblemOf(r).Label()), number.Numbered(c.Steps), state,
			document.Text(b.Median(r)), each, one, lost, document.Text(number.Significant(analysis.Known(r, r.Rate))),
			verdict,
		}})
	}
	if most >= least {
		args := text.Args{"Least": number.Percent(least), "Most": number.Percent(most)}
		if args["Least"] == args["Most"] {
			s.Text(b.Say("chain.same", text.Args{"Share": args["Most"]}))
		} else {
			s.Text(b.Say("chain.lost", args))
		}
	}
	t.Command = b.Rerun(v, used)
	b.WithNotes(&s, t, notes)
	return s, true
}
