package page

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Page is a filled template, parsed. It is Markdown with tables, attributes of headings, and these conventions, most of
// which Pandoc has too:
//
//	# Title                      the title of the page; a paragraph after it is the subtitle
//	## Heading {#id}             a chapter with its anchor
//	- {#id} text                 an item with an anchor
//	![Caption.](figures/ID.svg)  alone in a paragraph: a figure
//	Table: Caption.              after a table: its caption; in Chinese 表：
//	[TOC]                        the table of contents
//	```math                      an equation in TeX's notation
//	```algorithm NAME            pseudo-code with a caption; several in a row stand side by side
//	```fold NAME                 text that is folded in HTML and Markdown, with what stands for it
//	[text](appendix#id)          a section of the appendix
//	[text](path)                 a file of the repository
//
// There is no HTML in it: whatever looks like an element is text.
type Page struct {
	Lang  string
	Cover []Field // of the cover page; empty: there is none
	Words Words
	// Folder is where in the repository the Markdown is, for a page without an appendix that is part of the repository.
	// Links to files then are links. Empty: they are text.
	Folder string

	source   []byte
	root     ast.Node
	title    string
	subtitle string
	headings []Heading
	figures  []Figure
	items    []string // anchors of items
}

// Field is a line of the cover page.
type Field struct {
	Name, Value string
	Author      bool // Value is the author
}

// Words are the words that writers add.
type Words struct {
	Contents  string // the heading of the table of contents
	Figure    string // stands before the number of a figure
	Table     string // stands before the number of a table
	Algorithm string // stands before the number of an algorithm
	Stop      string // stands between that number and the caption
	Filter    string // labels the field that filters the rows of a long table
	Rows      string // stands behind the number of rows
}

// Heading is a heading below the title.
type Heading struct {
	ID, Title string
	Level     int // 1 is a chapter
}

// Figure is a figure of a page.
type Figure struct{ ID, Caption string }

// grammar is Markdown without HTML, indented code, underlined headings, references and automatic links: data in the
// text must not become these.
var grammar = parser.NewParser(
	parser.WithBlockParsers(
		util.Prioritized(parser.NewThematicBreakParser(), 200),
		util.Prioritized(parser.NewListParser(), 300),
		util.Prioritized(parser.NewListItemParser(), 400),
		util.Prioritized(parser.NewATXHeadingParser(parser.WithHeadingAttribute()), 600),
		util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
		util.Prioritized(parser.NewBlockquoteParser(), 800),
		util.Prioritized(parser.NewParagraphParser(), 1000),
	),
	parser.WithInlineParsers(
		util.Prioritized(parser.NewCodeSpanParser(), 100),
		util.Prioritized(parser.NewLinkParser(), 200),
		util.Prioritized(parser.NewEmphasisParser(), 500),
	),
	parser.WithParagraphTransformers(util.Prioritized(extension.NewTableParagraphTransformer(), 200)),
	parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
)

// Parse returns the page of Markdown.
func Parse(t Text, lang string, words Words) *Page {
	p := &Page{Lang: lang, Words: words, source: []byte(t)}
	p.root = grammar.Parse(text.NewReader(p.source))
	p.open()
	p.group(p.root)
	return p
}

// Figures returns the figures of the page in their order.
func (p *Page) Figures() []Figure { return p.figures }

// Shows reports whether the page has the figure.
func (p *Page) Shows(id string) bool {
	return slices.ContainsFunc(p.figures, func(f Figure) bool { return f.ID == id })
}

// open takes the title and the subtitle from the beginning of the page.
func (p *Page) open() {
	h, ok := p.root.FirstChild().(*ast.Heading)
	if !ok || h.Level != 1 {
		return
	}
	p.title = p.plain(h)
	if next, ok := h.NextSibling().(*ast.Paragraph); ok {
		p.subtitle = p.plain(next)
		p.root.RemoveChild(p.root, next)
	}
	p.root.RemoveChild(p.root, h)
}

// The kinds of blocks that Markdown has not.
var (
	kindFigure     = ast.NewNodeKind("Figure")
	kindTable      = ast.NewNodeKind("CaptionedTable")
	kindEquation   = ast.NewNodeKind("Equation")
	kindAlgorithms = ast.NewNodeKind("Algorithms")
	kindContents   = ast.NewNodeKind("Contents")
)

// block is a block of one of these kinds.
type block struct {
	ast.BaseBlock
	kind    ast.NodeKind
	id      string
	caption []ast.Node // inline
	table   *east.Table
	lines   []algorithm // of algorithms; of an equation one, its TeX
	number  int
}

type algorithm struct {
	name, text string
	number     int
}

func (b *block) Kind() ast.NodeKind            { return b.kind }
func (b *block) Dump(source []byte, level int) { ast.DumpHelper(b, source, level, nil, nil) }

var figureFile = regexp.MustCompile(`^figures/([^/]+)\.svg$`)

// group replaces the blocks below n that follow the conventions of a page.
func (p *Page) group(n ast.Node) {
	count := map[ast.NodeKind]int{}
	for c := n.FirstChild(); c != nil; {
		next := c.NextSibling()
		var made *block
		switch c := c.(type) {
		case *ast.Heading:
			h := Heading{Title: p.plain(c), Level: max(1, c.Level-1)}
			if id, ok := c.AttributeString("id"); ok {
				h.ID = string(id.([]byte))
			} else {
				h.ID = fmt.Sprint("section-", len(p.headings)+1)
				c.SetAttributeString("id", []byte(h.ID))
			}
			p.headings = append(p.headings, h)
		case *ast.Paragraph:
			image, ok := c.FirstChild().(*ast.Image)
			if p.lines(c) == "[TOC]" {
				made = &block{kind: kindContents}
			} else if ok && c.ChildCount() == 1 && figureFile.MatchString(string(image.Destination)) {
				id := figureFile.FindStringSubmatch(string(image.Destination))[1]
				made = &block{kind: kindFigure, id: id, caption: children(image)}
				p.figures = append(p.figures, Figure{made.id, p.plain(image)})
			}
		case *east.Table:
			made = &block{kind: kindTable, table: c}
			if caption, ok := next.(*ast.Paragraph); ok && p.captioned(caption) {
				made.caption = children(caption)
				next = caption.NextSibling()
				n.RemoveChild(n, caption)
			}
		case *ast.List:
			for _, item := range children(c) {
				p.anchor(item)
			}
		case *ast.FencedCodeBlock:
			kind, name, _ := strings.Cut(p.info(c), " ")
			switch kind {
			case "math":
				made = &block{kind: kindEquation, lines: []algorithm{{text: p.lines(c)}}}
			case "algorithm":
				count[ast.KindFencedCodeBlock]++
				one := algorithm{name, p.lines(c), count[ast.KindFencedCodeBlock]}
				if last, ok := c.PreviousSibling().(*block); ok && last.kind == kindAlgorithms {
					last.lines = append(last.lines, one)
					n.RemoveChild(n, c)
				} else {
					made = &block{kind: kindAlgorithms, lines: []algorithm{one}}
				}
			}
		}
		if made != nil {
			count[made.kind]++
			made.number = count[made.kind]
			n.ReplaceChild(n, c, made)
		}
		c = next
	}
}

var itemAnchor = regexp.MustCompile(`^\{#([\w-]+)\} ?`)

// anchor takes the anchor of an item from its beginning.
func (p *Page) anchor(item ast.Node) {
	first, ok := item.FirstChild().FirstChild().(*ast.Text)
	if !ok {
		return
	}
	if m := itemAnchor.FindSubmatch(first.Segment.Value(p.source)); m != nil {
		first.Segment.Start += len(m[0])
		item.SetAttributeString("id", m[1])
		p.items = append(p.items, string(m[1]))
	}
}

// captions begin the caption of a table.
var captions = regexp.MustCompile(`^(Table: |表：)`)

// captioned reports whether a paragraph is the caption of a table, and takes the mark from its beginning.
func (p *Page) captioned(c *ast.Paragraph) bool {
	first, ok := c.FirstChild().(*ast.Text)
	if !ok {
		return false
	}
	mark := captions.Find(first.Segment.Value(p.source))
	first.Segment.Start += len(mark)
	return mark != nil
}

func children(n ast.Node) []ast.Node {
	var all []ast.Node
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		all = append(all, c)
	}
	return all
}

func (p *Page) info(c *ast.FencedCodeBlock) string {
	if c.Info == nil {
		return ""
	}
	return string(c.Info.Segment.Value(p.source))
}

func (p *Page) lines(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		b.Write(line.Value(p.source))
	}
	return strings.TrimRight(b.String(), "\n")
}

// plain returns what a reader sees of inline nodes.
func (p *Page) plain(nodes ...ast.Node) string {
	var b strings.Builder
	for _, n := range nodes {
		switch n := n.(type) {
		case *ast.Text:
			b.WriteString(p.text(n))
		default:
			b.WriteString(p.plain(children(n)...))
		}
	}
	return b.String()
}

// style is how a format writes a page. What has two strings stands between them.
type style struct {
	text, code, literal func(string) string
	link                func(*ast.Link) string
	fold                func(name string) [2]string // nil: nothing is folded
	heading             func(*ast.Heading) string
	item                func(id string) [2]string
	block               func(*block) // that Markdown has not
	lineBreak, rule     string

	emphasis, strong, paragraph, bulleted, numbered, quotation, fencedBlock [2]string
}

// writer writes a page in a style.
type writer struct {
	*Page
	b  strings.Builder
	as style
}

func (w *writer) printf(format string, args ...any) { fmt.Fprintf(&w.b, format, args...) }

func (w *writer) blocks(n ast.Node) {
	for _, c := range children(n) {
		switch c := c.(type) {
		case *ast.Heading:
			w.b.WriteString(w.as.heading(c))
		case *ast.Paragraph:
			w.b.WriteString(w.as.paragraph[0] + w.spans(c) + w.as.paragraph[1])
		case *ast.TextBlock:
			w.b.WriteString(w.spans(c))
		case *ast.List:
			marks := w.as.bulleted
			if c.IsOrdered() {
				marks = w.as.numbered
			}
			w.within(marks, c)
		case *ast.ListItem:
			w.within(w.as.item(anchorOf(c)), c)
		case *ast.Blockquote:
			w.within(w.as.quotation, c)
		case *ast.ThematicBreak:
			w.b.WriteString(w.as.rule)
		case *ast.FencedCodeBlock:
			marks := w.as.fencedBlock
			if name, ok := strings.CutPrefix(w.info(c), "fold "); ok && w.as.fold != nil {
				marks = w.as.fold(name)
			}
			w.b.WriteString(marks[0] + w.as.literal(w.lines(c)) + marks[1])
		case *block:
			w.as.block(c)
		}
	}
}

func (w *writer) within(marks [2]string, n ast.Node) {
	w.b.WriteString(marks[0])
	w.blocks(n)
	w.b.WriteString(marks[1])
}

// anchorOf returns the anchor of a heading or an item, empty if there is none.
func anchorOf(n ast.Node) string {
	id, _ := n.AttributeString("id")
	anchor, _ := id.([]byte)
	return string(anchor)
}

func (w *writer) spans(n ast.Node) string { return w.inline(children(n)) }

func (w *writer) inline(nodes []ast.Node) string {
	var b strings.Builder
	for _, n := range nodes {
		switch n := n.(type) {
		case *ast.Text:
			b.WriteString(w.as.text(w.text(n)))
			if n.HardLineBreak() {
				b.WriteString(w.as.lineBreak)
			}
		case *ast.CodeSpan:
			b.WriteString(w.as.code(w.plain(n)))
		case *ast.Emphasis:
			marks := [2][2]string{w.as.emphasis, w.as.strong}[min(n.Level, 2)-1]
			b.WriteString(marks[0] + w.spans(n) + marks[1])
		case *ast.Link:
			b.WriteString(w.as.link(n))
		default:
			b.WriteString(w.spans(n))
		}
	}
	return b.String()
}

// text returns the characters of a text, with a space for the end of a line. In Chinese, lines join without one.
func (p *Page) text(n *ast.Text) string {
	value := n.Segment.Value(p.source)
	if _, code := n.Parent().(*ast.CodeSpan); code {
		return strings.ReplaceAll(string(value), "\n", " ")
	}
	s := string(util.UnescapePunctuations(value))
	if n.SoftLineBreak() || n.HardLineBreak() {
		last := []rune(s)
		if len(last) == 0 || !isHan(last[len(last)-1]) && !strings.ContainsRune("，。；：、）", last[len(last)-1]) {
			s += " "
		}
	}
	return s
}

func (p *Page) has(id string) bool {
	return p.Shows(id) || slices.Contains(p.items, id) ||
		slices.ContainsFunc(p.headings, func(h Heading) bool { return h.ID == id })
}

// Plain returns the paragraphs, lists and code of the page as text.
func (p *Page) Plain() string {
	same := func(s string) string { return s }
	w := &writer{Page: p}
	w.as = style{text: same, code: same, literal: same, link: func(n *ast.Link) string { return w.spans(n) },
		heading:   func(h *ast.Heading) string { return w.spans(h) + "\n" },
		item:      func(string) [2]string { return [2]string{"- ", "\n"} },
		paragraph: [2]string{"", "\n"}, fencedBlock: [2]string{"", "\n"}, block: func(*block) {}, lineBreak: "\n"}
	w.blocks(p.root)
	return strings.TrimSpace(w.b.String())
}

// Source returns the page as it was filled.
func (p *Page) Source() string { return string(p.source) }
