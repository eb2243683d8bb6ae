package page

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	headingLine = regexp.MustCompile(`^(#+) (.*?) \{#([^}]*)\}$`)
	figureLine  = regexp.MustCompile(`^!\[(.*)\]\(figures/([^/)]+)\.svg\)$`)
	itemLine    = regexp.MustCompile(`^(\s*(?:[-*+]|\d+\.) )\{#([\w-]+)\} ?`)
	fenceLine   = regexp.MustCompile("^(`{3,})((algorithm|fold) (.*))?")
	linked      = regexp.MustCompile("``.+?``|`[^`]+`|(!?)\\[((?:`[^`]*`|\\\\.|[^\\]\\\\`])*)\\]\\(([^)\\s]*)\\)")
)

// Markdown writes the page as GitHub-flavoured Markdown: the filled template with anchors, numbers of figures, tables
// and algorithms, and the table of contents.
func (p *Page) Markdown(w io.Writer) error {
	b := bufio.NewWriter(w)
	var fence, end string
	figures, tables, algorithms := 0, 0, 0
	stop := strings.TrimSpace(p.Words.Stop)
	cover := p.Cover
	for line := range strings.Lines(strings.TrimSpace(string(p.source)) + "\n") {
		line = strings.TrimSuffix(line, "\n")
		if fence != "" {
			if line == fence {
				fence = ""
				line += end
			}
			fmt.Fprintln(b, line)
			continue
		}
		if m := fenceLine.FindStringSubmatch(line); m != nil {
			fence, end = m[1], ""
			switch m[3] {
			case "algorithm":
				algorithms++
				fmt.Fprintf(b, "**%s %d%s** %s\n\n%s\n", p.Words.Algorithm, algorithms, stop, Code(m[4]), fence)
				continue
			case "fold":
				end = "\n\n</details>"
				fmt.Fprintf(b, "<details><summary>%s</summary>\n\n%s\n", escapeHTML(m[4]), fence)
				continue
			}
		}
		if m := headingLine.FindStringSubmatch(line); m != nil {
			fmt.Fprintf(b, "<a id=\"%s\"></a>\n\n%s %s\n", m[3], m[1], m[2])
			continue
		}
		line = itemLine.ReplaceAllString(linked.ReplaceAllStringFunc(line, p.link), `$1<a id="$2"></a>`)
		if m := figureLine.FindStringSubmatch(line); m != nil {
			figures++
			name := fmt.Sprintf("%s %d", p.Words.Figure, figures)
			fmt.Fprintf(b, "![%s](figures/%s.svg)\n\n**%s%s** %s\n", name, m[2], name, stop, m[1])
			continue
		}
		if mark := captions.FindString(line); mark != "" {
			tables++
			line = fmt.Sprintf("**%s %d%s** %s", p.Words.Table, tables, stop, strings.TrimPrefix(line, mark))
		}
		if line == "[TOC]" {
			fmt.Fprintf(b, "**%s**\n\n", p.Words.Contents)
			for _, h := range p.headings {
				if h.Level <= 2 {
					fmt.Fprintf(b, "%s- [%s](#%s)\n", strings.Repeat("  ", h.Level-1), Escape(h.Title), h.ID)
				}
			}
			continue
		}
		fmt.Fprintln(b, line)
		if strings.HasPrefix(line, "# ") {
			for _, f := range cover {
				fmt.Fprintf(b, "\n**%s**: %s\n", Escape(f.Name), Escape(f.Value))
			}
			cover = nil
		}
	}
	return b.Flush()
}

// link returns a link, or another span of a line, as it is written. A link that leads nowhere is text.
func (p *Page) link(span string) string {
	m := linked.FindStringSubmatch(span)
	label, to := m[2], m[3]
	image := m[1] != ""
	if to == "" || remote(to) || image && (p.Folder == "" || strings.HasPrefix(to, "figures/")) {
		return span
	}
	section, inAppendix := strings.CutPrefix(to, "appendix#")
	id, here := strings.CutPrefix(to, "#")
	switch {
	case inAppendix && p.Folder == "":
		return fmt.Sprintf("[%s](report-appendix.md#%s)", label, section)
	case inAppendix, here && !bytes.Contains(p.source, []byte("{#"+id+"}")):
		return label
	case here:
		return span
	case p.Folder == "" && strings.Trim(label, "`") == to:
		return "`" + to + "`"
	case p.Folder == "":
		return fmt.Sprintf("%s (`%s`)", label, to)
	}
	file, place, _ := strings.Cut(to, "#")
	if rel, err := filepath.Rel(filepath.FromSlash(p.Folder), filepath.FromSlash(file)); err == nil {
		to = filepath.ToSlash(rel)
	}
	if place != "" {
		to += "#" + place
	}
	return fmt.Sprintf("%s[%s](%s)", m[1], label, to)
}
