package output

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Line returns text in one line that a terminal shows as it is. Lines are joined by semicolons. Control
// characters, marks that change the direction of writing, and bytes that are no UTF-8 are escaped as in Go.
func Line(text string) string {
	text = strings.ReplaceAll(strings.TrimSpace(text), "\r\n", "\n")
	return escape(strings.ReplaceAll(text, "\n", "; "), "")
}

// Cell returns text as a cell of a CSV file has it, in one Line. A spreadsheet evaluates a text that begins with =, +, -
// or @ as a formula. Such a text gets an apostrophe before it unless it is a number.
func Cell(text string) string {
	if text = Line(text); text == "" || strings.IndexByte("=+-@", text[0]) < 0 {
		return text
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return text
	}
	return "'" + text
}

// escape escapes what is not shown, except for the characters that are kept.
func escape(text, kept string) string {
	if strings.IndexFunc(text, func(r rune) bool { return r == utf8.RuneError || !unicode.IsGraphic(r) }) < 0 {
		return text
	}
	var b strings.Builder
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case unicode.IsGraphic(r) || strings.ContainsRune(kept, r):
			b.WriteRune(r)
		case r < ' ':
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		default: // as JSON has it, in which it may stand
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		}
		text = text[size:]
	}
	return b.String()
}

// Screen is a writer for text that a terminal may show: line ends and tabs are kept, the rest is escaped as by Line. A
// Write must not end within a character.
type Screen struct{ io.Writer }

// Write implements io.Writer.
func (s Screen) Write(p []byte) (int, error) {
	_, err := io.WriteString(s.Writer, escape(string(p), "\n\t"))
	return len(p), err
}

// Lines is a writer for messages: each Write is one, in one line as by Line.
type Lines struct{ io.Writer }

// Write implements io.Writer.
func (l Lines) Write(p []byte) (int, error) {
	_, err := io.WriteString(l.Writer, Line(string(p))+"\n")
	return len(p), err
}

// Table writes rows whose columns are aligned. A cell is one Line, so no text can add cells or rows.
type Table struct{ *tabwriter.Writer }

// NewTable returns a table with the head. Without a head it begins with the first row.
func NewTable(out io.Writer, head ...any) Table {
	t := Table{tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)}
	if len(head) > 0 {
		t.Row(head...)
	}
	return t
}

// Row adds a row. Flush returns the error of writing.
func (t Table) Row(cells ...any) {
	for i, cell := range cells {
		if i > 0 {
			_, _ = t.Write([]byte{'\t'})
		}
		_, _ = io.WriteString(t, Line(fmt.Sprint(cell)))
	}
	_, _ = t.Write([]byte{'\n'})
}
