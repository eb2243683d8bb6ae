package course

import (
	"fmt"
	"slices"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/analysis/coursework"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// ranks is the table of times by ranks and size.
func (b builder) ranks(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "course-ranks", "course-ranks.title")
	found, ok := coursework.ByRanks(v, typ)
	if !ok {
		return s, false
	}
	b.times(&s, v, analysis.OverRanks, found)
	return s, true
}

// threads is the table of times by threads, schedule and size.
func (b builder) threads(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "course-threads", "course-threads.title")
	found, ok := coursework.ByThreads(v, typ)
	if !ok {
		return s, false
	}
	b.times(&s, v, analysis.OverThreads, found)
	return s, true
}

// times adds a table of times over sizes.
func (b builder) times(s *document.Section, v *analysis.View, a analysis.Axis, found coursework.Times) {
	kind := "course-" + a.Param
	t := document.Table{Caption: b.Say(kind+".caption", text.Args{"Type": typ})}
	if found.Local != "" {
		t.Caption += b.Say(kind+".local", text.Args{"Variant": document.Literal(found.Local)})
	}
	variants := len(analysis.Distinct(found.Lines, func(l coursework.Line) string { return l.Variant })) > 1
	sets := slices.ContainsFunc(found.Lines, func(l coursework.Line) bool { return l.Set != "" })
	if variants {
		t.Columns = b.Columns("variant")
	}
	if sets {
		t.Columns = append(t.Columns, b.Columns("setting")...)
	}
	t.Columns = append(t.Columns, b.Columns("#"+a.Param)...)
	for _, n := range found.Sizes {
		t.Columns = append(t.Columns, document.Column{Title: fmt.Sprint(n), Numeric: true})
	}
	crowded := false
	for _, l := range found.Lines {
		var cells []document.Text
		if variants {
			cells = append(cells, document.Literal(l.Variant))
		}
		if sets {
			cells = append(cells, number.Settled(l.Set))
		}
		count := document.Text(fmt.Sprint(l.Count))
		if l.Crowded {
			crowded = true
			count += b.Say("course.mark")
		}
		cells = append(cells, count)
		for _, n := range found.Sizes {
			cell := document.Text(number.Absent)
			if r, ok := l.At(n); ok {
				cell = decimal(analysis.Known(r, r.Median))
			}
			cells = append(cells, cell)
		}
		t.Rows = append(t.Rows, document.Row{Cells: cells})
	}
	if crowded {
		t.Caption += b.Say(kind+".crowded", text.Args{"Processors": fmt.Sprintf("%.4g", v.Granted())})
	}
	b.table(s, v, t, found.Rows())
}

// sizes are the tables of the average share of the peak over many sizes, and of the share at each.
func (b builder) sizes(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "course-sizes", "course-sizes.title")
	sweeps := coursework.Sweeps(v, typ)
	if len(sweeps) == 0 {
		return s, false
	}
	t := document.Table{ID: "table-course-average" + v.Suffix,
		Caption: b.Say("course-sizes.average", text.Args{"Type": typ}),
		Columns: b.Columns("variant", "#numsizes", "#averagepeak", "#leastpeak", "#mostpeak")}
	var rows []compare.Record
	for _, w := range sweeps {
		rows = append(rows, w.Rows...)
		t.Rows = append(t.Rows, document.Row{Cells: []document.Text{document.Literal(w.Variant),
			document.Text(fmt.Sprint(len(w.Rows))), percent(w.Mean), percent(w.Least), percent(w.Most)}})
	}
	t.Command = b.Rerun(v, rows)
	s.Add(t)
	around := coursework.Around(sweeps)
	if len(around) == 0 {
		return s, true
	}
	each := document.Table{ID: "table-course-sizes" + v.Suffix,
		Caption: b.Say("course-sizes.caption", text.Args{"Type": typ}),
		Columns: []document.Column{{Title: "n", Numeric: true}}, Command: t.Command}
	for _, w := range sweeps {
		for _, offset := range []string{"n − 1", "n", "n + 1"} {
			title := analysis.Short(w.Variant) + ", " + offset
			each.Columns = append(each.Columns, document.Column{Title: title, Numeric: true})
		}
	}
	for _, n := range around {
		cells := []document.Text{document.Text(fmt.Sprint(n))}
		for _, w := range sweeps {
			for offset := -1; offset <= 1; offset++ {
				cells = append(cells, percent(w.Share(n+offset)))
			}
		}
		each.Rows = append(each.Rows, document.Row{Cells: cells})
	}
	s.Add(each)
	return s, true
}
