package paper

import (
	"gemm/compare/report/analysis"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// advice is the chapter with the items of docs/advice.md that the rows support or contradict.
func (b builder) advice() []document.Section {
	s := b.Section("advice", 1)
	s.Text(b.Say("advice.page"))
	found := false
	for _, v := range b.Views {
		var items []document.Text
		for _, j := range v.Judged() {
			if !b.Has("advice." + j.Item) { // of a later version
				continue
			}
			verdict := "advice.supported"
			if j.Outcome == analysis.Slower {
				verdict = "advice.contradicted"
			}
			var interval document.Text
			if known := number.Extent(j.Lo, j.Hi, number.Significant); known != number.Absent {
				interval = b.Say("interval", text.Args{"Interval": known})
			}
			items = append(items, "**"+document.Text(j.Item)+"** "+b.Say("advice."+j.Item)+b.Say(verdict, text.Args{
				"Before": document.Literal(j.Before), "After": document.Literal(j.After), "Interval": interval,
				"Ratio": number.Significant(j.Ratio), "Size": b.Sizes([]analysis.Problem{j.Problem}),
				"Type": j.Problem.Type,
			}))
		}
		if len(items) == 0 {
			continue
		}
		found = true
		if v.Suffix != "" {
			s.Add(document.Paragraph{Text: "**" + document.Escape(b.HostName(v)) + "**"})
		}
		s.List(items)
	}
	if !found {
		return nil
	}
	return []document.Section{s}
}
