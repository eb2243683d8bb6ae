package matfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"gemm"
	"gemm/gf256"
	"gemm/half"
)

// The format is described in Boisvert, Pozo and Remington, The Matrix Market
// Exchange Formats: Initial Design, NISTIR 5935, 1996.

// mtxBody describes the entries of a .mtx file.
type mtxBody struct {
	coordinate bool   // each line has row, column and value; otherwise a value, column by column
	pattern    bool   // no values: every entry is 1
	integer    bool   // the values are integers
	symmetry   string // general, symmetric, skew-symmetric
	entries    int
}

// lines reads a text line by line and counts the lines.
type lines struct {
	text   *bufio.Reader
	number int // of the last line read, from 1
}

// next returns the fields of the next line that is neither empty nor a comment, and nil at the end. The
// first line begins like a comment but is not one. A comment may have any length, another line at most
// the size of the reader's buffer.
func (l *lines) next() ([]string, error) {
	for {
		line, err := l.text.ReadSlice('\n')
		if err == io.EOF && len(line) == 0 {
			return nil, nil
		}
		l.number++
		comment := l.number > 1 && bytes.HasPrefix(bytes.TrimSpace(line), []byte("%"))
		for comment && errors.Is(err, bufio.ErrBufferFull) {
			_, err = l.text.ReadSlice('\n')
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("line %d is longer than %d bytes; the file is corrupt", l.number, l.text.Size())
		case err != nil && err != io.EOF:
			return nil, err
		}
		if fields := strings.Fields(string(line)); len(fields) > 0 && !comment {
			return fields, nil
		}
	}
}

// mtxStart reads the banner and the size line. It returns them and a reader of the lines after them.
func mtxStart(data *io.SectionReader) (banner, sizes []string, l *lines, err error) {
	text, err := textReader(data)
	if err != nil {
		return nil, nil, nil, err
	}
	l = &lines{text: text}
	if banner, err = l.next(); err == nil {
		sizes, err = l.next()
	}
	return banner, sizes, l, err
}

func (f *File) parseMTX() error {
	banner, sizes, l, err := mtxStart(f.data)
	if err != nil {
		return err
	}
	if len(banner) != 5 || !strings.EqualFold(banner[0], "%%MatrixMarket") || !strings.EqualFold(banner[1], "matrix") {
		return errors.New("line 1: does not read %%MatrixMarket matrix FORMAT FIELD SYMMETRY; the file is no .mtx")
	}
	format, field := strings.ToLower(banner[2]), strings.ToLower(banner[3])
	body := mtxBody{
		coordinate: format == "coordinate", pattern: field == "pattern",
		integer: field == "integer" || field == "unsigned-integer", symmetry: strings.ToLower(banner[4]),
	}
	switch {
	case format != "coordinate" && format != "array":
		return fmt.Errorf("line 1: format %q is neither coordinate nor array", banner[2])
	case field != "real" && field != "integer" && field != "unsigned-integer" && !body.pattern:
		return fmt.Errorf("line 1: field %q is none of real, integer, pattern; only real matrices are multiplied", banner[3])
	case body.pattern && !body.coordinate:
		return errors.New("line 1: an array has values, so that its field cannot be pattern")
	case body.symmetry != "general" && body.symmetry != "symmetric" && body.symmetry != "skew-symmetric":
		return fmt.Errorf("line 1: symmetry %q is none of general, symmetric, skew-symmetric", banner[4])
	}

	want := "ROWS COLUMNS"
	if body.coordinate {
		want += " ENTRIES"
	}
	numbers := make([]int, len(sizes))
	for i, text := range sizes {
		if numbers[i], err = strconv.Atoi(text); err != nil || numbers[i] < 0 {
			return fmt.Errorf("line %d: %q is not a size; the line wants %s", l.number, text, want)
		}
	}
	if len(numbers) != len(strings.Fields(want)) {
		return fmt.Errorf("line %d: %d sizes, expected %s", l.number, len(numbers), want)
	}
	f.Rows, f.Cols, f.Type = numbers[0], numbers[1], "f64"
	if err := checkShape(f.Rows, f.Cols); err != nil {
		return fmt.Errorf("line %d: %w", l.number, err)
	}
	if body.symmetry != "general" && f.Rows != f.Cols {
		return fmt.Errorf("line %d: a %s matrix is square, this one is %d×%d", l.number, body.symmetry, f.Rows, f.Cols)
	}
	shortest := 2 // bytes of an entry: "1\n"
	switch {
	case body.coordinate:
		body.entries, shortest = numbers[2], 4 // "1 1\n"
	case body.symmetry == "symmetric":
		body.entries = (f.Rows*f.Rows + f.Rows) / 2
	case body.symmetry == "skew-symmetric":
		body.entries = (f.Rows*f.Rows - f.Rows) / 2
	default:
		body.entries = f.Rows * f.Cols
	}
	// The last line may have no line end.
	if int64(body.entries) > (f.data.Size()+1)/int64(shortest) {
		return fmt.Errorf("line %d: %d entries do not fit in a file of %d bytes; it is cut off or corrupt",
			l.number, body.entries, f.data.Size())
	}
	f.body = body
	return nil
}

// readMTX reads the entries into m, which is zero. If several entries of a coordinate file have the same
// place, they are added, as in other programs.
func readMTX[T gemm.Element](f *File, body mtxBody, m gemm.Matrix[T]) error {
	_, _, l, err := mtxStart(f.data)
	if err != nil {
		return err
	}
	width := 1
	if body.coordinate {
		width = 3
		if body.pattern {
			width = 2
		}
	}
	i, j := 0, 0 // the place of the next value of an array
	if body.symmetry == "skew-symmetric" {
		i = 1
	}
	for e := range body.entries {
		fields, err := l.next()
		switch {
		case err != nil:
			return err
		case fields == nil:
			return fmt.Errorf("line %d: the file ends after %d of %d entries; it is cut off", l.number, e, body.entries)
		case len(fields) != width:
			return fmt.Errorf("line %d: %d fields, expected %d", l.number, len(fields), width)
		}
		if body.coordinate {
			if i, err = mtxIndex(fields[0], f.Rows); err == nil {
				j, err = mtxIndex(fields[1], f.Cols)
			}
			if err != nil {
				return fmt.Errorf("line %d: %w", l.number, err)
			}
		}
		text := "1"
		if !body.pattern {
			text = fields[width-1]
		}
		v, err := element[T](f, text)
		if body.integer && err == nil && !isInteger(text) {
			err = fmt.Errorf("%q is not an integer, as the field of the file is", text)
		}
		if err == nil {
			err = put(m, i, j, v, body.symmetry)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", l.number, err)
		}
		if i++; !body.coordinate && i == f.Rows {
			j++
			switch body.symmetry {
			case "general":
				i = 0
			case "symmetric":
				i = j
			default:
				i = j + 1
			}
		}
	}
	if fields, err := l.next(); err != nil {
		return err
	} else if fields != nil {
		return fmt.Errorf("line %d: %q follows the last of %d entries; the file is corrupt", l.number, fields[0],
			body.entries)
	}
	return nil
}

// put adds the entry v in line i and column j, counted from 0, to the matrix m of the given symmetry.
func put[T gemm.Element](m gemm.Matrix[T], i, j int, v T, symmetry string) error {
	skew := symmetry == "skew-symmetric"
	var zero T
	switch {
	case symmetry != "general" && i < j:
		return fmt.Errorf("entry (%d, %d) is above the diagonal; a %s matrix lists what is below", i+1, j+1, symmetry)
	case skew && i == j && v != zero && negative(v) != zero:
		return fmt.Errorf("entry (%d, %d) is %v, but the diagonal of a skew-symmetric matrix is zero", i+1, j+1, v)
	}
	sum := plus(m.At(i, j), v)
	if isInf(sum) && !isInf(m.At(i, j)) && !isInf(v) {
		return fmt.Errorf("the entries (%d, %d) have a sum that is out of the range of %s", i+1, j+1, gemm.TypeOf[T]().Name)
	}
	m.Set(i, j, sum)
	if i != j && symmetry != "general" {
		if skew {
			sum = negative(sum)
		}
		m.Set(j, i, sum)
	}
	return nil
}

func isInteger(text string) bool {
	if strings.HasPrefix(text, "+") || strings.HasPrefix(text, "-") {
		text = text[1:]
	}
	return text != "" && strings.Trim(text, "0123456789") == ""
}

func isInf[T gemm.Element](x T) bool { return math.IsInf(value(x), 0) }

// value returns x as a float64; 0 in the field.
func value[T gemm.Element](x T) float64 {
	switch x := any(x).(type) {
	case float32:
		return float64(x)
	case float64:
		return x
	case half.F16:
		return float64(x.Float32())
	case half.BF16:
		return float64(x.Float32())
	}
	return 0
}

// mtxIndex returns the index, counted from 0, for a text that counts from 1.
func mtxIndex(text string, limit int) (int, error) {
	i, err := strconv.Atoi(text)
	if err != nil || i < 1 || i > limit {
		return 0, fmt.Errorf("index %q is not an integer from 1 to %d", text, limit)
	}
	return i - 1, nil
}

// plus returns x + y. The sum in float64 of narrower numbers has more than twice their digits, so it is rounded once.
func plus[T gemm.Element](x, y T) T {
	if p, ok := any(&x).(*gf256.Elem); ok {
		*p = gf256.Add(*p, any(y).(gf256.Elem))
		return x
	}
	return gemm.FromFloat64[T](value(x) + value(y))
}

// negative returns −x, which is x in the field.
func negative[T gemm.Element](x T) T {
	if _, ok := any(x).(gf256.Elem); ok {
		return x
	}
	return gemm.FromFloat64[T](-value(x))
}

// writeMTX writes m as a general array.
func writeMTX[T gemm.Element](w *bufio.Writer, m gemm.Matrix[T]) error {
	field := "real"
	if gemm.TypeOf[T]().Name == "gf256" {
		field = "integer"
	}
	fmt.Fprintf(w, "%%%%MatrixMarket matrix array %s general\n%d %d\n", field, m.Rows, m.Cols)
	if m.Rows == 0 || m.Cols == 0 {
		return w.Flush()
	}
	var buf []byte
	for j := range m.Cols {
		for i := range m.Rows {
			buf = append(appendElement(buf[:0], m.At(i, j)), '\n')
			w.Write(buf)
		}
	}
	return w.Flush()
}
