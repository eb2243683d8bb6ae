package sharing

import (
	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// besideLibrary compares the fastest variant of each turn whose operands are distributed with the
// library, whose operands are distributed too.
func (b *builder) besideLibrary(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "mpi-library", "mpi-library.title")
	s.Text(b.Say("mpi-library.intro"))
	found := false
	for _, typ := range v.TypesOf(analysis.OverRanks) {
		all := analysis.Fight(v.FastestBeside(typ))
		if len(all) == 0 {
			continue
		}
		found = true
		heads, cells := place(v)
		t := document.Table{
			ID:      "table-mpi-library-" + analysis.Anchor(typ) + v.Suffix,
			Caption: b.Say("mpi-library.caption", text.Args{"Type": typ}),
			Columns: b.Columns(append(heads, "#peerratio", "#p", "verdict")...),
		}
		var used []compare.Record
		for _, f := range all {
			used = append(used, f.First, f.Second)
			t.Rows = append(t.Rows, document.Row{
				Class: v.Muted(f.Second),
				Cells: append(cells(f.Second), number.Times(f.Ratio, f.Lo, f.Hi),
					document.Text(number.Probability(f.P)), b.Verdict(f.Outcome)),
			})
		}
		t.Command = b.Rerun(v, used)
		s.Add(t)
	}
	return s, found
}
