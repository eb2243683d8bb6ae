package page

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
	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"

	"gemm/compare/report/chart"
)

var (
	//go:embed templates/report.html.tmpl
	htmlText string
	//go:embed templates/report.css
	htmlStyle string
	htmlPage  = template.Must(template.New("report").Parse(htmlText))
)

// HTML writes the page as one file, with its style and its figures. It is an error if it shows a figure that is not
// among drawings.
func (p *Page) HTML(w io.Writer, drawings []chart.Drawing) error {
	h := &htmlWriter{writer: writer{Page: p}, drawings: drawings}
	h.as = style{text: escapeHTML, code: codeHTML, literal: escapeHTML, link: h.link, heading: h.heading,
		item: itemHTML, block: h.block, lineBreak: "<br>", rule: "<hr>\n",
		emphasis: [2]string{"<em>", "</em>"}, strong: [2]string{"<strong>", "</strong>"},
		paragraph: [2]string{"<p>", "</p>\n"}, quotation: [2]string{"<blockquote>\n", "</blockquote>\n"},
		bulleted: [2]string{"<ul>\n", "</ul>\n"}, numbered: [2]string{"<ol>\n", "</ol>\n"},
		fencedBlock: [2]string{"<pre><code>", "</code></pre>\n"}, fold: foldHTML}
	h.blocks(p.root)
	if h.err != nil {
		return h.err
	}
	return htmlPage.Execute(w, map[string]any{
		"Lang": p.Lang, "Title": p.title, "Subtitle": p.subtitle, "Cover": p.Cover, "Words": p.Words, "Headings": p.headings,
		"Style": template.CSS(htmlStyle), "Body": template.HTML(h.b.String()),
	})
}

type htmlWriter struct {
	writer
	drawings []chart.Drawing
	err      error
}

func (h *htmlWriter) heading(c *ast.Heading) string {
	return fmt.Sprintf("<h%d id=\"%s\">%s</h%d>\n", c.Level, escapeHTML(anchorOf(c)), h.spans(c), c.Level)
}

func itemHTML(id string) [2]string { return [2]string{"<li" + given("id", id) + ">", "</li>\n"} }

func foldHTML(name string) [2]string {
	return [2]string{"<details class=\"fold\">\n<summary>" + escapeHTML(name) + "</summary>\n<pre><code>",
		"</code></pre>\n</details>\n"}
}

// given returns an attribute, nothing if its value is empty.
func given(name, value string) string {
	if value == "" {
		return ""
	}
	return " " + name + `="` + escapeHTML(value) + `"`
}

// block writes a block that Markdown has not.
func (h *htmlWriter) block(c *block) {
	caption := h.inline(c.caption)
	switch c.kind {
	case kindFigure:
		h.printf("<figure id=\"%s\" class=\"drawing\">\n%s\n<figcaption><b>%s %d%s</b>%s</figcaption>\n</figure>\n",
			escapeHTML(c.id), h.drawing(c), h.Words.Figure, c.number, h.Words.Stop, caption)
	case kindTable:
		h.table(c, caption)
	case kindEquation:
		tex, number := untagged(c.lines[0].text)
		if number != "" {
			number = "<span>(" + escapeHTML(number) + ")</span>"
		}
		h.printf("<div class=\"equation\"><div class=\"scroll-x\">%s</div>%s</div>\n", h.formula(tex), number)
	case kindAlgorithms:
		h.b.WriteString("<div class=\"algorithms\">\n")
		for _, a := range c.lines {
			h.printf("<figure class=\"algorithm\">\n<figcaption><b>%s %d%s</b><code>%s</code></figcaption>\n"+
				"<pre>%s</pre>\n</figure>\n", h.Words.Algorithm, a.number, h.Words.Stop, escapeHTML(a.name), escapeHTML(a.text))
		}
		h.b.WriteString("</div>\n")
	} // The table of contents is in every page.
}

// Tables of more rows than these can be folded, and are folded.
const (
	foldable = 40
	folded   = 150
)

func (h *htmlWriter) table(c *block, caption string) {
	id := fmt.Sprint("table-", c.number)
	h.printf("<figure id=\"%s\">\n<figcaption id=\"%s-caption\"><b>%s %d%s</b>%s</figcaption>\n", id, id,
		h.Words.Table, c.number, h.Words.Stop, caption)
	rows := c.table.ChildCount() - 1
	if rows > foldable {
		open := " open"
		if rows > folded {
			open = ""
		}
		h.printf("<details%s>\n<summary>%d %s</summary>\n", open, rows, h.Words.Rows)
	}
	h.printf("<div class=\"scroll\" role=\"region\" aria-labelledby=\"%s-caption\" tabindex=\"0\">\n"+
		"<table aria-labelledby=\"%s-caption\">\n", id, id)
	for i, row := range children(c.table) {
		tag, scope := "td", ""
		if i == 0 {
			h.b.WriteString("<thead>")
			tag, scope = "th", ` scope="col"`
		} else if i == 1 {
			h.b.WriteString("<tbody>\n")
		}
		h.printf("<tr%s>", given("class", classOf(row)))
		for j, cell := range children(row) {
			number := ""
			if cell.(*east.TableCell).Alignment == east.AlignRight {
				number = ` class="number"`
			}
			if j == 0 && i > 0 {
				h.printf("<th scope=\"row\"%s>%s</th>", number, h.spans(cell))
				continue
			}
			h.printf("<%s%s%s>%s</%s>", tag, scope, number, h.spans(cell), tag)
		}
		h.b.WriteString("</tr>")
		if i == 0 {
			h.b.WriteString("</thead>")
		}
		h.b.WriteString("\n")
	}
	h.b.WriteString("</tbody>\n</table>\n</div>\n")
	if rows > foldable {
		h.b.WriteString("</details>\n")
	}
	h.b.WriteString("</figure>\n")
}

// link writes a link. One to a file of the repository is text: the page does not know where the repository is.
func (h *htmlWriter) link(n *ast.Link) string {
	label, target := h.spans(n), target(n)
	if id, ok := strings.CutPrefix(target, "appendix#"); ok {
		target = "report-appendix.html#" + id
	} else if id, internal := strings.CutPrefix(target, "#"); internal && !h.has(id) {
		return label // of a form that has not the section
	} else if !remote(target) && !internal {
		if h.plain(n) == target {
			return codeHTML(target)
		}
		return label + " (" + codeHTML(target) + ")"
	}
	return `<a href="` + escapeHTML(target) + `">` + label + "</a>"
}

func target(n *ast.Link) string { return string(n.Destination) }

func remote(target string) bool {
	return strings.HasPrefix(target, "https://") || strings.HasPrefix(target, "http://")
}

func escapeHTML(s string) string { return template.HTMLEscapeString(s) }

func codeHTML(s string) string { return "<code>" + escapeHTML(s) + "</code>" }

var tag = regexp.MustCompile(`\\tag\{([^}]*)\}`)

func untagged(tex string) (equation, number string) {
	if m := tag.FindStringSubmatch(tex); m != nil {
		number = m[1]
	}
	return strings.TrimSpace(tag.ReplaceAllString(tex, "")), number
}

func (h *htmlWriter) formula(tex string) string {
	mathML, err := treeblood.DisplayStyle(tex, nil)
	if err != nil {
		h.err = fmt.Errorf("report: equation %s: %w", tex, err)
	}
	return element.ReplaceAllStringFunc(strings.TrimSpace(between.ReplaceAllString(mathML, "><")), sorted)
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

// drawing returns a figure as an element of the page. It uses the fonts of the style, and variables of the style for
// the colours that are not of data, so it follows the reader's light or dark scheme.
func (h *htmlWriter) drawing(c *block) string {
	i := slices.IndexFunc(h.drawings, func(d chart.Drawing) bool { return d.ID == c.id })
	if i < 0 {
		h.err = fmt.Errorf("report: there is no figure %s", c.id)
		return ""
	}
	var buf bytes.Buffer
	if err := h.drawings[i].SVG(&buf); err != nil {
		h.err = err
	}
	svg := svgHead.ReplaceAllString(buf.String(), fmt.Sprintf(`<svg $1 role="img" aria-label="%s">`,
		strings.ReplaceAll(escapeHTML(h.plain(c.caption...)), "$", "$$")))
	for name, color := range map[string]string{
		"ink": chart.Hex(chart.Ink), "mid": chart.Hex(chart.Mid), "faint": chart.Hex(chart.Faint),
		"paper": chart.Hex(chart.Paper),
	} {
		svg = strings.ReplaceAll(svg, color, "var(--"+name+")")
	}
	return strings.ReplaceAll(svg, chart.FontFamily, "")
}
