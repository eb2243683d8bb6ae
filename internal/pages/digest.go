package pages

import (
	"regexp"
	"slices"
	"strings"

	"gemm/compare/report/document"
)

// always are the tables that a page has whatever their length.
var always = []string{"table-machine", "table-runs"}

// longestTable is how many rows a table of a digest has at most: longer ones are left
// to the whole report.
const longestTable = 12

// digest says what a page keeps of a report. It keeps the text and the short tables of some
// sections, and some figures and tables of any section. IDs are without the host.
type digest struct {
	sections []string
	figures  []string
	tables   []string
}

// of returns the part of r that d keeps, without the commands that measure it again.
// A link to a section that is not kept becomes its label.
func (d digest) of(r document.Report) document.Report {
	out := r
	out.Sections = nil
	for _, s := range r.Sections {
		kept := s
		kept.Blocks = nil
		whole := slices.Contains(d.sections, withoutHost(s.ID))
		for _, b := range s.Blocks {
			if b = d.block(b, whole); b != nil {
				kept.Blocks = append(kept.Blocks, b)
			}
		}
		if len(kept.Blocks) > 0 {
			out.Sections = append(out.Sections, kept)
		}
	}
	raise(out.Sections)
	unlinked(out.Sections)
	return out
}

// unlinked replaces links to what is not in the sections by their labels.
func unlinked(sections []document.Section) {
	ids := map[string]bool{}
	for _, s := range sections {
		ids[s.ID] = true
		for _, b := range s.Blocks {
			if f, ok := b.(document.Figure); ok {
				ids[f.ID] = true
			}
			if t, ok := b.(document.Table); ok {
				ids[t.ID] = true
			}
			if l, ok := b.(document.List); ok {
				for _, id := range l.IDs {
					ids[id] = true
				}
			}
			if a, ok := b.(document.Algorithms); ok {
				for _, item := range a.Items {
					ids[item.ID] = true
				}
			}
			if l, ok := b.(document.Listing); ok {
				ids[l.ID] = true
			}
		}
	}
	for _, s := range sections {
		for i, b := range s.Blocks {
			s.Blocks[i] = unlink(b, ids)
		}
	}
}

// block returns what d keeps of a block, nil if nothing.
func (d digest) block(b document.Block, whole bool) document.Block {
	switch b := b.(type) {
	case document.Figure:
		b.Command = ""
		if slices.Contains(d.figures, withoutHost(b.ID)) {
			return b
		}
		return nil
	case document.Table:
		b.Command = ""
		id := withoutHost(b.ID)
		short := len(b.Rows) <= longestTable || slices.Contains(always, id)
		if whole && short || slices.Contains(d.tables, id) {
			return b
		}
		return nil
	}
	if whole {
		return b
	}
	return nil
}

// raise makes every section a chapter whose chapter is not kept.
func raise(sections []document.Section) {
	chapter := false
	for i, s := range sections {
		switch {
		case s.Level == 1:
			chapter = s.ID != "summary"
		case !chapter:
			sections[i].Level = 1
		}
	}
}

var link = regexp.MustCompile(`\[([^\]]*)\]\((?:appendix)?#([^)]*)\)`)

// unlink returns b with the links to sections outside of ids replaced by their labels.
func unlink(b document.Block, ids map[string]bool) document.Block {
	plain := func(t document.Text) document.Text {
		return document.Text(link.ReplaceAllStringFunc(string(t), func(s string) string {
			m := link.FindStringSubmatch(s)
			if ids[m[2]] && !strings.Contains(s, "](appendix#") {
				return s
			}
			return m[1]
		}))
	}
	switch b := b.(type) {
	case document.Paragraph:
		b.Text = plain(b.Text)
		return b
	case document.List:
		items := slices.Clone(b.Items)
		for i := range items {
			items[i] = plain(items[i])
		}
		b.Items = items
		return b
	case document.Figure:
		b.Caption = plain(b.Caption)
		return b
	case document.Table:
		b.Caption = plain(b.Caption)
		rows := slices.Clone(b.Rows)
		for i := range rows {
			cells := slices.Clone(rows[i].Cells)
			for j := range cells {
				cells[j] = plain(cells[j])
			}
			rows[i].Cells = cells
		}
		b.Rows = rows
		return b
	}
	return b
}

var hostSuffix = regexp.MustCompile(`-[0-9a-f]{8}$`)

// withoutHost returns an ID without the host that it ends with, if there are several.
func withoutHost(id string) string { return strings.TrimSpace(hostSuffix.ReplaceAllString(id, "")) }
