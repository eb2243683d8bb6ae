// Package report renders records. It measures nothing: every rendering is a pure
// function of a compare.Document, and the same records give the same bytes.
//
// Build turns records into a document, the words and tables of every format in reading order. Write
// writes it with its figures in the requested formats.
package report

import (
	"cmp"
	"slices"
	"strings"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/chapters"
	"gemm/compare/report/chapters/gpu"
	"gemm/compare/report/chapters/sharing"
	"gemm/compare/report/document"
	"gemm/compare/report/figures"
)

// Options choose how Build words a report.
type Options struct {
	Lang    string // en (default) or zh
	Command string // the program's name in commands to type; default gemm
}

// Build turns records into the words and tables of a report, in reading order: summary, host and
// method, results, analysis, threads, ranks, the GPU, codes, peers, and a section for each backend.
// Every row of doc is in a table. Figures are placed where Drawings has one. The same records give
// the same report.
func Build(doc compare.Document, opt Options) document.Report {
	drawings := map[string]bool{}
	for _, d := range figures.Drawings(doc, opt.Lang) {
		drawings[d.ID] = true
	}
	return assemble(chapters.New(doc, opt.Lang, opt.Command, drawings))
}

// assemble returns the chapters that b has something for.
func assemble(b *chapters.Builder) document.Report {
	r := document.Report{Lang: b.Lang(), Title: b.Plain("title"), Subtitle: subtitle(b), Words: b.Words()}
	r.Add(b.Summary())
	for _, part := range []struct {
		id      string
		content func(*chapters.Builder, *analysis.View) []document.Section
	}{
		{"method", (*chapters.Builder).Host},
		{"results", (*chapters.Builder).Results},
		{"analysis", (*chapters.Builder).Analysis},
		{"sharing", sharing.Threads},
		{"distributed", sharing.Ranks},
		{"gpu", gpu.Sections},
		{"codes", gpu.Codes},
		{"peers", (*chapters.Builder).Peers},
	} {
		chapter := b.Section(part.id, 1)
		chapter.Text(b.Say(part.id + ".intro"))
		var sections []document.Section
		for _, v := range b.Views {
			sections = append(sections, part.content(b, v)...)
		}
		if len(sections) > 0 {
			r.Add(chapter)
			r.Add(sections...)
		}
		if part.id == "method" && len(sections) > 0 {
			r.Add(b.Measured())
		}
	}
	chapter := b.Section("backends", 1)
	chapter.Text(b.Say("backends.intro"))
	r.Add(chapter)
	r.Add(b.Backends()...)
	return r
}

// subtitle names the hosts and the day of the last run.
func subtitle(b *chapters.Builder) string {
	if len(b.Views) == 0 {
		return b.Plain("subtitle.empty")
	}
	var names []string
	for _, v := range b.Views {
		names = append(names, cmp.Or(v.CPU, v.ID))
	}
	hosts := strings.Join(slices.Compact(names), ", ")
	var day string
	for _, r := range b.Doc.Runs {
		day = max(day, r.Time.UTC().Format("2006-01-02"))
	}
	if day == "" {
		return hosts
	}
	return hosts + ", " + day
}
