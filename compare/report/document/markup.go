package document

import (
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// span is a run of prose of one kind.
type span struct {
	kind   spanKind
	text   string // of plain and literal
	inner  []span // of the others
	target string // of a link
}

type spanKind int

const (
	plain spanKind = iota
	literal
	emphasis
	strong
	linked
)

// inline parses prose: of Markdown it knows literal text, links and emphasis, and no blocks.
var inline = parser.NewParser(
	parser.WithBlockParsers(util.Prioritized(parser.NewParagraphParser(), 100)),
	parser.WithInlineParsers(
		util.Prioritized(parser.NewCodeSpanParser(), 100),
		util.Prioritized(parser.NewLinkParser(), 200),
		util.Prioritized(parser.NewEmphasisParser(), 300),
	),
)

// parse returns the spans of t, which is Markdown (CommonMark 0.31, section 6).
func parse(t Text) []span {
	inner := strings.TrimSpace(string(t))
	if inner == "" {
		return texts(string(t))
	}
	before, after, _ := strings.Cut(string(t), inner) // the parser drops the space around a paragraph
	source := []byte(inner)
	var spans []span
	root := inline.Parse(text.NewReader(source))
	for block := root.FirstChild(); block != nil; block = block.NextSibling() {
		if block != root.FirstChild() {
			spans = append(spans, texts("\n\n")...)
		}
		spans = append(spans, within(block, source)...)
	}
	return slices.Concat(texts(before), spans, texts(after))
}

// texts returns the span of plain text, none if it is empty.
func texts(s string) []span {
	if s == "" {
		return nil
	}
	return []span{{kind: plain, text: s}}
}

// within returns the spans of a node's children.
func within(n ast.Node, source []byte) []span {
	var spans []span
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			s := string(util.UnescapePunctuations(c.Segment.Value(source)))
			if c.SoftLineBreak() || c.HardLineBreak() {
				s += "\n"
			}
			if last := len(spans) - 1; last >= 0 && spans[last].kind == plain {
				spans[last].text += s
				continue
			}
			spans = append(spans, span{kind: plain, text: s})
		case *ast.CodeSpan:
			spans = append(spans, span{kind: literal, text: characters(raw(c, source))})
		case *ast.Emphasis:
			kind := emphasis
			if c.Level == 2 {
				kind = strong
			}
			spans = append(spans, span{kind: kind, inner: within(c, source)})
		case *ast.Link:
			spans = append(spans, span{kind: linked, inner: within(c, source), target: string(util.UnescapePunctuations(c.Destination))})
		case *ast.Image: // which reports have none of
			spans = append(spans, within(c, source)...)
		}
	}
	return spans
}

// raw returns the text of a code span's children, in which nothing is escaped.
func raw(n ast.Node, source []byte) []span {
	var spans []span
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			spans = append(spans, texts(strings.ReplaceAll(string(t.Segment.Value(source)), "\n", " "))...)
		}
	}
	return spans
}

// characters returns what a reader sees of spans.
func characters(spans []span) string {
	var b strings.Builder
	for _, s := range spans {
		b.WriteString(s.text)
		b.WriteString(characters(s.inner))
	}
	return b.String()
}

// internal returns the section that a link points to, if it is one of the report.
func (s span) internal() (id string, ok bool) { return strings.CutPrefix(s.target, "#") }

// beside returns the section of the appendix that a link points to, if it is one.
func (s span) beside() (id string, ok bool) { return strings.CutPrefix(s.target, "appendix#") }

// remote reports whether a link points to a URL.
func (s span) remote() bool {
	return strings.HasPrefix(s.target, "https://") || strings.HasPrefix(s.target, "http://")
}

var escaper = strings.NewReplacer(`\`, `\\`, "`", "\\`", `*`, `\*`, `[`, `\[`, `]`, `\]`)

// Escape returns data, as one line, as markup that means just its characters.
func Escape(data string) Text {
	var b strings.Builder
	before := ' '
	text := []rune(escaper.Replace(oneLine(data)))
	for i, r := range text {
		// Within a word an underscore means itself.
		if r == '_' && !(wordly(before) && i+1 < len(text) && wordly(text[i+1])) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
		before = r
	}
	return Text(b.String())
}

// wordly reports whether r is part of a word.
func wordly(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// oneLine returns data with a space for each character that is not shown, such as a control character.
func oneLine(data string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return ' '
		}
		return r
	}, data)
}

// Literal returns data, as one line, as markup of literal text, in a fence longer than any in it.
func Literal(data string) Text {
	data = oneLine(data)
	if data == "" {
		return ""
	}
	fence := "`"
	for strings.Contains(data, fence) {
		fence += "`"
	}
	pad := ""
	if edges := data[:1] + data[len(data)-1:]; strings.Contains(edges, "`") || edges == "  " && strings.TrimSpace(data) != "" {
		pad = " "
	}
	return Text(fence + pad + data + pad + fence)
}

var targets = strings.NewReplacer(`\`, `\\`, `<`, `\<`, `>`, `\>`)

// Link returns a link to a section, a file of the repository or a URL.
func Link(label Text, target string) Text {
	if strings.ContainsAny(target, " ()<>\\") {
		target = "<" + targets.Replace(target) + ">"
	}
	return "[" + label + "](" + Text(target) + ")"
}

// Join returns texts with a mark between them.
func Join(texts []Text, mark Text) Text {
	parts := make([]string, len(texts))
	for i, t := range texts {
		parts[i] = string(t)
	}
	return Text(strings.Join(parts, string(mark)))
}
