// Package document has the content of a report, which is independent of its format, and a
// writer for each format: Markdown, HTML and TeX. It knows nothing of records. The same
// content gives the same bytes.
package document

import (
	"slices"
	"strings"
)

// Report is the content of a rendering, independent of its format.
type Report struct {
	Lang     string // en, zh
	Title    string
	Subtitle string
	Cover    []Field // of the cover page; empty: there is none
	Author   string  // empty: not known
	Opening  int     // the number of sections before the table of contents
	Copied   bool    // commands are for copying in formats that can, and left out of others
	Sections []Section
	Words    Words
}

// Field is a line of the cover page.
type Field struct{ Name, Value string }

// Words are the words that writers add to a report.
type Words struct {
	Contents  string           // the heading of the table of contents
	Again     string           // stands before a command
	Figure    string           // stands before the number of a figure
	Table     string           // stands before the number of a table
	Stop      string           // stands between that number and the caption
	Algorithm string           // stands before the number of an algorithm
	Listing   string           // stands before the number of a listing
	Copy      string           // labels the button that copies a command
	Filter    string           // labels the field that filters the rows of a long table
	Rows      func(int) string // names a number of rows
}

// Section is a titled run of blocks. Level 1 is a chapter.
type Section struct {
	ID     string // anchor, unique in the report
	Title  string
	Level  int
	Blocks []Block
}

// Block is a Paragraph, List, Table, Figure, Code, Equation, Algorithms or Listing.
type Block interface{ block() }

// Text is prose with inline markup: `code`, *emphasis*, **strong** and
// [label](target), where a target is #section, appendix#section, a path in the repository or a
// URL. A backslash takes the meaning from the character that follows.
type Text string

// Paragraph is a paragraph of prose.
type Paragraph struct{ Text Text }

// List is a bulleted or numbered list.
type List struct {
	Ordered bool
	Items   []Text
	IDs     []string // anchors of the items; none: empty
}

// ID returns the anchor of an item, empty if it has none.
func (l List) ID(i int) string {
	if i < len(l.IDs) {
		return l.IDs[i]
	}
	return ""
}

// Table is a table with a caption.
type Table struct {
	ID      string
	Caption Text
	Columns []Column
	Rows    []Row
	Command string // that measures the rows again; empty: none
}

// Column is the head of a column. Numeric columns are aligned to the right.
type Column struct {
	Title   string
	Numeric bool
}

// Row is one row of a table. Class marks it: "", "wrong", "muted" or "best".
type Row struct {
	Cells []Text
	Class string
}

// Figure shows the drawing of the same ID.
type Figure struct {
	ID      string
	Caption Text
	Alt     string // what the figure shows, for those who cannot see it
	Command string // that measures it again
}

// Code is a literal block.
type Code struct{ Text string }

// Equation is a displayed formula in TeX's notation. Its number is the one that the text refers to.
type Equation struct {
	Number int
	TeX    string
}

// Algorithms are algorithms as pseudo-code, side by side where there is room. Writers number them.
type Algorithms struct{ Items []Algorithm }

// Algorithm is the pseudo-code of one variant.
type Algorithm struct {
	ID    string // anchor
	Title Text
	Text  string // literal
}

// Listing is an excerpt of source. Writers number it.
type Listing struct {
	ID      string // anchor
	Caption Text
	Text    string // literal
}

func (Paragraph) block()  {}
func (List) block()       {}
func (Table) block()      {}
func (Figure) block()     {}
func (Code) block()       {}
func (Equation) block()   {}
func (Algorithms) block() {}
func (Listing) block()    {}

// shown returns a command as formats that cannot copy it have it.
func (r Report) shown(command string) string {
	if r.Copied {
		return ""
	}
	return command
}

// Shows reports whether a figure of r has the ID.
func (r Report) Shows(id string) bool {
	return slices.ContainsFunc(r.Sections, func(s Section) bool {
		return slices.ContainsFunc(s.Blocks, func(b Block) bool {
			f, ok := b.(Figure)
			return ok && f.ID == id
		})
	})
}

// Add appends sections.
func (r *Report) Add(sections ...Section) { r.Sections = append(r.Sections, sections...) }

// Add appends blocks.
func (s *Section) Add(blocks ...Block) { s.Blocks = append(s.Blocks, blocks...) }

// Text adds a paragraph.
func (s *Section) Text(t Text) { s.Add(Paragraph{t}) }

// List adds a bulleted list, unless it is empty.
func (s *Section) List(items []Text) {
	for i, item := range items {
		items[i] = Text(strings.TrimSpace(string(item)))
	}
	if len(items) > 0 {
		s.Add(List{Items: items})
	}
}
