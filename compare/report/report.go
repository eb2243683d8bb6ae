// Package report renders records. It measures nothing: every rendering is a pure
// function of a compare.Document, and the same records give the same bytes.
//
// Build turns records into a Report, the words and tables of every format in
// reading order; Drawings turns them into figures; one file a format writes
// them out.
package report

// Report is the content of a rendering, independent of its format.
type Report struct {
	Lang     string // en, zh
	Title    string
	Subtitle string
	Sections []Section
	Figures  string // the folder of the figures; empty: figures
}

// Section is a titled run of blocks. Level 1 is a chapter.
type Section struct {
	ID     string // anchor, unique in the report
	Title  string
	Level  int
	Blocks []Block
}

// Block is a Paragraph, List, Table, Figure or Code.
type Block interface{ block() }

// Text is prose with inline markup: `code`, *emphasis*, **strong** and
// [label](target), where a target is #section, a path in the repository or a URL.
// A backslash takes the meaning from the character that follows.
type Text string

// Paragraph is a paragraph of prose.
type Paragraph struct{ Text Text }

// List is a bulleted or numbered list.
type List struct {
	Ordered bool
	Items   []Text
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

func (Paragraph) block() {}
func (List) block()      {}
func (Table) block()     {}
func (Figure) block()    {}
func (Code) block()      {}
