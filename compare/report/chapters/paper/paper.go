// Package paper has the chapters of the report, the document for reading: the answer first, then a
// chapter for each family in the form of a course report (analysis, algorithms, implementation,
// measurements), then the advice that the rows judge, and the comparison of the families. All rows are in the appendix.
package paper

import (
	"gemm/compare/report/analysis"
	"gemm/compare/report/chapters"
	"gemm/compare/report/chapters/course"
	"gemm/compare/report/document"
)

// Opening is the number of chapters before the table of contents.
const Opening = 1

// families are in the order of the chapters.
var families = []string{analysis.Serial, analysis.OnRanks, analysis.Parallel, analysis.OnGPU}

// builder builds the report.
type builder struct{ *chapters.Builder }

// Chapters returns the sections of the report.
func Chapters(base *chapters.Builder) []document.Section {
	b := builder{base}
	sections := []document.Section{b.answer()}
	if len(b.Doc.Records) == 0 {
		return sections
	}
	sections = append(sections, b.setup())
	for _, fam := range families {
		sections = append(sections, b.family(fam)...)
	}
	sections = append(sections, b.codes()...)
	sections = append(sections, b.advice()...)
	sections = append(sections, b.frameworks()...)
	sections = append(sections, course.Sections(b.Builder)...)
	return append(sections, b.References())
}
