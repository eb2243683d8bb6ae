package document

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/wyatt915/treeblood"

	"gemm/compare/report/chart"
)

var (
	//go:embed templates/report.html.tmpl
	htmlText string
	//go:embed templates/report.css
	htmlStyle string
)

// htmlDocument is what the template sees.
type htmlDocument struct {
	Report
	Style      template.CSS
	drawings   map[string]chart.Drawing
	figures    int
	tables     int
	algorithms int
	listings   int
}

// HTML writes r as one self-contained page, with its style and its figures. It is an error if r
// shows a figure that is not among drawings.
func HTML(w io.Writer, r Report, drawings []chart.Drawing) error {
	doc := &htmlDocument{
		Report: r, Style: template.CSS(htmlStyle), drawings: byID(drawings),
	}
	t, err := template.New("report").Funcs(template.FuncMap{
		"text":    func(t Text) template.HTML { return template.HTML(htmlSpans(parse(t))) },
		"drawing": doc.drawing,
		"figure":  func() string { doc.figures++; return fmt.Sprintf("%s %d%s", r.Words.Figure, doc.figures, r.Words.Stop) },
		"table":   func() string { doc.tables++; return fmt.Sprintf("%s %d%s", r.Words.Table, doc.tables, r.Words.Stop) },
		"algorithm": func() string {
			doc.algorithms++
			return fmt.Sprintf("%s %d%s", r.Words.Algorithm, doc.algorithms, r.Words.Stop)
		},
		"listing": func() string {
			doc.listings++
			return fmt.Sprintf("%s %d%s", r.Words.Listing, doc.listings, r.Words.Stop)
		},
		"formula": formula,
		"fold":    func(t Table) *htmlFold { return foldOf(t, r.Words.Rows) },
		"kind":    blockKind,
		"heading": func(level int) int { return min(level+1, 6) },
	}).Parse(htmlText)
	if err != nil {
		return err
	}
	return t.Execute(w, doc)
}

// htmlFold is how a long table is folded.
type htmlFold struct {
	Label string
	Open  bool // until the reader closes it
}

// Tables of more rows than these can be folded, and are folded.
const (
	foldable = 40
	folded   = 150
)

// foldOf returns the fold of a table, nil if it is short. rows formats the number of its rows.
func foldOf(t Table, rows func(int) string) *htmlFold {
	if len(t.Rows) <= foldable {
		return nil
	}
	what, _, _ := strings.Cut(characters(parse(t.Caption)), ".")
	what, _, _ = strings.Cut(what, "。")
	return &htmlFold{strings.TrimSpace(what + ": " + rows(len(t.Rows))), len(t.Rows) <= folded}
}

// byID returns drawings by their IDs.
func byID(drawings []chart.Drawing) map[string]chart.Drawing {
	m := make(map[string]chart.Drawing, len(drawings))
	for _, d := range drawings {
		m[d.ID] = d
	}
	return m
}

// blockKind returns the name of a block's type for templates to tell them apart.
func blockKind(b Block) string {
	return strings.TrimPrefix(fmt.Sprintf("%T", b), "document.")
}

// formula returns an equation as MathML.
func formula(e Equation) (template.HTML, error) {
	mathML, err := treeblood.DisplayStyle(e.TeX, nil)
	if err != nil {
		return "", fmt.Errorf("report: equation %d: %w", e.Number, err)
	}
	mathML = element.ReplaceAllStringFunc(strings.TrimSpace(between.ReplaceAllString(mathML, "><")), sorted)
	return template.HTML(mathML), nil
}

var (
	between   = regexp.MustCompile(`>\s+<`)                 // the space between elements
	element   = regexp.MustCompile(`<m\w+( \w+="[^"]*")+>`) // with attributes
	attribute = regexp.MustCompile(` \w+="[^"]*"`)
)

// sorted returns an element with its attributes in the order of their names: the library gives them in any.
func sorted(element string) string {
	attributes := attribute.FindAllString(element, -1)
	slices.Sort(attributes)
	name, _, _ := strings.Cut(element, " ")
	return name + strings.Join(attributes, "") + ">"
}

// svgHead is all of an SVG document before its content but its viewBox.
var svgHead = regexp.MustCompile(`(?s)^.*<svg[^>]*(viewBox="[^"]*")[^>]*>\s*<title>[^<]*</title>`)

// drawing returns a figure as an element of the page. It uses the fonts of the style, and variables
// of the style for the colours that are not of data, so it follows the reader's light or dark
// scheme.
func (d *htmlDocument) drawing(f Figure) (template.HTML, error) {
	drawing, ok := d.drawings[f.ID]
	if !ok {
		return "", fmt.Errorf("report: no drawing %s", f.ID)
	}
	var buf bytes.Buffer
	if err := drawing.SVG(&buf); err != nil {
		return "", err
	}
	svg := svgHead.ReplaceAllString(buf.String(), fmt.Sprintf(`<svg $1 role="img" aria-label="%s">`,
		strings.ReplaceAll(template.HTMLEscapeString(f.Alt), "$", "$$")))
	for name, color := range map[string]string{
		"ink": chart.Hex(chart.Ink), "mid": chart.Hex(chart.Mid), "faint": chart.Hex(chart.Faint),
		"paper": chart.Hex(chart.Paper),
	} {
		svg = strings.ReplaceAll(svg, color, "var(--"+name+")")
	}
	svg = strings.ReplaceAll(svg, chart.FontFamily, "")
	return template.HTML(svg), nil
}

// htmlSpans returns spans as HTML.
func htmlSpans(spans []span) string {
	var b strings.Builder
	for _, s := range spans {
		inner := htmlSpans(s.inner)
		switch s.kind {
		case plain:
			b.WriteString(template.HTMLEscapeString(s.text))
		case literal:
			b.WriteString("<code>" + template.HTMLEscapeString(s.text) + "</code>")
		case emphasis:
			b.WriteString("<em>" + inner + "</em>")
		case strong:
			b.WriteString("<strong>" + inner + "</strong>")
		case linked:
			if id, ok := s.internal(); ok {
				b.WriteString(`<a href="#` + template.HTMLEscapeString(id) + `">` + inner + "</a>")
			} else if id, ok := s.beside(); ok {
				b.WriteString(`<a href="report-appendix.html#` + template.HTMLEscapeString(id) + `">` + inner + "</a>")
			} else if s.remote() {
				b.WriteString(`<a href="` + template.HTMLEscapeString(s.target) + `">` + inner + "</a>")
			} else {
				b.WriteString(htmlSpans(inRepository(s)))
			}
		}
	}
	return b.String()
}

// inRepository returns a link to a file of the repository as text: its label, and
// the path unless that is the label. The report does not know where the repository
// is.
func inRepository(s span) []span {
	if characters(s.inner) == s.target {
		return []span{{kind: literal, text: s.target}}
	}
	return append(append([]span{}, s.inner...),
		span{kind: plain, text: " ("}, span{kind: literal, text: s.target}, span{kind: plain, text: ")"})
}
