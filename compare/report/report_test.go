package report

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gemm/cmd/catalog"
	"gemm/compare/record"
	"gemm/compare/report/chapters"
	"gemm/compare/report/chart"
	"gemm/compare/report/page"
	"gemm/gemmtest/reporttest"
)

// root is the folder of the repository, from this package.
const root = "../.."

// load returns records of results/, merged.
func load(t testing.TB, names ...string) record.Document {
	t.Helper()
	var docs []record.Document
	for _, name := range names {
		doc, err := record.Load(filepath.Join(root, "results", name+".json.gz"))
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, doc)
	}
	doc, err := record.Merge(docs...)
	if err != nil {
		t.Fatal(err)
	}
	return doc.Declared(catalog.Variants())
}

// documents are records of every kind: each file in results/, several merged, none, and hostile ones.
func documents(t *testing.T) map[string]record.Document {
	t.Helper()
	docs := map[string]record.Document{"empty": {Schema: record.Schema}, "no rows": reporttest.Planted(),
		"a row that says nothing":      reporttest.Planted(record.Record{Key: record.Key{Host: "h1"}}),
		"a host that is not described": {Schema: record.Schema, Records: reporttest.Ladder()},
		"merged":                       load(t, "full", "gf256-h200", "serial"), "hostile": hostile(load(t, "full"))}
	files, err := filepath.Glob(filepath.Join(root, "results", "*.json.gz"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files in results/, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json.gz")
		docs[name] = load(t, name)
	}
	return docs
}

// evil is data that each format could take for marks.
const evil = "<script>alert(\"x\")</script> & \\input{x} $x_1$ | *y* [z](http://example.org) {{.Lang}} `c` " +
	"\\end{document} % ~ ^ #\n\n# a|b\n<b>&amp; \u202exyz"

// hostile puts that into every text of a document that a report prints.
func hostile(doc record.Document) record.Document {
	doc = chart.Mapped(doc, func(s string) string { return s }) // a copy
	h := &doc.Hosts[0]
	h.CPU, h.OS, h.MPI, h.ISA, h.PagePolicy = evil, evil, evil, evil, evil
	for i := range doc.Runs {
		r := &doc.Runs[i]
		r.Git, r.Go, r.Flags, r.Command = evil, evil, evil, evil+" "+r.Command
		r.Libraries = map[string]string{evil: evil}
	}
	long := strings.Repeat("w", 10000)
	for i := range doc.Records {
		r := &doc.Records[i]
		if r.Reason.Text != "" {
			r.Reason.Text, r.Reason.Code = evil, ""
		}
		for j := range r.Warnings {
			r.Warnings[j].Text, r.Warnings[j].Code = evil, ""
		}
		if i%7 == 0 {
			r.Variant = "user/" + evil
		}
		if i%11 == 0 {
			r.Params = map[string]any{"cutoff": evil}
		}
		if i == 5 {
			r.Variant = "user/" + long
		}
	}
	return doc
}

var (
	heading  = regexp.MustCompile(`(?m)^(#{1,4}) (.*?)(?: \{#([^}]*)\})?$`)
	skeleton = regexp.MustCompile(`(?m)^(?:(#{1,4}) .*?( \{#[^}]*\})?|!\[.*(\(figures/.*)|(\| (?::--|--:).*))$`)
	fenced   = regexp.MustCompile("(?ms)^(`{3,})[^\n]*\n.*?^`{3,}$")
	spans    = regexp.MustCompile("(?s)``.*?``|`[^`]*`|\\]\\([^)]*\\)|\\*[^*\n]*\\*")
	internal = regexp.MustCompile(`\]\(#([^)]*)\)`)
	english  = regexp.MustCompile(`[A-Za-z]{2,}(?: [a-z]{2,}){2,}`)
	unwanted = regexp.MustCompile(`NaN|\bInf\b|<nil>|%!|<no value>|map\[|\{0x|\x00|\{\{`)
)

// TestDrawing: a template shows a drawing in its language, and one that there is not is an error.
func TestDrawing(t *testing.T) {
	opt := Options{Lang: "zh", Template: Template{Name: "mine", Source: "# T\n\nS\n\n{{drawing \"banks\"}}\n"},
		Drawing: func(name, lang string) (d chart.Drawing, err error) {
			if name != "banks" {
				return d, errors.New("there is no drawing " + name)
			}
			return chart.Drawing{ID: name + "." + lang, Title: "a*b", Chart: chart.Sketch{Height: 9}}, nil
		}}
	r, _, drawings, err := Build(small(), opt)
	if err != nil || !r.Shows("banks.zh") || len(drawings) == 0 || drawings[0].Title != "a*b" {
		t.Errorf("%+v, %v", drawings, err)
	}
	opt.Template.Source = "{{drawing \"bank\"}}"
	if _, _, _, err := Build(small(), opt); err == nil || !strings.Contains(err.Error(), "mine:1") {
		t.Errorf("a drawing that there is not: %v", err)
	}
}

// TestReports fills the templates with records of every kind in both languages. No page has an empty section, a
// missing figure, a link that leads nowhere, a table with holes, an element that is data, or a value that is none;
// and the languages have the same sections, figures and tables.
func TestReports(t *testing.T) {
	for name, doc := range documents(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var shapes [2][]string
			for i, lang := range chapters.Languages {
				report, appendix, drawings, err := Build(doc, Options{Lang: lang, Claims: true})
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range []*page.Page{report, appendix} {
					text := fenced.ReplaceAllString(p.Source(), "```")
					for _, m := range skeleton.FindAllStringSubmatch(text, -1) {
						shapes[i] = append(shapes[i], strings.Join(m[1:], ""))
					}
					if lang == "en" || name == "hostile" { // the writers are the same
						checkPage(t, p, drawings, lang)
					} else if empty := emptySection(text); empty != "" {
						t.Errorf("%s: the section %q is empty", lang, empty)
					}
					if name == "hostile" {
						continue
					}
					for _, m := range internal.FindAllStringSubmatch(text, -1) {
						if !strings.Contains(text, "{#"+m[1]+"}") {
							t.Errorf("%s: a link leads to #%s, which is not there", lang, m[1])
						}
					}
					if found := unwanted.FindString(text); found != "" {
						at := strings.Index(text, found)
						t.Errorf("%s: says %q: %q", lang, found, text[max(0, at-80):min(len(text), at+40)])
					}
					if lang == "zh" {
						checkChinese(t, doc, text)
					}
				}
			}
			if !slices.Equal(shapes[0], shapes[1]) {
				t.Errorf("the languages differ:\n%v\n%v", shapes[0], shapes[1])
			}
		})
	}
}

// emptySection returns the title of a section without content, empty if there is none.
func emptySection(text string) string {
	last, level, filled := "", 0, true
	for line := range strings.Lines(text + "\n# end\n") {
		m := heading.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		switch {
		case m == nil:
			filled = filled || strings.TrimSpace(line) != ""
		case !filled && len(m[1]) <= level:
			return last
		default:
			last, level, filled = m[2], len(m[1]), false
		}
	}
	return ""
}

// checkChinese checks that a page in Chinese has no English sentence but from records.
func checkChinese(t *testing.T, doc record.Document, text string) {
	t.Helper()
	text, _, _ = strings.Cut(text, "{#references}") // titles stay in their language
	var data strings.Builder
	fmt.Fprint(&data, doc.Hosts, doc.Runs)
	for _, r := range doc.Records {
		fmt.Fprint(&data, r.Reason, r.Warnings, r.Resolved, r.Params, cmp.Or(r.GPU, &record.Device{}))
	}
	plain := strings.ReplaceAll(data.String(), "\\", "")
	for line := range strings.Lines(text) {
		line = strings.ReplaceAll(spans.ReplaceAllString(line, "`"), "\\", "")
		for _, found := range english.FindAllString(line, -1) {
			if !strings.Contains(plain, found) {
				t.Errorf("%q is English: %.200s", found, line)
			}
		}
	}
}

// TestForms renders the example forms as HTML and PDF, in the language that each is in.
func TestForms(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "examples", "templates", "*.md"))
	if err != nil || len(files) < 2 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lang := "en"
		if strings.ContainsFunc(string(source), func(r rune) bool { return r > 0x4e00 && r < 0x9fff }) {
			lang = "zh"
		}
		for _, records := range []string{"full", "cuda-h100"} {
			t.Run(filepath.Base(file)+" of "+records, func(t *testing.T) {
				t.Parallel()
				report, _, drawings, err := Build(load(t, records), Options{Lang: lang, Template: Template{file, string(source)}})
				if err != nil {
					t.Fatal(err)
				}
				checkPage(t, report, drawings, lang)
				reporttest.CompileTeX(t, report.TeX, drawings, 0.5)
			})
		}
	}
}

// checkPage checks that a page has no empty section and is an HTML document.
func checkPage(t *testing.T, p *page.Page, drawings []chart.Drawing, lang string) {
	t.Helper()
	if empty := emptySection(fenced.ReplaceAllString(p.Source(), "```")); empty != "" {
		t.Errorf("%s: the section %q is empty", lang, empty)
	}
	var html strings.Builder
	if err := p.HTML(&html, drawings); err != nil {
		t.Fatal(err)
	}
	if err := reporttest.CheckHTML(html.String(), lang); err != nil {
		t.Errorf("%s: %.2000v", lang, err)
	}
}

// TestTeX compiles reports: every line is within the margins.
func TestTeX(t *testing.T) {
	for _, name := range []string{"full", "cuda-h100", "hostile"} {
		for _, lang := range chapters.Languages {
			t.Run(name+" "+lang, func(t *testing.T) {
				t.Parallel()
				doc, over := load(t, "full"), 0.5
				if name == "hostile" {
					doc, over = hostile(doc), 1e6 // words of 10 000 letters
				} else {
					doc = load(t, name)
				}
				report, appendix, drawings, err := Build(doc, Options{Lang: lang})
				if err != nil {
					t.Fatal(err)
				}
				reporttest.CompileTeX(t, report.TeX, drawings, over)
				if lang == "en" {
					reporttest.CompileTeX(t, appendix.TeX, drawings, over)
				}
			})
		}
	}
}
