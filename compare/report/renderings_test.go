package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gemm/compare"
	"gemm/compare/report/chart"
)

var update = flag.Bool("update", false, "write the golden files of the renderings")

// specimen is a report with every block, and with every character that one of the
// formats takes for a mark.
func specimen() Report {
	const marks = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
	return Report{
		Lang: "en", Title: "A title & <more>", Subtitle: "100 % of_it",
		Sections: []Section{
			{ID: "first", Title: "First #1", Level: 1, Blocks: []Block{
				Paragraph{"Plain, *emphatic*, **strong *and both***, `a | b < c`, [a section](#second), [a page](https://example.org/a_b?c=d&e=%20#f), [naive](serial/naive.go) and [`docs/x.md`](docs/x.md)."},
				Paragraph{escape(marks)},
				Paragraph{code(marks)},
				Paragraph{"γ_k ≤ 2⁻⁵³·k × (|A||B|)ᵢⱼ — “quoted” – 1…2 → µs −1 √0.95 Ĉ."},
				Paragraph{"# no heading"},
				Paragraph{"1. no list"},
			}},
			{ID: "second", Title: "Second", Level: 2, Blocks: []Block{
				List{Items: []Text{"one", "- two"}},
				List{Ordered: true, Items: []Text{"**first** thing", "second"}},
				Code{"if a < b && c {\n\tx := `y`\n}\n"},
				Figure{ID: "gflops-serial-f64", Caption: "Speed of `serial` & *others*.", Alt: `"GFLOP/s" over n`, Command: "gemm serial --sizes 64,128 && gemm report"},
				Table{
					ID: "table-1", Caption: "Rows | columns.", Command: "gemm compare",
					Columns: []Column{{Title: "Variant"}, {Title: "State | note"}, {Title: "Time", Numeric: true}},
					Rows: []Row{
						{Cells: []Text{"`serial/naive`", "ok", "1.25 ms"}},
						{Cells: []Text{"`serial/a|b`", "**wrong** \\[1\\]", "—"}, Class: "wrong"},
						{Cells: []Text{"[`serial/ikj`](#first)", "", "—"}, Class: "muted"},
						{Cells: []Text{"\\*serial", "ok", "0.250 ms"}, Class: "best"},
					},
				},
			}},
			{ID: "third", Title: "Third", Level: 3, Blocks: []Block{
				Table{ID: "table-2", Columns: []Column{{Title: "Nothing"}}},
			}},
		},
	}
}

// specimenDrawings are the figures of the specimen.
func specimenDrawings() []Drawing {
	look, points := chart.LookOf(0), []chart.Point{{X: 64, Y: 1, Lo: 1, Hi: 1}, {X: 128, Y: 2, Lo: 2, Hi: 2}}
	curve := chart.Curve{Title: "GFLOP/s over n", XLabel: "n", YLabel: "GFLOP/s", Sizes: []float64{64, 128}, Series: []chart.Series{{Label: "serial/naive", Look: look, Points: points}}}
	return []Drawing{{ID: "gflops-serial-f64", Title: curve.Title, chart: curve}}
}

// golden compares got with the file of testdata, or writes it with -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; look at it, then go test -update writes it:\n%s", path, firstDifference(string(got), string(want)))
	}
}

// reports are the documents that the tests of all formats render.
func reports(t *testing.T) map[string]compare.Document {
	t.Helper()
	evil := realistic()
	evil.Hosts[0].CPU = `<script>alert("x")</script> & \input{x} $x_1$ | *y* [z](http://example.org)`
	for i := range evil.Records {
		if evil.Records[i].Reason != "" {
			evil.Records[i].Reason = "a|b\n<b>&amp; \\end{document} % ~ ^ # `c`"
		}
	}
	return map[string]compare.Document{
		"realistic": realistic(), "threaded": threaded(), "launched": launched(), "accelerated": accelerated(true), "encoded": encoded(), "two hosts": twoHosts(), "empty": {Schema: compare.Schema}, "evil": evil,
	}
}

// render returns what a format makes of a document.
func render(t *testing.T, doc compare.Document, lang string, format func(io.Writer, Report, []Drawing) error) (Report, string) {
	t.Helper()
	r := Build(doc, Options{Lang: lang})
	var buf bytes.Buffer
	if err := format(&buf, r, Drawings(doc, lang)); err != nil {
		t.Fatal(err)
	}
	return r, buf.String()
}

func TestHTMLGolden(t *testing.T) {
	var buf bytes.Buffer
	if err := HTML(&buf, specimen(), specimenDrawings()); err != nil {
		t.Fatal(err)
	}
	// The style and the figure are tested where they are made.
	page := regexp.MustCompile(`(?s)<style>.*?</style>`).ReplaceAllString(buf.String(), "<style/>")
	page = regexp.MustCompile(`(?s)(<svg [^>]*>).*?</svg>`).ReplaceAllString(page, "$1</svg>")
	golden(t, "report.html.golden", []byte(page))
}

// TestHTML reads pages as an XML parser does that knows HTML's empty elements: tags
// are balanced, ids unique, links have their ends, tables are rectangular, and
// nothing is fetched or run.
func TestHTML(t *testing.T) {
	for name, doc := range reports(t) {
		for _, lang := range Languages {
			r, page := render(t, doc, lang, HTML)
			if err := checkHTML(page, lang); err != nil {
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
	_, page := render(t, realistic(), "en", HTML)
	for fault, change := range map[string][2]string{
		"unbalanced":  {"</main>", "</main></main>"},
		"script":      {"</main>", "<script>1</script></main>"},
		"external":    {"</main>", `<img src="https://example.org/x.png" alt="x"></main>`},
		"style":       {"</style>", "b { background: url(x) }</style>"},
		"import":      {"</style>", "@import 'x';</style>"},
		"dead link":   {"</main>", `<a href="#nowhere">x</a></main>`},
		"twice":       {"</main>", `<p id="summary"></p></main>`},
		"short row":   {"</tbody>", "<tr><td>x</td></tr></tbody>"},
		"no language": {`<html lang="en">`, "<html>"},
		"no scope":    {`<th scope="col">`, "<th>"},
		"no label":    {`role="img" aria-label="`, `role="img" data-x="`},
		"handler":     {"<main>", `<main onclick="1">`},
	} {
		if broken := strings.Replace(page, change[0], change[1], 1); broken == page || checkHTML(broken, "en") == nil {
			t.Errorf("a page with the fault %q passes", fault)
		}
	}
}

func checkHTML(page, lang string) error {
	decoder := xml.NewDecoder(strings.NewReader(page))
	decoder.Strict, decoder.AutoClose, decoder.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var (
		errs          []error
		open          []string
		ids           = map[string]int{}
		links         []string
		columns       int
		cells         int
		style, spoken bool
	)
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.StartElement:
			name := token.Name.Local
			open = append(open, name)
			attrs := map[string]string{}
			for _, a := range token.Attr {
				attrs[a.Name.Local] = a.Value
				if strings.HasPrefix(a.Name.Local, "on") {
					fault("%s has a handler %s", name, a.Name.Local)
				}
				if strings.Contains(a.Value, "url(") || strings.Contains(a.Value, "javascript:") {
					fault("%s has %s=%q", name, a.Name.Local, a.Value)
				}
			}
			if id := attrs["id"]; id != "" {
				if ids[id]++; ids[id] > 1 {
					fault("the id %s is there twice", id)
				}
			}
			switch name {
			case "script", "link", "iframe", "object", "embed", "img", "image", "use", "base", "form":
				fault("the page has an element %s", name)
			case "a":
				links = append(links, attrs["href"])
			case "html":
				spoken = attrs["lang"] == lang
			case "svg":
				if attrs["role"] != "img" || attrs["aria-label"] == "" {
					fault("a figure has no description")
				}
			case "thead":
				columns, cells = 0, 0
			case "tr":
				cells = 0
			case "th", "td":
				cells++
				if name == "th" && attrs["scope"] == "" {
					fault("a head has no scope")
				}
			case "style":
				style = true
			}
		case xml.EndElement:
			if len(open) == 0 || open[len(open)-1] != token.Name.Local {
				return fmt.Errorf("</%s> closes %v", token.Name.Local, open)
			}
			open = open[:len(open)-1]
			switch token.Name.Local {
			case "tr":
				if columns == 0 {
					columns = cells
				}
				if cells != columns || cells == 0 {
					fault("a row has %d cells, its table %d columns", cells, columns)
				}
			case "style":
				style = false
			}
		case xml.CharData:
			if css := string(token); style && (strings.Contains(css, "url(") || strings.Contains(css, "@import")) {
				fault("the style fetches something")
			}
		}
	}
	if len(open) > 0 {
		fault("not closed: %v", open)
	}
	if !spoken {
		fault("the page does not say that it is in %s", lang)
	}
	for _, link := range links {
		if id, internal := strings.CutPrefix(link, "#"); internal && ids[id] == 0 {
			fault("the link %s leads nowhere", link)
		} else if !internal && !strings.HasPrefix(link, "https://") {
			fault("the link %q is none", link)
		}
	}
	return errors.Join(errs...)
}

// TestHTMLFolds wants long tables folded, those of middling length foldable, and short
// ones as they are.
func TestHTMLFolds(t *testing.T) {
	for rows, want := range map[int]string{40: "", 41: "<details open>\n<summary>41 行</summary>", 150: "<details open>", 151: "<details>\n<summary>151 行</summary>"} {
		table := Table{ID: "t", Columns: []Column{{Title: "x"}}}
		for range rows {
			table.Rows = append(table.Rows, Row{Cells: []Text{"1"}})
		}
		var page bytes.Buffer
		if err := HTML(&page, Report{Lang: "zh", Sections: []Section{{ID: "s", Title: "s", Level: 1, Blocks: []Block{table}}}}, nil); err != nil {
			t.Fatal(err)
		}
		_, body, _ := strings.Cut(page.String(), "<main>")
		if !strings.Contains(body, want) || strings.Contains(body, "<details") != (want != "") || strings.Count(body, "<tr") != rows+1 {
			t.Errorf("%d rows: no %q in\n%.300s", rows, want, body)
		}
		if err := checkHTML(page.String(), "zh"); err != nil {
			t.Errorf("%d rows: %v", rows, err)
		}
	}
}

// TestHTMLColors wants no colour in a page that stays the same on dark paper but
// those of data.
func TestHTMLColors(t *testing.T) {
	var buf bytes.Buffer
	if err := HTML(&buf, specimen(), specimenDrawings()); err != nil {
		t.Fatal(err)
	}
	page := buf.String()
	for _, gone := range []string{"#1B1B1F", "#D3D4DA", "#7A7C85", "#FFFFFF"} {
		if strings.Contains(page, gone) {
			t.Errorf("%s is written out", gone)
		}
	}
	for _, name := range []string{"ink", "mid", "faint", "paper"} {
		if !strings.Contains(page, "var(--"+name+")") || !strings.Contains(htmlStyle, "--"+name+":") {
			t.Errorf("no colour %s", name)
		}
	}
}

// TestMissingDrawing wants an error where a report shows what is not there.
func TestMissingDrawing(t *testing.T) {
	if err := HTML(io.Discard, specimen(), nil); err == nil || !strings.Contains(err.Error(), "gflops-serial-f64") {
		t.Errorf("got %v", err)
	}
}

func TestMarkdownGolden(t *testing.T) {
	var buf bytes.Buffer
	if err := Markdown(&buf, specimen()); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.md.golden", buf.Bytes())
}

// pipe matches a pipe that ends a cell.
var pipe = regexp.MustCompile(`(^|[^\\])\|`)

// TestMarkdown wants rectangular tables and links that have their ends.
func TestMarkdown(t *testing.T) {
	for name, doc := range reports(t) {
		for _, lang := range Languages {
			r, text := render(t, doc, lang, func(w io.Writer, r Report, _ []Drawing) error { return Markdown(w, r) })
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
					if table, ok := block.(Table); ok {
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
