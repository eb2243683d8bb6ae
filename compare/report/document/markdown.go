package document

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// Markdown writes r as GitHub-flavoured Markdown. Figures are shown from
// <id>.svg in the report's folder of figures.
func Markdown(w io.Writer, r Report) error {
	words := r.Words
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "# %s\n", markdownText(r.Title))
	if r.Subtitle != "" {
		fmt.Fprintf(b, "\n%s\n", markdownLine(markdownText(r.Subtitle)))
	}
	for _, f := range r.Cover {
		fmt.Fprintf(b, "\n**%s**: %s\n", markdownText(f.Name), markdownText(f.Value))
	}
	figures, tables, algorithms, listings := 0, 0, 0, 0
	for i, s := range r.Sections {
		if i == r.Opening {
			markdownContents(b, r)
		}
		fmt.Fprintf(b, "\n<a id=\"%s\"></a>\n\n%s %s\n", s.ID, strings.Repeat("#", min(s.Level+1, 6)), markdownText(s.Title))
		for _, block := range s.Blocks {
			b.WriteString("\n")
			command := ""
			switch block := block.(type) {
			case Paragraph:
				fmt.Fprintf(b, "%s\n", markdownLine(markdownSpans(parse(block.Text))))
			case List:
				for i, item := range block.Items {
					mark := "- "
					if block.Ordered {
						mark = fmt.Sprintf("%d. ", i+1)
					}
					if id := block.ID(i); id != "" {
						mark += fmt.Sprintf("<a id=\"%s\"></a>", id)
					}
					fmt.Fprintf(b, "%s%s\n", mark, markdownLine(markdownSpans(parse(item))))
				}
			case Code:
				fence := markdownFence(block.Text, 3)
				fmt.Fprintf(b, "%s\n%s\n%s\n", fence, strings.TrimSuffix(block.Text, "\n"), fence)
			case Figure:
				figures++
				fmt.Fprintf(b, "<a id=\"%s\"></a>\n\n![%s](figures/%s.svg)\n\n**%s %d%s**%s\n",
					block.ID, markdownText(block.Alt), block.ID, words.Figure, figures,
					strings.TrimSpace(words.Stop), " "+markdownSpans(parse(block.Caption)))
				command = block.Command
			case Equation:
				fmt.Fprintf(b, "$$%s \\tag{%d}$$\n", block.TeX, block.Number)
			case Algorithms:
				for i, a := range block.Items {
					if i > 0 {
						b.WriteString("\n")
					}
					algorithms++
					fence := markdownFence(a.Text, 3)
					fmt.Fprintf(b, "<a id=\"%s\"></a>\n\n**%s %d%s** %s\n\n%s\n%s\n%s\n", a.ID, words.Algorithm, algorithms,
						strings.TrimSpace(words.Stop), markdownSpans(parse(a.Title)), fence, strings.TrimSuffix(a.Text,
							"\n"), fence)
				}
			case Listing:
				listings++
				fence := markdownFence(block.Text, 3)
				fmt.Fprintf(b, "<a id=\"%s\"></a>\n\n**%s %d%s** %s\n\n%s\n%s\n%s\n", block.ID, words.Listing, listings,
					strings.TrimSpace(words.Stop), markdownSpans(parse(block.Caption)), fence, strings.TrimSuffix(block.Text,
						"\n"), fence)
			case Table:
				tables++
				fmt.Fprintf(b, "<a id=\"%s\"></a>\n\n**%s %d%s**%s\n\n",
					block.ID, words.Table, tables, strings.TrimSpace(words.Stop), " "+markdownSpans(parse(block.Caption)))
				markdownTable(b, block)
				command = block.Command
			}
			if r.shown(command) != "" {
				fmt.Fprintf(b, "\n%s%s\n", words.Again, markdownCode(command))
			}
		}
	}
	return b.Flush()
}

// markdownContents writes the table of contents.
func markdownContents(b *bufio.Writer, r Report) {
	fmt.Fprintf(b, "\n**%s**\n\n", r.Words.Contents)
	for _, s := range r.Sections {
		if s.Level <= 2 {
			fmt.Fprintf(b, "%s- [%s](#%s)\n", strings.Repeat("  ", s.Level-1), markdownText(s.Title), s.ID)
		}
	}
}

// markdownTable writes the rows of t between pipes.
func markdownTable(b *bufio.Writer, t Table) {
	row := func(cells []string) {
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
	}
	var heads, rules []string
	for _, c := range t.Columns {
		heads = append(heads, markdownCell(markdownText(c.Title)))
		rule := ":--"
		if c.Numeric {
			rule = "--:"
		}
		rules = append(rules, rule)
	}
	row(heads)
	row(rules)
	for _, r := range t.Rows {
		cells := make([]string, len(r.Cells))
		for i, cell := range r.Cells {
			cells[i] = markdownCell(markdownSpans(parse(cell)))
			if cells[i] != "" && (r.Class == "wrong" || r.Class == "best") {
				cells[i] = markdownCell(markdownSpans([]span{{kind: strong, inner: parse(cell)}}))
			}
		}
		row(cells)
	}
}

// markdownSpans returns spans as Markdown.
func markdownSpans(spans []span) string {
	var b strings.Builder
	for _, s := range spans {
		switch s.kind {
		case plain:
			b.WriteString(markdownText(s.text))
		case literal:
			b.WriteString(markdownCode(s.text))
		case emphasis:
			b.WriteString("*" + markdownSpans(s.inner) + "*")
		case strong:
			// What is strong already within is not marked twice.
			b.WriteString("**" + markdownSpans(without(s.inner, strong)) + "**")
		case linked:
			if _, ok := s.internal(); ok {
				b.WriteString("[" + markdownSpans(s.inner) + "](" + s.target + ")")
			} else if id, ok := s.beside(); ok {
				b.WriteString("[" + markdownSpans(s.inner) + "](report-appendix.md#" + id + ")")
			} else if s.remote() {
				b.WriteString("[" + markdownSpans(s.inner) + "](<" + s.target + ">)")
			} else {
				b.WriteString(markdownSpans(inRepository(s)))
			}
		}
	}
	return b.String()
}

// without returns spans in which every span of the kind is replaced by its contents.
func without(spans []span, kind spanKind) []span {
	var out []span
	for _, s := range spans {
		s.inner = without(s.inner, kind)
		if s.kind == kind {
			out = append(out, s.inner...)
		} else {
			out = append(out, s)
		}
	}
	return slices.Clip(out)
}

var (
	markdownSpecial = regexp.MustCompile("[\\\\`*_\\[\\]<>|~&$]")
	markdownPipe    = regexp.MustCompile(`\\?\|`)
	markdownBegin   = regexp.MustCompile(`^(\s*)([#+\-=:]|\d+[.)])`)
)

// markdownText returns s with what Markdown would take for a mark escaped.
func markdownText(s string) string {
	return markdownSpecial.ReplaceAllString(strings.ReplaceAll(s, "\n", " "), `\$0`)
}

// markdownLine returns s, already Markdown, so that its beginning is not taken for
// a heading, a rule or a list.
func markdownLine(s string) string {
	return markdownBegin.ReplaceAllStringFunc(s, func(begin string) string {
		return begin[:len(begin)-1] + `\` + begin[len(begin)-1:]
	})
}

// markdownCell returns s, already Markdown, as a cell of a table. A pipe ends the
// cell even in literal text.
func markdownCell(s string) string {
	return markdownPipe.ReplaceAllString(s, `\|`)
}

// markdownCode returns s as literal text.
func markdownCode(s string) string {
	s = strings.ReplaceAll(s, "\n", " ")
	fence := markdownFence(s, 1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return fence + s + fence
}

// markdownFence returns the shortest run of at least n backquotes that is not in s.
func markdownFence(s string, n int) string {
	for {
		fence := strings.Repeat("`", n)
		if !strings.Contains(s, fence) {
			return fence
		}
		n++
	}
}
