package course

import (
	"fmt"
	"slices"
	"strings"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/analysis/coursework"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// typ is the element type of the tables of processors.
const typ = "f64"

// versions is the table of versions with their speed-ups.
func (b builder) versions(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "course-versions", "course-versions.title")
	found, ok := coursework.VersionsOf(v, typ)
	if !ok {
		return s, false
	}
	t := document.Table{
		Caption: b.Say("course-versions.caption", text.Args{"Type": typ, "Size": found.N}),
		Columns: b.Columns("version", "on", "#seconds", "#relative", "#absolute", "#gflops", "#peak"),
	}
	var rows []compare.Record
	for _, r := range found.Rows {
		rows = append(rows, r.Record)
		name := document.Literal(r.Variant)
		if r.Options != "" {
			name = b.Say("course.compiled", text.Args{"Variant": name, "Options": document.Literal(r.Options)})
		}
		t.Rows = append(t.Rows, document.Row{Cells: []document.Text{
			name, b.Busy(r.Record), decimal(analysis.Whole(r.Record)),
			document.Text(number.Significant(r.Relative)), document.Text(number.Significant(r.Absolute)),
			document.Text(number.Significant(r.Gflops())) + b.Mark(r.Record), percent(analysis.WholeShare(r.Record)),
		}})
	}
	for _, r := range found.Apart {
		t.Caption += b.Say("course.apart", text.Args{"Variant": document.Literal(r.Variant), "Size": r.N})
	}
	if i := slices.IndexFunc(found.Options, func(o string) bool { return strings.Contains(o, " ") }); i >= 0 {
		options := found.Options[i]
		short, _, _ := strings.Cut(options, " ")
		t.Caption += b.Say("course.options", text.Args{"Short": document.Literal(short),
			"Options": document.Literal(options)})
	}
	b.table(&s, v, t, append(rows, found.Untimed...))
	return s, true
}

// orders is the table of the orders of the three loops.
func (b builder) orders(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "course-orders", "course-orders.title")
	found := coursework.Orders(v, typ)
	if len(found) == 0 {
		return s, false
	}
	t := document.Table{
		Caption: b.Say("course-orders.caption", text.Args{"Type": typ, "Size": found[0].N,
			"Variant": document.Literal(found[0].Variant), "First": document.Literal(found[0].Name)}),
		Columns: slices.Concat(b.Columns("order"), b.Named([]string{"A", "B", "C"}),
			b.Columns("#seconds", "#absolute", "#gflops", "#peak")),
	}
	var rows []compare.Record
	for _, o := range found {
		rows = append(rows, o.Record)
		cells := []document.Text{document.Literal(o.Name)}
		for _, walk := range o.Walks {
			cells = append(cells, b.Say("walk."+walk))
		}
		rate, _ := analysis.Speed(o.Record)
		t.Rows = append(t.Rows, document.Row{Cells: append(cells, decimal(analysis.Known(o.Record, o.Median)),
			document.Text(number.Significant(o.Over)), document.Text(number.Significant(float64(rate)))+b.Mark(o.Record),
			percent(analysis.Percent(o.Record)))})
	}
	b.table(&s, v, t, rows)
	b.Figure(&s, v, "orders-"+typ, "fig.orders", t.Command, text.Args{"Type": typ, "Size": found[0].N})
	b.contests(&s, found)
	return s, true
}

// gpu is the table of settings on a GPU: blocks of threads, how they access memory, and what a thread
// computes. If no GPU computed a row, it is one sentence.
func (b builder) gpu(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "course-gpu", "course-gpu.title")
	for _, typ := range []string{"f32", "f64"} {
		all := v.Entries(typ)
		if len(all) == 0 {
			continue
		}
		t := document.Table{
			ID:      "table-course-gpu-" + typ + v.Suffix,
			Caption: b.Say("course-gpu.caption", text.Args{"Type": typ, "Size": all[0].N}),
			Columns: b.Columns("rung", "#blockthreads", "#slice", "access", "#elements", "#seconds", "#overfirst",
				"#gflops",
				"#peak"),
		}
		var rows []compare.Record
		first := analysis.Known(all[0].Record, all[0].Median)
		for _, e := range all {
			r := e.Record
			rows = append(rows, r)
			rate, _ := analysis.Speed(r)
			t.Rows = append(t.Rows, document.Row{Cells: []document.Text{
				document.Literal(analysis.Short(r.Variant)), threadsOf(r), number.Numbered(e.Slice),
				b.Say("access." + coursework.Access(r)), number.Numbered(coursework.Elements(r)),
				decimal(analysis.Known(r, r.Median)),
				document.Text(number.Significant(first / analysis.Known(r, r.Median))),
				document.Text(number.Significant(float64(rate))) + b.Mark(r), percent(analysis.Percent(r)),
			}})
		}
		b.table(&s, v, t, rows)
	}
	if len(s.Blocks) > 0 {
		return s, true
	}
	rows := v.Pick(func(r compare.Record) bool { return analysis.ByGPU(r) && r.Experiment == compare.BlockSizes })
	if len(rows) == 0 {
		return s, false
	}
	s.Text(b.Say("course-gpu.none", text.Args{"Reason": b.Note(rows[0].Reason)}))
	return s, true
}

// threadsOf is the number of threads of a block.
func threadsOf(r compare.Record) document.Text {
	if r.GPU == nil || r.GPU.Threads == 0 {
		return number.Absent
	}
	return document.Text(fmt.Sprint(r.GPU.Threads))
}
