package chapters

import (
	"fmt"
	"math"
	"slices"

	"gemm/compare"
	"gemm/compare/batch"
	"gemm/compare/report/analysis"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// Batches is the section on the batches among rows: the time of a product, and how many times as fast our fastest
// variant is as each other row of the same batch and threads.
func (b *Builder) Batches(v *analysis.View, id string, rows []compare.Record) (document.Section, bool) {
	s := b.Of(v, id, "batch.title")
	rows = slices.DeleteFunc(slices.Clone(rows), func(r compare.Record) bool { return r.Batch == 0 })
	if len(rows) == 0 {
		return s, false
	}
	s.Text(b.Say("batch.intro"))
	t := document.Table{ID: "table-" + id + v.Suffix, Caption: b.Say("batch.caption"), Command: b.Rerun(v, rows),
		Columns: b.Columns("pipe", "size", "#threads", "variant", "batched", "state", "#eachof", "#chainrate",
			"#ourtimes", "verdict")}
	var notes []document.Text
	ratios := map[string][]float64{}
	for _, typ := range analysis.Types(rows) {
		of := slices.DeleteFunc(slices.Clone(rows), func(r compare.Record) bool { return r.Type != typ })
		for _, p := range analysis.Problems(of) {
			own, found := analysis.Quickest(of, p, func(r compare.Record) bool { return analysis.Ours(r) })
			for _, r := range of {
				if analysis.ProblemOf(r) != p {
					continue
				}
				var row document.Row
				row, notes = b.batch(r, own, found, notes, ratios)
				t.Rows = append(t.Rows, row)
			}
		}
	}
	s.List(b.batchMeans(rows, ratios))
	b.WithNotes(&s, t, notes)
	return s, true
}

// batch is the table row of a batch. If our fastest row was found, own, it notes the ratio of a library to it.
func (b *Builder) batch(r, own compare.Record, found bool, notes []document.Text,
	ratios map[string][]float64) (document.Row, []document.Text) {
	state, notes := b.State(r, notes)
	over, verdict := document.Text(number.Absent), document.Text(number.Absent)
	if found && r.Speed() && r.Variant != own.Variant {
		c := analysis.Versus(r, own)
		over = OverCell(r, own, true)
		if !analysis.Ours(r) {
			ratios[r.Variant] = append(ratios[r.Variant], c.Ratio)
			verdict = b.Say("verdict.apart")
			if analysis.InTurn(r, own) {
				verdict = b.PeerVerdict(c.Outcome)
			}
		}
	}
	each := analysis.Known(r, r.Median) / float64(r.Batch)
	return document.Row{Class: analysis.Held(r), Cells: []document.Text{
		document.Escape(r.Type), document.Escape(analysis.ProblemOf(r).Label()), number.Numbered(max(r.Threads, 1)),
		document.Literal(r.Variant), b.batchedBy(r), state, document.Text(number.Seconds(each)),
		document.Text(number.Significant(analysis.Known(r, r.Rate))), over, verdict,
	}}, notes
}

// batchedBy says how a batch was computed.
func (b *Builder) batchedBy(r compare.Record) document.Text {
	switch how := r.Resolved[batch.Key]; how {
	case nil:
		return number.Absent
	case batch.OneCall:
		return b.Say("batch.onecall")
	case batch.EachCall:
		return b.Say("batch.eachcall")
	case batch.EachInC:
		return b.Say("batch.eachinc")
	default:
		return document.Literal(fmt.Sprint(how))
	}
}

// batchMeans says for each library how many times as fast we are, in the geometric mean of the ratios.
func (b *Builder) batchMeans(rows []compare.Record, ratios map[string][]float64) []document.Text {
	var items []document.Text
	for _, name := range analysis.Distinct(rows, analysis.VariantOf) {
		all := ratios[name]
		if len(all) == 0 {
			continue
		}
		sum := 0.0
		for _, x := range all {
			sum += math.Log(x)
		}
		items = append(items, b.Say("batch.mean", text.Args{"Library": document.Literal(name),
			"Batches": b.Count("batches", len(all)), "Ratio": number.Significant(math.Exp(sum / float64(len(all)))),
			"Least": number.Significant(slices.Min(all)), "Most": number.Significant(slices.Max(all))}))
	}
	return items
}

// batches is the section on the batches of processors.
func (b *Builder) batches(v *analysis.View) (document.Section, bool) {
	return b.Batches(v, "batch", v.Pick(func(r compare.Record) bool { return !analysis.ByGPU(r) }))
}
