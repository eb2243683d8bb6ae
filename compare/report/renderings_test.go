package report

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"testing"

	"gemm/compare"
	"gemm/compare/report/chart"
	"gemm/compare/report/document"
	"gemm/compare/report/figures"
	"gemm/compare/report/reporttest"
	"gemm/compare/report/text"
)

// reports are the documents that the tests of all formats render.
func reports(t *testing.T) map[string]compare.Document {
	t.Helper()
	evil := realistic()
	evil.Hosts[0].CPU = `<script>alert("x")</script> & \input{x} $x_1$ | *y* [z](http://example.org)`
	for i := range evil.Records {
		if evil.Records[i].Reason.Text != "" {
			evil.Records[i].Reason.Text = "a|b\n<b>&amp; \\end{document} % ~ ^ # `c`"
		}
	}
	return map[string]compare.Document{
		"realistic": realistic(), "threaded": threaded(), "launched": launched(), "accelerated": accelerated(true),
		"encoded": encoded(), "two hosts": twoHosts(), "empty": {Schema: compare.Schema}, "evil": evil,
	}
}

// render returns what a format makes of a document.
func render(t *testing.T, doc compare.Document, lang string,
	format func(io.Writer, document.Report, []chart.Drawing) error) (document.Report, string) {
	t.Helper()
	r := Appendix(doc, Options{Lang: lang})
	var buf bytes.Buffer
	if err := format(&buf, r, figures.Drawings(doc, lang)); err != nil {
		t.Fatal(err)
	}
	return r, buf.String()
}

// TestHTML reads pages with an XML parser that knows HTML's empty elements. Tags must be balanced, ids
// unique and tables rectangular; every link needs its target; nothing may be fetched or executed.
func TestHTML(t *testing.T) {
	for name, doc := range reports(t) {
		for _, lang := range text.Languages {
			r, page := render(t, doc, lang, document.HTML)
			if err := reporttest.CheckHTML(page, lang); err != nil {
				t.Errorf("%s, %s: %v", name, lang, err)
			}
			for _, s := range r.Sections {
				if !strings.Contains(page, `id="`+s.ID+`"`) {
					t.Errorf("%s, %s: no section %s", name, lang, s.ID)
				}
			}
		}
	}
}

// TestCheckHTML plants one fault a page.
func TestCheckHTML(t *testing.T) {
	var b bytes.Buffer
	if err := document.HTML(&b, Build(realistic(), Options{}), figures.Drawings(realistic(), "en")); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for fault, change := range map[string][2]string{
		"unbalanced":  {"</main>", "</main></main>"},
		"script":      {"</main>", `<script src="x.js"></script></main>`},
		"external":    {"</main>", `<img src="https://example.org/x.png" alt="x"></main>`},
		"style":       {"</style>", "b { background: url(x) }</style>"},
		"import":      {"</style>", "@import 'x';</style>"},
		"dead link":   {"</main>", `<a href="#nowhere">x</a></main>`},
		"twice":       {"</main>", `<p id="answer"></p></main>`},
		"short row":   {"</tbody>", "<tr><td>x</td></tr></tbody>"},
		"no language": {`<html lang="en">`, "<html>"},
		"no scope":    {`<th scope="col">`, "<th>"},
		"no label":    {`role="img" aria-label="`, `role="img" data-x="`},
		"handler":     {"<main>", `<main onclick="1">`},
	} {
		if broken := strings.Replace(page, change[0], change[1], 1); broken == page ||
			reporttest.CheckHTML(broken, "en") == nil {
			t.Errorf("a page with the fault %q passes", fault)
		}
	}
}

// pipe matches a pipe that ends a cell.
var pipe = regexp.MustCompile(`(^|[^\\])\|`)

// TestMarkdown checks that tables are rectangular and that links have their targets.
func TestMarkdown(t *testing.T) {
	for name, doc := range reports(t) {
		for _, lang := range text.Languages {
			r, text := render(t, doc, lang,
				func(w io.Writer, r document.Report, _ []chart.Drawing) error { return document.Markdown(w, r) })
			columns, rows, fenced := 0, 0, false
			for line := range strings.Lines(text) {
				if strings.HasPrefix(line, "```") {
					fenced = !fenced
				}
				if fenced || !strings.HasPrefix(line, "|") {
					columns = 0
					continue
				}
				rows++
				if n := len(pipe.FindAllString(line, -1)); columns == 0 {
					columns = n
				} else if n != columns {
					t.Fatalf("%s, %s: %d pipes, want %d: %s", name, lang, n, columns, line)
				}
			}
			want := 0
			for _, s := range r.Sections {
				for _, block := range s.Blocks {
					if table, ok := block.(document.Table); ok {
						want += 2 + len(table.Rows)
					}
				}
			}
			if rows != want {
				t.Errorf("%s, %s: %d rows of tables, want %d", name, lang, rows, want)
			}
			for _, link := range regexp.MustCompile(`\]\(<?#([^)>]*)>?\)`).FindAllStringSubmatch(text, -1) {
				if n := strings.Count(text, `<a id="`+link[1]+`"></a>`); n != 1 {
					t.Errorf("%s, %s: %d ends of the link to %s", name, lang, n, link[1])
				}
			}
			if strings.Contains(text, "<script>") {
				t.Errorf("%s, %s: data became HTML", name, lang)
			}
		}
	}
}

// TestTeXCompiles compiles a document whose records contain every special character of TeX.
func TestTeXCompiles(t *testing.T) {
	doc := reports(t)["evil"]
	for _, lang := range text.Languages {
		t.Run(lang, func(t *testing.T) {
			t.Parallel()
			for _, r := range documents(doc, lang) {
				reporttest.CompileTeX(t, func(w io.Writer) error { return document.TeX(w, r) }, figures.Drawings(doc, lang), 12)
			}
		})
	}
}
