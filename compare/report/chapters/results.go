package chapters

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gemm/compare"
	"gemm/compare/note"
	"gemm/compare/report/analysis"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// Rows is the section with the table of all rows of a host.
func (b *Builder) Rows(v *analysis.View) []document.Section {
	if len(v.All) == 0 {
		return nil
	}
	s := b.Of(v, "rows", "rows.title")
	s.Text(b.Say("rows.intro"))
	t := document.Table{ID: "table-rows" + v.Suffix, Caption: b.Say("rows.caption"), Columns: b.Columns("variant",
		"experiment", "type", "size", "params", "#threads", "state", "#median", "#interval", "#gflopsorgmuls", "#peak")}
	var notes []document.Text
	for _, r := range v.All {
		var state document.Text
		state, notes = b.State(r, notes)
		params := r.Params.String()
		if r.Experiment == compare.CompilerOptions {
			params = strings.TrimSpace(params + " " + r.Build)
		}
		threads := document.Text(fmt.Sprint(r.Threads))
		if ranks := analysis.OverRanks.Count(r); analysis.Family(r.Variant) == analysis.OnRanks && ranks > 0 {
			threads = document.Text(fmt.Sprint(ranks))
		}
		speed, _ := analysis.Speed(r)
		t.Rows = append(t.Rows, document.Row{Class: analysis.Class(r), Cells: []document.Text{
			document.Literal(r.Variant), document.Escape(string(r.Experiment)), document.Escape(r.Type),
			document.Escape(analysis.ProblemOf(r).Label()), document.Escape(cmp.Or(params, number.Absent)), threads, state,
			document.Text(b.Median(r)), document.Text(b.Ci(r)), document.Text(number.Significant(float64(speed))),
			PeakCell(r, analysis.Percent(r)),
		}})
	}
	b.WithNotes(&s, t, notes)
	return []document.Section{s}
}

// WithoutUnavailable returns the rows that belong in a table. For the others, which were unavailable
// for the same reason as another row, it adds a sentence.
func (b *Builder) WithoutUnavailable(s *document.Section, rows []compare.Record) []compare.Record {
	others, groups := analysis.Unavailable(rows)
	for _, group := range groups {
		sizes := analysis.Distinct(group, func(r compare.Record) analysis.Problem {
			p := analysis.ProblemOf(r)
			p.Threads = 1
			return p
		})
		slices.SortStableFunc(sizes, analysis.Problem.Compare)
		s.Text(b.Say("results.unavailable", text.Args{
			"Rows": b.Count("rows", len(group)), "Variants": b.Names(analysis.Distinct(group, analysis.VariantOf)),
			"Sizes": b.Sizes(sizes), "Reason": b.Note(group[0].Reason),
		}))
	}
	return others
}

// Named returns the heads of the columns of parameters: the names of their flags.
func (b *Builder) Named(params []string) []document.Column {
	out := make([]document.Column, len(params))
	for i, name := range params {
		out[i] = document.Column{Title: name}
	}
	return out
}

// State returns the word for the outcome of a row. If the row has a reason, warnings or a throttled
// clock, it has the number of a note; equal notes have one number.
func (b *Builder) State(r compare.Record, notes []document.Text) (document.Text, []document.Text) {
	sentence := b.Status(r.Status)
	var remarks []document.Text
	if r.Reason.Text != "" {
		remarks = append(remarks, b.Note(r.Reason))
	}
	if r.GPU != nil && r.GPU.Throttled != "" {
		remarks = append(remarks, b.Note(note.New("clock", r.GPU.Throttled)))
	}
	if !analysis.RanItself(r) && r.Speed() && r.Experiment != compare.CutoffSweep { // its table says so
		remarks = append(remarks, b.Say("remark.ran", text.Args{"Variant": document.Literal(analysis.Ran(r))}))
	}
	for _, warning := range r.Cautions() {
		if said := b.Note(warning); !slices.Contains(remarks, said) {
			remarks = append(remarks, said)
		}
	}
	for _, remark := range remarks {
		i := slices.Index(notes, remark)
		if i < 0 {
			i = len(notes)
			notes = append(notes, remark)
		}
		sentence += document.Text(fmt.Sprintf(" (%d)", i+1))
	}
	return sentence, notes
}

// Median returns the median of a row that has a speed.
func (b *Builder) Median(r compare.Record) string { return number.Seconds(analysis.Known(r, r.Median)) }

// Ci returns the 95 % interval of a row's median.
func (b *Builder) Ci(r compare.Record) string {
	if !r.Speed() || r.CI == nil {
		return number.Absent
	}
	return number.Extent(r.CI[0], r.CI[1], number.Seconds)
}
