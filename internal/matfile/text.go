package matfile

import (
	"bufio"
	"bytes"
	"cmp"
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

// Common to .csv and .mtx are the encoding of the text and the syntax of numbers.

// textReader returns a reader of the text in data. It skips a byte order mark.
func textReader(data *io.SectionReader) (*bufio.Reader, error) {
	r := bufio.NewReaderSize(io.NewSectionReader(data, 0, data.Size()), 1<<16)
	start, err := r.Peek(3)
	if err != nil && err != io.EOF {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(start, []byte("\xff\xfe")), bytes.HasPrefix(start, []byte("\xfe\xff")),
		bytes.IndexByte(start, 0) >= 0:
		return nil, errors.New("the text is in UTF-16 or UTF-32; save it in UTF-8")
	case bytes.Equal(start, []byte("\xef\xbb\xbf")):
		r.Discard(len(start))
	}
	return r, nil
}

// element returns the T that text in f denotes.
func element[T gemm.Element](f *File, text string) (v T, err error) {
	if p, ok := any(&v).(*gf256.Elem); ok {
		x, err := strconv.ParseUint(text, 10, 8)
		if err != nil {
			return v, fmt.Errorf("%q is not an integer from 0 to 255, as the field gf256 wants", text)
		}
		*p = gf256.New(uint8(x))
		return v, nil
	}
	bits := 64
	if gemm.TypeOf[T]().Size == 4 {
		bits = 32
	}
	x, err := number(text, bits)
	if err != nil {
		return v, err
	}
	return narrowed[T](f, x, text)
}

// narrowed returns x, which is written as text if that is not empty, as a T. The error says that it becomes another
// kind of number, 0 or an infinity. A small number becomes 0 in half precision, in which a matrix whose other elements
// do not loses nothing by it. It is noted in f: Read returns an error if all elements have become 0.
func narrowed[T gemm.Element](f *File, x float64, text string) (T, error) {
	v, of := gemm.FromFloat64[T](x), gemm.TypeOf[T]()
	other := value(v)
	switch {
	case x != 0 && other == 0 && of.IsHalf():
		if f.vanished == nil {
			f.vanished = outOfRange(fmt.Sprint(x), of.Name, 0)
		}
	case x != 0 && other == 0, math.IsInf(other, 0) && !math.IsInf(x, 0):
		return v, outOfRange(cmp.Or(text, fmt.Sprint(x)), of.Name, other)
	}
	return v, nil
}

// number returns the float with the given bits that text denotes. text is a decimal number, whose exponent
// follows e or, in Fortran, d; or an infinity or a NaN as C prints it. Upper and lower case are equal.
// Underscores and hexadecimal digits, as in Go's numbers, are not permitted.
func number(text string, bits int) (float64, error) {
	if isNaN(text) {
		return math.NaN(), nil
	}
	if strings.ContainsAny(text, "_xX") {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	x, err := strconv.ParseFloat(text, bits)
	if i := strings.IndexAny(text, "dD"); errors.Is(err, strconv.ErrSyntax) && i >= 0 {
		x, err = strconv.ParseFloat(text[:i]+"e"+text[i+1:], bits)
	}
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, outOfRange(text, fmt.Sprint("f", bits), math.Inf(1))
	case err != nil:
		return 0, fmt.Errorf("%q is not a number", text)
	case x == 0 && !writesZero(text):
		return 0, outOfRange(text, fmt.Sprint("f", bits), 0)
	}
	return x, nil
}

// isNaN reports whether text is NaN as C prints it: with or without a sign, and with or without parentheses after it.
func isNaN(text string) bool {
	if strings.HasPrefix(text, "+") || strings.HasPrefix(text, "-") {
		text = text[1:]
	}
	if len(text) < 3 || !strings.EqualFold(text[:3], "nan") {
		return false
	}
	note := text[3:]
	return note == "" || len(note) > 1 && note[0] == '(' && strings.IndexByte(note, ')') == len(note)-1
}

// writesZero reports whether the decimal number text denotes zero.
func writesZero(text string) bool {
	if i := strings.IndexAny(text, "eEdD"); i >= 0 {
		text = text[:i]
	}
	return !strings.ContainsAny(text, "123456789")
}

// outOfRange returns the error of a value that would become other, an infinity or zero, in the type.
func outOfRange(value, typ string, other float64) error {
	remedy := gemm.ByType(typ, "scale the matrix", "choose the type f64",
		"scale the matrix, or choose the type bf16 or f32", "choose the type f64", "")
	if other == 0 {
		return fmt.Errorf("%s is out of the range of %s and would become 0; %s", value, typ, remedy)
	}
	return fmt.Errorf("%s is out of the range of %s and would become infinite; %s", value, typ, remedy)
}

// appendElement appends the shortest text that reads back as v. Infinities and NaN are written as in C,
// NumPy and MATLAB.
func appendElement[T gemm.Element](buf []byte, v T) []byte {
	switch v := any(v).(type) {
	case float32:
		return appendFloat(buf, float64(v), 32)
	case float64:
		return appendFloat(buf, v, 64)
	case half.F16:
		return appendFloat(buf, half.Shortest(v), 64)
	case half.BF16:
		return appendFloat(buf, half.Shortest(v), 64)
	case gf256.Elem:
		return strconv.AppendUint(buf, uint64(v.Byte()), 10)
	}
	return buf
}

func appendFloat(buf []byte, x float64, bits int) []byte {
	switch {
	case math.IsNaN(x):
		return append(buf, "nan"...)
	case math.IsInf(x, 1):
		return append(buf, "inf"...)
	case math.IsInf(x, -1):
		return append(buf, "-inf"...)
	}
	return strconv.AppendFloat(buf, x, 'g', -1, bits)
}
