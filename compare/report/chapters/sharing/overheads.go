package sharing

import (
	"fmt"

	"gemm/compare/report/analysis"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// overheads holds what our pool costs against goroutines and libgomp.
func (b *builder) overheads(v *analysis.View) (document.Section, bool) {
	all := analysis.Costs(v.Overheads())
	s := b.Of(v, "overheads", "overheads.title")
	if len(all) == 0 {
		return s, false
	}
	s.Text(b.Say("overheads.intro"))
	t := document.Table{
		ID: "table-overheads" + v.Suffix, Caption: b.Say("overheads.caption"),
		Columns: b.Columns("cost", "sort", "#threads", "#pool", "#goroutines", "#libgomp", "#overgoroutines",
			"#overlibgomp", "verdict"),
	}
	var items []document.Text
	for i, c := range all {
		own, known := c.Runtimes["pool"]
		name := b.Say("cost." + c.Name)
		row := []document.Text{name, number.Settled(c.Sort), document.Text(fmt.Sprint(c.Threads))}
		for _, runtime := range analysis.Runtimes {
			row = append(row, number.Nanoseconds(c.Runtimes[runtime]))
		}
		ratio := func(runtime string) (analysis.Comparison, bool) {
			other, ok := c.Runtimes[runtime]
			return analysis.Contrast(other, own), ok && known
		}
		verdict := document.Text(number.Absent)
		for _, runtime := range analysis.Runtimes[1:] {
			over, ok := ratio(runtime)
			if !ok {
				row = append(row, number.Absent)
				continue
			}
			row = append(row, number.Times(over.Ratio, over.Lo, over.Hi))
			if runtime == "libgomp" {
				verdict = b.costVerdict(over.Outcome)
			}
		}
		t.Rows = append(t.Rows, document.Row{Cells: append(row, verdict)})
		if c.Sort != "" {
			name += " (" + document.Escape(c.Sort) + ")"
		}
		last := i == len(all)-1 || all[i+1].Name != c.Name || all[i+1].Sort != c.Sort // of its sort: the most threads
		if over, ok := ratio("libgomp"); ok && last {
			items = append(items, b.Say("overheads.beside", text.Args{
				"Cost": name, "Threads": b.Count("threads", c.Threads), "Own": number.Nanoseconds(own),
				"Libgomp": number.Nanoseconds(c.Runtimes["libgomp"]), "Verdict": b.costVerdict(over.Outcome),
				"Ratio": number.Times(over.Ratio, over.Lo, over.Hi),
			}))
		}
	}
	if len(items) == 0 {
		s.Text(b.Say("overheads.alone"))
	}
	s.List(items)
	s.Add(t)
	return s, true
}

// costVerdict returns the word for a comparison in which ours is the second.
func (b *builder) costVerdict(o analysis.Outcome) document.Text {
	return b.Say([]string{analysis.TooFew: "verdict.few", analysis.Level: "verdict.level",
		analysis.Quicker: "cost.cheaper", analysis.Slower: "cost.dearer"}[o])
}
