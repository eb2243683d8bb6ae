package chapters

import (
	"gemm/compare/report/analysis"
	"gemm/compare/report/document"
	"gemm/compare/report/figures"
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
