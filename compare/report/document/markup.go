package document

import "strings"

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

// parse returns the spans of t. A marker without its partner, and a link without
// a target, are text.
func parse(t Text) []span { return parseSpans(string(t), true) }

// parseSpans parses s, links only where they may be: a link holds no other.
func parseSpans(s string, links bool) []span {
	var spans []span
	var text strings.Builder
	add := func(sp span) {
		if text.Len() > 0 {
			spans = append(spans, span{kind: plain, text: text.String()})
			text.Reset()
		}
		spans = append(spans, sp)
	}
	for i := 0; i < len(s); {
		rest := s[i:]
		switch {
		case rest[0] == '\\' && len(rest) > 1:
			text.WriteByte(rest[1])
			i += 2
			continue
		case rest[0] == '`':
			if end := find(rest, 1, "`", true); end > 0 {
				add(span{kind: literal, text: unescape(rest[1:end])})
				i += end + 1
				continue
			}
		case strings.HasPrefix(rest, "**"):
			if end := find(rest, 2, "**", false); end > 2 {
				add(span{kind: strong, inner: parseSpans(rest[2:end], links)})
				i += end + 2
				continue
			}
		case rest[0] == '*':
			if end := find(rest, 1, "*", false); end > 1 {
				add(span{kind: emphasis, inner: parseSpans(rest[1:end], links)})
				i += end + 1
				continue
			}
		case rest[0] == '[' && links:
			middle := find(rest, 1, "](", false)
			if middle < 0 {
				break
			}
			if end := find(rest, middle+2, ")", true); end > middle+2 {
				add(span{kind: linked, inner: parseSpans(rest[1:middle], false), target: unescape(rest[middle+2 : end])})
				i += end + 1
				continue
			}
		}
		text.WriteByte(rest[0])
		i++
	}
	if text.Len() > 0 {
		spans = append(spans, span{kind: plain, text: text.String()})
	}
	return spans
}

// find returns the index in s, from on, of the marker, or -1. It passes over
// escaped characters and, unless all is literal, over literal text.
func find(s string, from int, marker string, all bool) int {
	for i := from; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case marker == "*" && strings.HasPrefix(s[i:], "**"):
			i++ // not emphasis
		case marker == "**" && strings.HasPrefix(s[i:], "***"):
			// The first asterisk ends emphasis within.
		case strings.HasPrefix(s[i:], marker):
			return i
		case s[i] == '`' && !all:
			if end := find(s, i+1, "`", true); end > 0 {
				i = end
			}
		}
	}
	return -1
}

// unescape takes the backslashes out of s.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
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

// remote reports whether a link points to a URL.
func (s span) remote() bool {
	return strings.HasPrefix(s.target, "https://") || strings.HasPrefix(s.target, "http://")
}

var escaper = strings.NewReplacer(`\`, `\\`, "`", "\\`", `*`, `\*`, `[`, `\[`, `]`, `\]`)

// Escape returns data as markup that means just its characters.
func Escape(data string) Text { return Text(escaper.Replace(data)) }

// Literal returns data as markup of literal text.
func Literal(data string) Text { return "`" + Escape(data) + "`" }

// Link returns a link to a section, a file of the repository or a URL.
func Link(label Text, target string) Text { return "[" + label + "](" + Text(target) + ")" }

// Join returns texts with a mark between them.
func Join(texts []Text, mark Text) Text {
	parts := make([]string, len(texts))
	for i, t := range texts {
		parts[i] = string(t)
	}
	return Text(strings.Join(parts, string(mark)))
}
