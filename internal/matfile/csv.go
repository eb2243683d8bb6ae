package matfile

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"gemm"
)

// The format is RFC 4180, with some extensions: lines that begin with # are comments, empty lines are skipped, and
// blanks around a number and a byte order mark are ignored. There is no line of column titles. If the first row has
// blanks or tabs between numbers and no comma, they separate numbers in all rows, as numpy.savetxt writes them.

// csvReader returns a reader at the beginning of data.
func csvReader(data *io.SectionReader) (*csv.Reader, error) {
	text, err := textReader(data)
	if err != nil {
		return nil, err
	}
	var in io.Reader = text
	if head, _ := text.Peek(text.Size()); blankRow.Match(head) {
		in = &blanks{lines: text}
	}
	r := csv.NewReader(in)
	r.Comment = '#'
	r.ReuseRecord = true
	r.TrimLeadingSpace = true
	return r, nil
}

// blankRow matches a text, or its beginning, whose first row has two numbers with blanks or tabs between them.
var blankRow = regexp.MustCompile(`\A(?:[ \t]*(?:#.*)?\r?\n)*[ \t]*[^#,"\s][^,"\s]*[ \t]+[^,"\s][^,"\n]*(?:\n|\z)`)

// blanks reads lines with commas in place of blanks and tabs.
type blanks struct {
	lines *bufio.Reader
	line  []byte // that is left
}

func (b *blanks) Read(p []byte) (int, error) {
	if len(b.line) == 0 {
		line, err := b.lines.ReadBytes('\n')
		if len(line) == 0 {
			return 0, err
		}
		b.line = append(bytes.Join(bytes.Fields(line), []byte{','}), '\n')
	}
	n := copy(p, b.line)
	b.line = b.line[n:]
	return n, nil
}

// csvError translates err, the error of reading a row, into an error of this package. The row has the
// given number of fields, and the first row has want.
func csvError(err error, fields, want int) error {
	var fault *csv.ParseError
	switch {
	case !errors.As(err, &fault):
		return err
	case errors.Is(err, csv.ErrFieldCount):
		return fmt.Errorf("line %d: %d numbers, the rows before it have %d", fault.Line, fields, want)
	default:
		return fmt.Errorf("line %d: %w", fault.Line, fault.Err)
	}
}

// parseCSV counts rows and columns.
func (f *File) parseCSV() error {
	r, err := csvReader(f.data)
	if err != nil {
		return err
	}
	for {
		row, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return csvError(err, len(row), f.Cols)
		}
		f.Rows, f.Cols = f.Rows+1, len(row)
	}
	if f.Rows == 0 {
		return errors.New("has no rows; write numbers separated by commas or blanks, a row a line")
	}
	f.Type = "f64"
	return checkShape(f.Rows, f.Cols)
}

func readCSV[T gemm.Element](f *File, m gemm.Matrix[T]) error {
	r, err := csvReader(f.data)
	if err != nil {
		return err
	}
	for i := range f.Rows {
		row, err := r.Read()
		if err != nil {
			return csvError(err, len(row), f.Cols)
		}
		for j, text := range row {
			v, err := element[T](f, strings.TrimSpace(text))
			if err != nil {
				line, _ := r.FieldPos(j)
				return fmt.Errorf("line %d, column %d: %w", line, j+1, err)
			}
			m.Set(i, j, v)
		}
	}
	return nil
}

// writeCSV writes m, one matrix row a line.
func writeCSV[T gemm.Element](w *bufio.Writer, m gemm.Matrix[T]) error {
	if m.Rows == 0 || m.Cols == 0 {
		return fmt.Errorf("CSV cannot say the shape %v; write .npy or .mtx", m)
	}
	var buf []byte
	for i := range m.Rows {
		buf = buf[:0]
		for _, v := range m.Row(i) {
			buf = append(appendElement(buf, v), ',')
		}
		buf[len(buf)-1] = '\n'
		w.Write(buf)
	}
	return w.Flush()
}
