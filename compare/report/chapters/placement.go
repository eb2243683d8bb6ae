package chapters

import (
	"slices"
	"strconv"
	"strings"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/document"
	"gemm/compare/report/figures"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// Places adds the figure of where the workers or ranks of a host run, if there is one.
func (b *Builder) Places(s *document.Section, v *analysis.View, family string) {
	id, find, nouns := "placement-workers", figures.Workers, "workers"
	if family == analysis.OnRanks {
		id, find, nouns = "placement-ranks", figures.Ranks, "ranks"
	}
	if p, ok := find(v); ok {
		first := p.Rows[0]
		b.Figure(s, v, id, "fig."+id, b.Rerun(v, p.Rows), text.Args{"Variant": first.Variant,
			"Size": b.Sizes([]analysis.Problem{analysis.ProblemOf(first)}), "Count": b.Count(nouns, p.Count())})
	}
}

// Placement returns the processors that the workers of a row were pinned to, or those of each rank
// for the family mpi. If they are many and equally far apart, it is the first two and the last.
func Placement(r compare.Record) document.Text {
	if len(r.Ranks) > 0 {
		var places []document.Text
		for _, rank := range r.Ranks {
			places = append(places, document.Escape(rank.CPUs))
		}
		return document.Join(slices.Compact(places), " / ")
	}
	place, _ := r.Resolved["placement"].(string)
	if place == "" {
		return number.Absent
	}
	names := strings.Split(place, ",")
	var numbers []int
	for _, name := range names {
		n, err := strconv.Atoi(name)
		if err != nil {
			return document.Escape(place)
		}
		numbers = append(numbers, n)
	}
	const few = 4
	even := len(numbers) > few
	for i := 2; even && i < len(numbers); i++ {
		even = numbers[i]-numbers[i-1] == numbers[1]-numbers[0]
	}
	if even {
		names = []string{names[0], names[1], "…", names[len(names)-1]}
	}
	return document.Escape(strings.Join(names, ", "))
}
