package report

import (
	"cmp"
	"fmt"
	"slices"

	"gemm/compare"
	"gemm/compare/report/document"
	"gemm/compare/report/text"
)

// rankLibrary is the library of others that multiplies on ranks.
const rankLibrary = "reference/scalapack"

// besideLibrary holds the variants whose operands are spread over the ranks against the
// library, whose operands are spread too: of each turn the fastest of them.
func (b *builder) besideLibrary(v *view) (document.Section, bool) {
	s := b.of(v, "mpi-library", "mpi-library.title")
	s.Text(b.Say("mpi-library.intro"))
	found := false
	for _, typ := range v.typesOf(overRanks) {
		all := fight(v.fastestBeside(typ))
		if len(all) == 0 {
			continue
		}
		found = true
		t := document.Table{
			ID:      "table-mpi-library-" + anchor(typ) + v.suffix,
			Caption: b.Say("mpi-library.caption", text.Args{"Type": typ}),
			Columns: b.columns("variant", "setting", "size", "#ranks", "#peerratio", "#p", "verdict"),
		}
		var used []compare.Record
		for _, f := range all {
			used = append(used, f.first, f.second)
			t.Rows = append(t.Rows, document.Row{
				Class: v.muted(f.second),
				Cells: append(v.place(f.second), times(f.Ratio, f.Lo, f.Hi), document.Text(probability(f.P)), b.verdict(f.Outcome)),
			})
		}
		t.Command = b.rerun(v, used)
		s.Add(t)
	}
	return s, found
}

// fastestBeside pairs the library's rows with the fastest row of its turn, size and
// number of ranks whose operands are spread, by size and ranks.
func (v *view) fastestBeside(typ string) []duel {
	var out []duel
	at := map[string]int{}
	for _, variant := range spreadVariants {
		for _, d := range v.couples(typ, rankLibrary, variant) {
			key := fmt.Sprint(d.first.Turn, d.first.Experiment, problemOf(d.first))
			i, ok := at[key]
			switch {
			case !ok:
				at[key] = len(out)
				out = append(out, d)
			case d.second.Median < out[i].second.Median:
				out[i] = d
			}
		}
	}
	slices.SortStableFunc(out, func(x, y duel) int {
		return cmp.Or(alone(x.first).compare(alone(y.first)), cmp.Compare(overRanks.count(x.first), overRanks.count(y.first)))
	})
	return out
}
