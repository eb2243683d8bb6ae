// Package report renders records. It measures nothing: every rendering is a pure function of a record.Document, and
// the same records give the same bytes.
//
// Build fills the templates of package chapters, or a template of the user, with records. Write writes the report, and
// the appendix with every row, with their figures in the requested formats.
package report

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"gemm/compare/record"
	"gemm/compare/report/chapters"
	"gemm/compare/report/chart"
	"gemm/compare/report/figures"
	"gemm/compare/report/page"
)

// Options choose what a report says, and in which words.
type Options struct {
	Lang     string       // en (default) or zh
	Command  string       // the program's name in commands to type; default gemm
	Cover    []page.Field // of the cover page; empty: there is none
	Claims   bool         // judge claims of published texts; the profiles course and figures always have them judged
	Template Template     // of the user; empty: the chapters of the suite

	// Drawing returns a drawing that a template names, in a language. Its title is its caption. Default: nil, none is
	// shown.
	Drawing func(name, lang string) (chart.Drawing, error)

	// Hide says of the ID of a figure that the report leaves it out. Default: nil, all figures are shown.
	Hide func(id string) bool
}

// Template is a template of a report.
type Template struct {
	Name   string // stands in errors
	Source string
}

// CoverFields returns the names of the fields that a cover page can have, in the order of the page.
func CoverFields() []string {
	return []string{"course", "title", "name", "id", "class", "teacher", "date"}
}

// Cover returns the fields of a cover page, given as name=value with names of CoverFields, in the order of the page and
// with their names in a language.
func Cover(lang string, given []string) []page.Field {
	var out []page.Field
	for _, name := range CoverFields() {
		for _, pair := range given {
			if value, ok := strings.CutPrefix(pair, name+"="); ok {
				word := chapters.Word(cmp.Or(lang, "en"), "cover", name)
				out = append(out, page.Field{Name: word, Value: value, Author: name == "name"})
			}
		}
	}
	return out
}

// course matches a command that measures what the claims are about.
var course = regexp.MustCompile(`--profile[ =](course|figures)\b`)

// Build returns the report of records and the appendix, which has hosts, runs and every row, with the figures that they
// show. An error is one of a template of the user.
func Build(doc record.Document, opt Options) (report, appendix *page.Page, drawings []chart.Drawing, err error) {
	lang := cmp.Or(opt.Lang, "en")
	all := figures.Of(doc)
	has := func(id string) bool {
		_, ok := all.Find(id)
		return ok && (opt.Hide == nil || !opt.Hide(id))
	}
	data := chapters.NewData(doc, opt.Command, has)
	ofCourse := func(r record.RunInfo) bool { return course.MatchString(r.Command) }
	data.Claims = opt.Claims || slices.ContainsFunc(doc.Runs, ofCourse)
	set, err := chapters.Templates(lang)
	if err != nil {
		return nil, nil, nil, err
	}
	drawn := map[string]chart.Drawing{}
	set.Func("drawing", func(name string) (page.Text, error) {
		if opt.Drawing == nil {
			return "", nil
		}
		d, err := opt.Drawing(name, lang)
		drawn[d.ID] = d
		return page.Text("![") + page.Escape(d.Title) + page.Text("](figures/"+d.ID+".svg)"), err
	})
	name := "report"
	if opt.Template.Name != "" {
		name = opt.Template.Name
		if err := set.Add(name, opt.Template.Source); err != nil {
			return nil, nil, nil, err
		}
	}
	var pages [2]*page.Page
	for i, name := range []string{name, "appendix"} {
		text, err := set.Fill(name, data)
		if err != nil {
			return nil, nil, nil, err
		}
		pages[i] = page.Parse(text, lang, chapters.Words(lang))
	}
	report, appendix = pages[0], pages[1]
	report.Cover = opt.Cover
	for _, f := range slices.Concat(report.Figures(), appendix.Figures()) {
		twice := slices.ContainsFunc(drawings, func(d chart.Drawing) bool { return d.ID == f.ID })
		d, ok := drawn[f.ID]
		if !ok {
			d, ok = all.Find(f.ID)
		}
		if ok && !twice {
			d.Title = f.Caption
			drawings = append(drawings, d)
		}
	}
	return report, appendix, drawings, nil
}
