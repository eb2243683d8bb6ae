package paper

import (
	"fmt"
	"slices"

	"gemm/compare/report/analysis"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// frameworks compares the speeds of the four ways to program a product, and concludes for each host.
func (b builder) frameworks() []document.Section {
	s := b.Section("frameworks", 1)
	s.Text(b.Say("frameworks.intro"))
	for _, v := range b.Views {
		if t, ok := b.speeds(v); ok {
			s.Add(t)
		}
	}
	conclusion := b.Section("conclusion", 2)
	if len(b.Views) > 1 {
		conclusion.Title = b.Plain("conclusion.several")
	}
	for _, v := range b.Views {
		if len(analysis.Timed(v.Records)) > 0 {
			b.conclude(&conclusion, v)
		}
	}
	if len(conclusion.Blocks) == 0 {
		return []document.Section{s}
	}
	return []document.Section{s, conclusion}
}

// speeds is the table of the fastest of each family at the common sizes of a host. If there are
// several hosts, those with one family have none.
func (b builder) speeds(v *analysis.View) (document.Table, bool) {
	a := v.Answer(v.MainType())
	t := document.Table{ID: "table-speeds" + v.Suffix, Caption: b.Say("frameworks.speeds", text.Args{"Type": a.Type}),
		Columns: b.Columns("#n")}
	order := []string{analysis.Serial, analysis.Parallel, analysis.OnRanks, analysis.OnGPU}
	for _, fam := range order {
		t.Columns = append(t.Columns, document.Column{Title: b.Plain("family." + fam), Numeric: true})
	}
	timed := map[string]bool{}
	for _, n := range b.common(a) {
		row := document.Row{Cells: []document.Text{document.Text(fmt.Sprint(n))}}
		for _, fam := range order {
			cell := document.Text(number.Absent)
			if r, ok := a.Best(fam, n); ok {
				cell, timed[fam] = b.rate(r), true
			}
			row.Cells = append(row.Cells, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return t, len(timed) > 1 || len(timed) == 1 && len(b.Views) == 1
}

// common returns the sizes that two families at least were timed at, or else those of one thread; at
// most 12 of them.
func (b builder) common(a analysis.Answer) []int {
	all := a.AllSizes(analysis.Serial)
	several := slices.DeleteFunc(slices.Clone(all), func(n int) bool {
		return !slices.ContainsFunc([]string{analysis.Parallel, analysis.OnRanks, analysis.OnGPU},
			func(fam string) bool {
				_, ok := a.Best(fam, n)
				return ok
			})
	})
	if len(several) > 0 {
		all = several
	}
	return spaced(all, sizesOfKernel)
}

// conclude says from which size on each family wins on a host, and by how much. If there are several
// hosts, it says nothing of those with one family.
func (b builder) conclude(s *document.Section, v *analysis.View) {
	a := v.Answer(v.MainType())
	var items []document.Text
	for _, pair := range [][2]string{{analysis.Parallel, analysis.Serial}, {analysis.OnRanks, analysis.Serial},
		{analysis.OnRanks, analysis.Parallel}, {analysis.OnGPU, analysis.Parallel}} {
		if w, ok := a.Wins(pair[0], pair[1]); ok {
			items = append(items, b.win(pair[0], w))
		}
	}
	if len(items) == 0 && len(b.Views) == 1 {
		key := "conclusion.alone"
		if v.Families() > 1 {
			key = "conclusion.apart"
		}
		s.Text(b.Say(key))
	}
	if len(items) == 0 {
		return
	}
	if v.Suffix != "" {
		s.Text(b.Say("summary.host", text.Args{"Host": b.HostName(v)}))
	}
	s.List(items)
	if best, ok := a.Leader(a.Main); ok {
		key, args := "conclusion.choice", text.Args{"Variant": document.Literal(best.Variant), "Size": a.Main, "Type": a.Type}
		if level := a.Level(a.Main); len(level) > 0 {
			key, args["Others"] = "conclusion.level", b.Names(level)
		}
		s.Text(b.Say(key, args))
	}
}

// win is one sentence on two families.
func (b builder) win(fam string, w analysis.Win) document.Text {
	args := text.Args{"Family": b.Say("family." + fam), "Over": b.Say("family." + w.Over), "At": w.At,
		"Ratio": number.Significant(w.Ratio), "Variant": document.Literal(w.Variants[0]),
		"Other": document.Literal(w.Variants[1])}
	switch {
	case w.From == 0:
		return b.Say("conclusion.never", args)
	case w.Always:
		return b.Say("conclusion.always", args)
	}
	args["From"] = w.From
	return b.Say("conclusion.from", args)
}
