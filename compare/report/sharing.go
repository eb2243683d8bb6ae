package report

import (
	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/document"
)

// sharing is what is said of the family parallel on one host: how its variants scale,
// what schedules, chunks and placement do to them, when their workers were busy, what
// sharing costs at all, and what becomes of the findings of the report of 2024.
func (b *builder) sharing(v *analysis.View) []document.Section {
	if !v.SharesWork() {
		return nil
	}
	var sections []document.Section
	for _, part := range []func(*analysis.View) (document.Section, bool){
		b.strong(analysis.OverThreads), b.weak(analysis.OverThreads), b.chunks, b.loads, b.placing(analysis.OverThreads, compare.Affinities), b.placing(analysis.OverThreads, compare.ProcessorLimits), b.overheads, b.findings,
	} {
		if s, ok := part(v); ok {
			sections = append(sections, s)
		}
	}
	return sections
}

// nameOf returns the variant and its setting, for prose.
func nameOf(s analysis.Series) document.Text {
	text := document.Literal(s.Variant)
	if s.Set != "" {
		text += " (" + document.Escape(s.Set) + ")"
	}
	return text
}
