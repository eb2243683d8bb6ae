// Package report renders records. It measures nothing: every rendering is a pure
// function of a compare.Document, and the same records give the same bytes.
//
// Build turns records into the report, the document for reading; Appendix turns them into the document
// with every row. Write writes both with their figures in the requested formats.
package report

import (
	"cmp"
	"slices"
	"strings"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/chapters"
	"gemm/compare/report/chapters/gpu"
	"gemm/compare/report/chapters/paper"
	"gemm/compare/report/document"
	"gemm/compare/report/figures"
	"gemm/compare/report/listing"
	"gemm/compare/report/text"
)

// Options choose how Build words a report.
type Options struct {
	Lang    string // en (default) or zh
	Command string // the program's name in commands to type; default gemm
	Suite
}

// Suite is what the report has besides records.
type Suite struct {
	Cover    []document.Field  // of the cover page; empty: there is none
	Excerpts []listing.Excerpt // of the sources of the families
}

// CoverFields returns the names of the fields that a cover page can have, in the order of the page.
func CoverFields() []string {
	return []string{"course", "title", "name", "id", "class", "teacher", "date"}
}

// Cover returns the fields of a cover page, given as name=value with names of CoverFields, in the
// order of the page and with their names in a language.
func Cover(lang string, given []string) []document.Field {
	speaker := text.In(cmp.Or(lang, "en"))
	var out []document.Field
	for _, name := range CoverFields() {
		for _, pair := range given {
			if value, ok := strings.CutPrefix(pair, name+"="); ok {
				out = append(out, document.Field{Name: speaker.Plain("cover." + name), Value: value})
			}
		}
	}
	return out
}

// Build turns records into the report: the answer, machine and method, a chapter for each family in the
// form of a course report, the comparison of the families with a conclusion, and references. The
// same records give the same report.
func Build(doc compare.Document, opt Options) document.Report {
	b := chapters.New(doc, opt.Lang, opt.Command, drawn(doc, opt.Lang))
	b.Excerpts = opt.Excerpts
	return read(b, opt.Cover)
}

// read returns the report that b builds.
func read(b *chapters.Builder, cover []document.Field) document.Report {
	r := document.Report{Lang: b.Lang(), Title: b.Plain("title"), Subtitle: subtitle(b), Words: b.Words(),
		Cover: cover, Opening: paper.Opening, Copied: true}
	for _, f := range cover {
		if f.Name == b.Plain("cover.name") {
			r.Author = f.Value
		}
	}
	r.Add(paper.Chapters(b)...)
	b.Attribute(r.Sections)
	return r
}

// Appendix turns records into the tables of the appendix: hosts and runs, means over libraries that were measured
// in turn, and every row. The same records give the same appendix.
func Appendix(doc compare.Document, opt Options) document.Report {
	return assemble(chapters.New(doc, opt.Lang, opt.Command, drawn(doc, opt.Lang)))
}

// drawn has the IDs of the figures of doc.
func drawn(doc compare.Document, lang string) map[string]bool {
	drawings := map[string]bool{}
	for _, d := range figures.Drawings(doc, lang) {
		drawings[d.ID] = true
	}
	return drawings
}

// assemble returns the chapters that b has something for.
func assemble(b *chapters.Builder) document.Report {
	r := document.Report{Lang: b.Lang(), Title: b.Plain("appendix.title"), Subtitle: subtitle(b), Words: b.Words(),
		Copied: true}
	for _, part := range []struct {
		id      string
		content func(*chapters.Builder, *analysis.View) []document.Section
	}{
		{"hosts", (*chapters.Builder).Host},
		{"peers", (*chapters.Builder).Peers},
		{"codes", gpu.Codes},
		{"results", (*chapters.Builder).Rows},
	} {
		var sections []document.Section
		for _, v := range b.Views {
			sections = append(sections, part.content(b, v)...)
		}
		if len(sections) > 0 {
			r.Add(b.Section(part.id, 1))
			r.Add(sections...)
		}
	}
	if len(r.Sections) == 0 {
		s := b.Section("results", 1)
		s.Text(b.Say("summary.empty", text.Args{"Command": document.Literal(b.Program + " compare --out report")}))
		r.Add(s)
	}
	b.Attribute(r.Sections)
	return r
}

// subtitle names the hosts and the day of the last run.
func subtitle(b *chapters.Builder) string {
	if len(b.Views) == 0 {
		return b.Plain("subtitle.empty")
	}
	var names []string
	for _, v := range b.Views {
		names = append(names, b.HostName(v))
	}
	hosts := strings.Join(slices.Compact(names), b.Plain("comma"))
	var day string
	for _, r := range b.Doc.Runs {
		day = max(day, r.Time.UTC().Format("2006-01-02"))
	}
	if day == "" {
		return hosts
	}
	return b.Plain("subtitle", text.Args{"Hosts": hosts, "Day": day})
}
