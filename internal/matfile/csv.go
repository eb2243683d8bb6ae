package matfile

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"gemm"
)

// The format is RFC 4180, with some extensions: lines that begin with # are comments, empty lines are
// skipped, and blanks around a number and a byte order mark are ignored. There is no line of column
// titles.

// csvBody marks a .csv file; there is no header to remember.
type csvBody struct{}

// csvReader returns a reader at the beginning of data.
func csvReader(data *io.SectionReader) (*csv.Reader, error) {
	text, err := textReader(data)
	if err != nil {
		return nil, err
	}
	r := csv.NewReader(text)
	r.Comment = '#'
	r.ReuseRecord = true
	r.TrimLeadingSpace = true
	return r, nil
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
		return errors.New("has no rows; write numbers separated by commas, a row a line")
	}
	f.Type, f.body = "f64", csvBody{}
	return checkShape(f.Rows, f.Cols)
}

// readCSV reads the elements into m.
func readCSV[T gemm.Element](f *File, _ csvBody, m gemm.Matrix[T]) error {
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
