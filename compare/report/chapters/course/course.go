// Package course has the chapter of the tables that courses on parallel programming ask for. A table is
// there if the records have its rows.
package course

import (
	"cmp"
	"slices"

	"gemm/compare"
	"gemm/compare/note"
	"gemm/compare/report/analysis"
	"gemm/compare/report/chapters"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// builder builds the sections of this package.
type builder struct{ *chapters.Builder }

// Sections are the chapter: none if no host has the rows of a table.
func Sections(base *chapters.Builder) []document.Section {
	b := builder{base}
	var sections []document.Section
	for _, v := range b.Views {
		for _, table := range []func(*analysis.View) (document.Section, bool){
			b.versions, b.ranks, b.threads, b.gpu, b.orders, b.sizes,
		} {
			if s, ok := table(v); ok {
				sections = append(sections, s)
			}
		}
	}
	if len(sections) == 0 {
		return nil
	}
	chapter := b.Section("course", 1)
	chapter.Text(b.Say("course.intro", text.Args{"Command": document.Literal(b.Program + " compare --profile course")}))
	return append([]document.Section{chapter}, sections...)
}

// table adds a table, the command that measures it again, and why some of its rows have no time. A table
// without an ID has its section's.
func (b builder) table(s *document.Section, v *analysis.View, t document.Table, rows []compare.Record) {
	t.ID = cmp.Or(t.ID, "table-"+s.ID)
	t.Command = b.Rerun(v, rows)
	s.Add(t)
	if items := b.untimed(v, rows); len(items) > 0 {
		s.Text(b.Say("course.untimed"))
		s.List(items)
	}
}

// untimed says which rows have no time, and why: a line for each reason.
func (b builder) untimed(v *analysis.View, rows []compare.Record) []document.Text {
	names := map[string][]document.Text{}
	var reasons []note.Note
	for _, r := range rows {
		if r.Speed() {
			continue
		}
		if names[r.Reason.Text] == nil {
			reasons = append(reasons, r.Reason)
		}
		name := document.Literal(r.Variant)
		switch {
		case r.Status != compare.Unavailable:
			name = b.Where(v, r)
		case analysis.Family(r.Variant) == analysis.OnGPU:
			name = b.Say("family.cuda")
		}
		if !slices.Contains(names[r.Reason.Text], name) {
			names[r.Reason.Text] = append(names[r.Reason.Text], name)
		}
	}
	var items []document.Text
	for _, reason := range reasons {
		why := b.Note(reason)
		if reason.Text == "" {
			why = b.Say("course.noreason")
		}
		items = append(items, b.Say("course.reason", text.Args{"Rows": b.Join(names[reason.Text]), "Reason": why}))
	}
	return items
}

// decimal returns seconds as tables of courses have them.
func decimal(seconds float64) document.Text { return document.Text(number.Decimal(seconds)) }

// percent returns a share in percent.
func percent(share float64) document.Text { return document.Text(number.OfPeak(share)) }
