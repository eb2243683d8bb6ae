// Package sharing has the chapters on sharing the work among threads and among ranks.
package sharing

import (
	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/chapters"
	"gemm/compare/report/document"
)

// builder builds the sections of this package.
type builder struct{ *chapters.Builder }

// Threads is the chapter about the family parallel on one host: how its variants scale, the effect
// of schedules, chunks and placement, when the workers were busy, the overhead of loops, and the
// findings of the 2024 report.
func Threads(base *chapters.Builder, v *analysis.View) []document.Section {
	b := &builder{base}
	if !v.SharesWork() {
		return nil
	}
	var sections []document.Section
	for _, part := range []func(*analysis.View) (document.Section, bool){
		b.strong(analysis.OverThreads), b.weak(analysis.OverThreads), b.chunks, b.loads,
		b.placing(analysis.OverThreads, compare.Affinities), b.placing(analysis.OverThreads, compare.ProcessorLimits),
		b.overheads, b.openMPSection, b.findings,
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
