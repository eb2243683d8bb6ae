package page

import (
	_ "embed"
	"fmt"
	"io"
	"strings"
	"text/template"
	"unicode"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"golang.org/x/text/width"
)

//go:embed templates/report.tex.tmpl
var texText string

var texPage = template.Must(template.New("report").Delims("<<", ">>").
	Funcs(template.FuncMap{"tex": texString}).Parse(texText))

// TeX writes the page for xelatex, which must run twice. It needs the recommended LaTeX packages of TeX Live, and
// ctex if the page has Chinese characters. Figures are read from figures/<id>.pdf, and stand in pairs if they follow
// each other. A table is set in the largest type in which it fits on the paper, and is rotated only if it must be.
func (p *Page) TeX(w io.Writer) error {
	t := &texWriter{writer: writer{Page: p}}
	t.as = style{text: func(s string) string { return texString(nonBreaking.Replace(s)) }, code: texCode,
		literal: literal, link: t.link, heading: t.heading, item: itemTeX, block: t.block,
		lineBreak: `\\ `, rule: "\n\\bigskip\\hrule\\bigskip\n",
		emphasis: [2]string{`\emph{`, `}`}, strong: [2]string{`\textbf{`, `}`}, paragraph: [2]string{"\n", "\n"},
		bulleted: listTeX("itemize"), numbered: listTeX("enumerate"),
		quotation: [2]string{"\\begin{quote}", "\\end{quote}\n"},
		fencedBlock: [2]string{"\n\\begin{quote}\\scriptsize\\raggedright\\setlength\\parskip{0pt}\n",
			"\\end{quote}\n"}}
	t.blocks(p.root)
	author, all := "", p.title+p.subtitle+t.b.String()
	for _, f := range p.Cover {
		all += f.Name + f.Value
		if f.Author {
			author = f.Value
		}
	}
	return texPage.Execute(w, map[string]any{
		"Lang": p.Lang, "Title": p.title, "Subtitle": p.subtitle, "Cover": p.Cover, "Author": author,
		"Body": t.b.String(), "Chinese": p.Lang == "zh" || strings.ContainsFunc(all, isHan),
	})
}

func isHan(r rune) bool { return unicode.Is(unicode.Han, r) }

type texWriter struct {
	writer
	paired *block // the figure that the last one was written with
}

func (t *texWriter) heading(c *ast.Heading) string {
	command := []string{"section", "subsection", "subsubsection"}[min(max(c.Level-1, 1), 3)-1]
	room := `\room`
	if before := c.PreviousSibling(); before != nil && before.Kind() == ast.KindHeading {
		room = "" // or it parts the two
	}
	return fmt.Sprintf("\n%s\\%s{\\texorpdfstring{%s}{%s}}\\hypertarget{%s}{}\n", room, command, t.spans(c),
		bookmark(t.plain(c)), texLabel(anchorOf(c)))
}

func listTeX(kind string) [2]string {
	return [2]string{"\n\\begin{" + kind + "}\\raggedright\\setlength\\itemsep{1pt}\\setlength\\parskip{0pt}\n",
		"\\end{" + kind + "}\n"}
}

func itemTeX(id string) [2]string {
	if id != "" {
		id = `\hypertarget{` + texLabel(id) + `}{}`
	}
	return [2]string{`\item ` + id, "\n"}
}

// block writes a block that Markdown has not.
func (t *texWriter) block(c *block) {
	switch c.kind {
	case kindFigure:
		t.figure(c)
	case kindTable:
		t.table(c)
	case kindEquation:
		tex, number := untagged(c.lines[0].text)
		if number != "" {
			number = "(" + texString(number) + ")"
		}
		t.printf("\n\\par\\nopagebreak\\noindent\\hspace*{\\fill}$\\displaystyle %s$\\hspace*{\\fill}%s\\par\n", tex, number)
	case kindAlgorithms:
		t.b.WriteString("\n\\begin{multicols}{2}\\setlength\\parskip{0pt}\\footnotesize\\raggedright\n")
		for _, a := range c.lines {
			t.printf("\\noindent\\begin{minipage}{\\linewidth}\\hrule\\smallskip\n"+
				"\\textbf{%s %d} %s\\par\\smallskip\\hrule\\smallskip\n{\\scriptsize\n%s"+
				"}\\smallskip\\hrule\\medskip\\end{minipage}\\par\n",
				texString(t.Words.Algorithm), a.number, texCode(a.name), literal(a.text))
		}
		t.b.WriteString("\\end{multicols}\n")
	case kindContents:
		t.b.WriteString("\n\\begin{multicols}{2}\\setlength\\parskip{0pt}" +
			"\\setcounter{tocdepth}{2}\\tableofcontents\\end{multicols}\n")
	}
}

// figure writes a figure, with the next one if they follow each other.
func (t *texWriter) figure(c *block) {
	if c == t.paired {
		return
	}
	all, width := []*block{c}, ".62"
	if next, ok := c.NextSibling().(*block); ok && next.kind == kindFigure {
		t.paired, all, width = next, append(all, next), ".48"
	}
	t.b.WriteString("\n\\begin{center}\\vspace{-\\parskip}\n")
	for i, c := range all {
		if i > 0 {
			t.b.WriteString("\\hfill\n")
		}
		t.printf("\\begin{minipage}[t]{%s\\linewidth}\\hypertarget{%s}{}\\centering\n"+
			"\\includegraphics[width=\\linewidth]{figures/%s.pdf}\n\\captionof{figure}{%s}\n\\end{minipage}",
			width, texLabel(c.id), c.id, t.inline(c.caption))
	}
	t.b.WriteString("\n\\end{center}\\medskip\n")
}

// unsplit is the most lines of a table that stays on one page.
const unsplit = 22

func (t *texWriter) table(c *block) {
	layout := t.fit(c.table)
	if layout.Landscape {
		t.b.WriteString("\n\\begin{landscape}")
	}
	rows := children(c.table)
	long := layout.Landscape || len(rows) > unsplit
	caption := t.inline(c.caption)
	if long {
		t.printf("\n{%s\n\\begin{longtable}{@{}%s@{}}\n", layout.Size, layout.Columns)
		if caption != "" {
			t.printf("\\caption{%s}\\\\\n", caption)
		}
	} else {
		t.printf("\n\\begin{center}\\begin{minipage}{\\linewidth}\\centering%s\n", layout.Size)
		if caption != "" {
			t.printf("\\captionof{table}{%s}\n", caption)
		}
		t.printf("\\begin{tabular}{@{}%s@{}}\n", layout.Columns)
	}
	for i, row := range rows {
		class := classOf(row)
		var cells []string
		for _, cell := range children(row) {
			text := t.spans(cell)
			switch {
			case text == "":
			case class == "wrong":
				text = `\textcolor{bad}{` + text + `}`
			case class == "muted":
				text = `\textcolor{muted}{` + text + `}`
			}
			cells = append(cells, text)
		}
		line := strings.Join(cells, " & ") + `\\`
		if long && i > 0 && (i < 3 || i > len(rows)-4) && i < len(rows)-1 {
			line += "*" // no page has less than three lines of it
		}
		switch {
		case i == 0 && !long:
			t.printf("\\toprule\n%s\n\\midrule\n", line)
		case i == 0:
			t.printf("\\toprule\n%s\n\\midrule\n\\endfirsthead\n"+
				"\\toprule\n%[1]s\n\\midrule\n\\endhead\n\\bottomrule\n\\endfoot\n", line)
		case class == "best":
			t.b.WriteString(`\rowcolor{best}` + line + "\n")
		default:
			t.b.WriteString(line + "\n")
		}
	}
	if long {
		t.b.WriteString("\\end{longtable}\n}\n")
	} else {
		t.b.WriteString("\\bottomrule\n\\end{tabular}\\end{minipage}\\end{center}\\medskip\n")
	}
	if layout.Landscape {
		t.b.WriteString("\\end{landscape}\n")
	}
}

// link writes a link. One to the appendix or to a file of the repository is text.
func (t *texWriter) link(n *ast.Link) string {
	label, target := t.spans(n), target(n)
	switch id, internal := strings.CutPrefix(target, "#"); {
	case internal && !t.has(id): // a form without the section
		return label
	case internal:
		return `\hyperlink{` + texLabel(id) + `}{` + label + `}`
	case strings.HasPrefix(target, "appendix#"):
		return label
	case remote(target):
		return `\href{` + texURL.Replace(target) + `}{` + label + `}`
	case t.plain(n) == target:
		return texCode(target)
	}
	return label + " (" + texCode(target) + ")"
}

// texLayout is how a table is set.
type texLayout struct {
	Landscape bool
	Size      string // a command for the size of type
	Columns   string // their specification
}

// The size of the page, in TeX points, and the space of a column in addition to its text.
const (
	texPortrait  = 503.0
	texLandscape = 750.0
	texBetween   = 7.0
)

// fit returns the layout of t: the first of footnotesize and scriptsize, upright and turned, in which its columns have
// room. Cells of text, and heads, may be broken into lines; numbers may not.
func (p *Page) fit(t *east.Table) texLayout {
	columns := t.Alignments
	least, most := make([]float64, len(columns)), make([]float64, len(columns))
	prose := 21.75 // what cells of text have at least; less in short tables, for which a turned page is too much
	if t.ChildCount() <= unsplit {
		prose = 14
	}
	for _, row := range children(t) {
		for i, cell := range children(row) {
			text := p.plain(cell)
			if row.Kind() == east.KindTableHeader { // it is broken between words
				for _, word := range strings.Fields(text) {
					least[i] = max(least[i], units(word)+0.25)
				}
				most[i] = max(least[i], min(units(text), 14))
				continue
			}
			wide := units(text)
			if e, ok := cell.FirstChild().(*ast.Emphasis); ok && e.Level == 2 {
				wide *= 1.2 // in bold
			}
			most[i] = max(most[i], wide)
			if columns[i] != east.AlignRight {
				word := 0.0
				for _, w := range strings.Fields(text) {
					word = max(word, units(w))
				}
				wide = min(wide, max(word, prose), 21.75) + 0.25
			}
			least[i] = max(least[i], wide)
		}
	}
	for i := range 4 {
		l, unit, room := texLayout{Size: `\footnotesize`, Landscape: i > 1}, 4.25, texPortrait // of a character, a page
		if i%2 == 1 {
			l.Size, unit = `\scriptsize`, 3.98
		}
		if l.Landscape {
			room = texLandscape
		}
		room -= texBetween * float64(len(columns))
		free, wants := room, 0.0
		for j := range least {
			free -= least[j] * unit
			wants += (most[j] - least[j]) * unit
		}
		if free < 0 && i < 3 {
			continue
		}
		share := max(0, min(1, free/max(wants, 1e-9)))
		spare := 0.0
		if share == 1 && free-wants > float64(len(columns)) {
			spare = 0.1 // widths are rounded; a name of exactly that width would be broken
		}
		shrink := 1.0
		if free < 0 { // nothing fits: narrow all columns alike
			shrink = 1 + free/(room-free)
		}
		var widths strings.Builder
		for j, align := range columns {
			letter := "L"
			if align == east.AlignRight {
				letter = "R"
			}
			fmt.Fprintf(&widths, "%s{%.1fpt}", letter, spare+shrink*unit*(least[j]+share*(most[j]-least[j])))
		}
		l.Columns = widths.String()
		return l
	}
	return texLayout{}
}

// units returns about how many digits s is wide.
func units(s string) float64 {
	n := 0.0
	for _, r := range s {
		switch kind := width.LookupRune(r).Kind(); {
		case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
			n += 2
		case strings.ContainsRune("mwMW%+×÷±→—µ", r):
			n += 1.75
		case unicode.IsUpper(r):
			n += 1.5
		case strings.ContainsRune(" .,:;|'!()[]", r):
			n += 0.8
		default:
			n++
		}
	}
	return n
}
