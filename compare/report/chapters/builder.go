// Package chapters has the chapters of reports, one a file: the words that the results of the
// analysis are put into. Builder is what a chapter is given.
package chapters

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/document"
	"gemm/compare/report/listing"
	"gemm/compare/report/text"
)

// Builder builds one report.
type Builder struct {
	*text.Speaker
	Program  string
	Doc      compare.Document
	Views    []*analysis.View
	Excerpts []listing.Excerpt // of the suite's sources; the appendix has none
	drawings map[string]bool   // the figures that there are, by ID
}

// New returns the builder of a report in a language, English by default, with commands that begin
// with program, by default gemm. It has the figures of drawings.
func New(doc compare.Document, lang, program string, drawings map[string]bool) *Builder {
	return &Builder{
		Speaker:  text.In(cmp.Or(lang, "en")),
		Program:  cmp.Or(program, "gemm"),
		Doc:      doc,
		Views:    analysis.Views(doc),
		drawings: drawings,
	}
}

// Words returns the words that writers add.
func (b *Builder) Words() document.Words {
	return document.Words{
		Contents: b.Plain("words.contents"), Again: b.Plain("words.again"),
		Figure: b.Plain("words.figure"), Table: b.Plain("words.table"), Algorithm: b.Plain("words.algorithm"),
		Listing: b.Plain("words.listing"), Copy: b.Plain("words.copy"), Stop: b.Plain("words.stop"), Filter: b.Plain("words.filter"),
		Rows: func(n int) string { return string(b.Count("rows", n)) },
	}
}

// Section returns an empty section with the title of its ID.
func (b *Builder) Section(id string, level int) document.Section {
	return document.Section{ID: id, Title: b.Plain(id + ".title"), Level: level}
}

// Of returns an empty section of one host, titled by key, and by the host where
// there are several.
func (b *Builder) Of(v *analysis.View, id, key string, args ...text.Args) document.Section {
	title := b.Plain(key, args...)
	if v.Suffix != "" {
		title += b.Plain("onhost", text.Args{"Host": b.HostName(v)})
	}
	return document.Section{ID: id + v.Suffix, Title: title, Level: 2}
}

// HostName names a host in prose: by its processor and GPU; if another host has the same, by its
// instruction set too, or else by its ID.
func (b *Builder) HostName(v *analysis.View) string {
	unique := func(name func(*analysis.View) string) bool {
		same := func(other *analysis.View) bool { return other != v && name(other) == name(v) }
		return !slices.ContainsFunc(b.Views, same)
	}
	short := func(v *analysis.View) string { return v.Name() }
	long := func(v *analysis.View) string { return v.Name() + ", " + v.ISA }
	switch {
	case v.Name() == "":
		return v.ID
	case unique(short):
		return short(v)
	case unique(long):
		return long(v)
	}
	return v.Name() + " (" + v.ID + ")"
}

// Attribute begins the captions of figures and tables with the host that they are of, if there are
// several.
func (b *Builder) Attribute(sections []document.Section) {
	for _, v := range b.Views {
		of := func(id string, caption *document.Text) {
			if v.Suffix != "" && strings.HasSuffix(id, v.Suffix) {
				*caption = b.Say("caption.onhost", text.Args{"Host": b.HostName(v), "Caption": *caption})
			}
		}
		for _, s := range sections {
			for i, block := range s.Blocks {
				switch block := block.(type) {
				case document.Figure:
					of(block.ID, &block.Caption)
					s.Blocks[i] = block
				case document.Table:
					of(block.ID, &block.Caption)
					s.Blocks[i] = block
				}
			}
		}
	}
}

// Figure adds the figure of the given ID if there is a drawing for it.
func (b *Builder) Figure(s *document.Section, v *analysis.View, id, key, command string, args ...text.Args) {
	id += v.Suffix
	if b.drawings[id] {
		s.Add(document.Figure{ID: id, Caption: b.Say(key, args...), Alt: b.Plain(key+".alt", args...), Command: command})
	}
}

// Columns returns the heads of columns by their messages; those with a # in front
// are numeric.
func (b *Builder) Columns(keys ...string) []document.Column {
	out := make([]document.Column, len(keys))
	for i, key := range keys {
		name, numeric := strings.CutPrefix(key, "#")
		out[i] = document.Column{Title: b.Plain("col." + name), Numeric: numeric}
	}
	return out
}

// mostListed is the number of square sizes up to which Sizes lists all.
const mostListed = 16

// Sizes returns points as "n = 64, 128" for cubes, followed by the other shapes. Of many cubes it returns
// the first, the last and their number.
func (b *Builder) Sizes(ps []analysis.Problem) document.Text {
	var cubes, others []document.Text
	for _, p := range ps {
		if p.Cube() && p.Label() == fmt.Sprint(p.N) {
			cubes = append(cubes, document.Text(fmt.Sprint(p.N)))
		} else {
			others = append(others, document.Escape(p.Label()))
		}
	}
	if len(cubes) > 0 {
		cubes[0] = "n = " + cubes[0]
	}
	if len(cubes) > mostListed {
		cubes = []document.Text{b.Say("sizes.many", text.Args{"First": cubes[0], "Last": cubes[len(cubes)-1],
			"Count": len(cubes)})}
	}
	return b.Join(append(cubes, others...))
}

// Status returns the word for the outcome of a row.
func (b *Builder) Status(status compare.Status) document.Text {
	return b.Word("status.", string(status))
}
