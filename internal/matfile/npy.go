package matfile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"gemm"
	"gemm/gf256"
	"gemm/half"
)

// The format is NumPy's NEP 1 (numpy.lib.format): a magic string, a version, the length of the header, the
// header (a Python dictionary literal), and the elements.

// npyMagic is the first six bytes of every .npy file.
const npyMagic = "\x93NUMPY"

// npyHeaderLimit is the largest header length that is read. NumPy's own limit is 10000 bytes; the header
// of a plain matrix has fewer than 128.
const npyHeaderLimit = 1 << 16

// npyTypes are the names of the element types in NumPy, and in ml_dtypes, whose arrays of bfloat16 are saved as V2: two
// bytes without a type.
var npyTypes = map[string]string{"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16",
	"gf256": "uint8"}

// npyBody describes where the elements of a .npy file are and how they are stored.
type npyBody struct {
	offset  int64
	fortran bool // column by column
	typ     string
	size    int // bytes an element
	order   binary.ByteOrder
}

func (f *File) parseNPY() error {
	text, offset, err := npyHeader(f.data)
	if err != nil {
		return err
	}
	header, err := npyDictionary(text)
	if err != nil {
		return err
	}
	dims, err := npyShape(header["shape"])
	if err != nil {
		return err
	}
	f.Rows, f.Cols = dims[0], dims[1]
	body := npyBody{offset: offset, fortran: header["fortran_order"] == "True", order: binary.LittleEndian}
	dtype := header["descr"]
	if strings.HasPrefix(dtype, ">") {
		body.order = binary.BigEndian
	}
	switch strings.TrimLeft(dtype, "<>=|") {
	case "f4", "f", "float32":
		f.Type = "f32"
	case "f2", "e", "float16":
		f.Type = "f16"
	case "V2", "bfloat16":
		f.Type = "bf16"
	case "f8", "d", "float64":
		f.Type = "f64"
	case "u1", "B", "uint8":
		f.Type = "gf256"
	default:
		return fmt.Errorf("elements are %q; %s", dtype, npyRemedy(dtype))
	}
	body.typ, body.size = f.Type, gemm.TypeNamed(f.Type).Size
	if err := checkShape(f.Rows, f.Cols); err != nil {
		return err
	}
	want, have := int64(f.Rows*f.Cols*body.size), f.data.Size()-offset
	if want != have {
		fault := "the file is cut off or corrupt"
		if want < have {
			fault = "it holds more than one array or is corrupt"
		}
		return fmt.Errorf("the header's %d×%d %s elements are %d bytes, the file has %d after the header; %s",
			f.Rows, f.Cols, npyTypes[f.Type], want, have, fault)
	}
	f.body = body
	return nil
}

// npyRemedy says how an array of another element type becomes one that can be read.
func npyRemedy(dtype string) string {
	const save = "save them as float16, float32 or float64, such as with a.astype('f8')"
	switch kind := strings.TrimLeft(dtype, "<>=|"); {
	case strings.HasPrefix(kind, "c"):
		return "save the real and the imaginary parts, a.real and a.imag, in two files: " +
			"A·B = (Ar·Br − Ai·Bi) + i(Ar·Bi + Ai·Br)"
	case strings.HasPrefix(kind, "f"):
		return save + ", which rounds them"
	case kind == "i8" || kind == "u8":
		return save + ", which rounds integers above 2**53"
	}
	return save
}

// npyHeader returns the dictionary of the header and the offset of the elements.
func npyHeader(r io.ReaderAt) (header string, offset int64, err error) {
	var start [12]byte // magic, version, length of the header in 2 or 4 bytes
	n, err := r.ReadAt(start[:], 0)
	if err != nil && err != io.EOF {
		return "", 0, err
	}
	begins := string(start[:min(n, len(npyMagic))])
	switch {
	case n == 0:
		return "", 0, errors.New("is empty; the file is no .npy")
	case !strings.HasPrefix(npyMagic, begins):
		return "", 0, fmt.Errorf("starts with %q, not with NumPy's %q; the file is no .npy", begins, npyMagic)
	case n < 10 || n < 12 && start[6] > 1:
		return "", 0, fmt.Errorf("ends after %d bytes, before NumPy's header; the file is cut off", n)
	}
	var length int64
	switch start[6] {
	case 1:
		length, offset = int64(binary.LittleEndian.Uint16(start[8:])), 10
	case 2, 3:
		length, offset = int64(binary.LittleEndian.Uint32(start[8:])), 12
	default:
		return "", 0, fmt.Errorf("offset 6: format version %d.%d is none of 1, 2, 3; save it with numpy.save",
			start[6], start[7])
	}
	if length > npyHeaderLimit {
		return "", 0, fmt.Errorf("offset 8: a header of %d bytes is longer than the %d that a matrix may have; the file is corrupt",
			length, npyHeaderLimit)
	}
	buf := make([]byte, length)
	if _, err := r.ReadAt(buf, offset); err != nil && !(err == io.EOF && len(buf) == 0) {
		return "", 0, fmt.Errorf("offset %d: the header of %d bytes is cut off", offset, length)
	}
	return strings.TrimSpace(string(buf)), offset + length, nil
}

// Strings of Python in the header. Strings of Python 2 may have the prefix u.
const pythonString = `[uU]?(?:'([^'\\]*)'|"([^"\\]*)")`

var (
	npyItem = regexp.MustCompile(`^\s*` + pythonString + `\s*:\s*(?:` + pythonString +
		`|(True|False)|\(([^()]*)\))\s*(,|$)`)
	npyRecords = regexp.MustCompile(`['"]descr['"]\s*:\s*[\[(]`)
)

// npyDictionary returns the items of a Python dictionary with the keys descr (a string), fortran_order
// (True or False) and shape (a tuple, returned without its parentheses).
func npyDictionary(text string) (map[string]string, error) {
	if npyRecords.MatchString(text) {
		return nil, errors.New("elements are records; save one field of them as float64")
	}
	corrupt := fmt.Errorf("header %.80q is not made of descr, fortran_order and shape; the file is corrupt", text)
	rest, opened := strings.CutPrefix(text, "{")
	rest, closed := strings.CutSuffix(rest, "}")
	if !opened || !closed {
		return nil, corrupt
	}
	items := map[string]string{}
	for strings.TrimSpace(rest) != "" {
		m := npyItem.FindStringSubmatch(rest)
		if m == nil {
			return nil, corrupt
		}
		rest = rest[len(m[0]):]
		kind := map[string]int{"descr": 3, "fortran_order": 5, "shape": 6}[m[1]+m[2]]
		if _, twice := items[m[1]+m[2]]; kind == 0 || twice {
			return nil, corrupt
		}
		items[m[1]+m[2]] = m[kind]
		if kind == 3 {
			items["descr"] += m[4]
		}
	}
	if len(items) < 3 || items["fortran_order"] == "" {
		return nil, corrupt
	}
	return items, nil
}

// npyShape returns the two dimensions in a Python tuple without its parentheses.
func npyShape(tuple string) ([2]int, error) {
	var dims []int
	for text := range strings.SplitSeq(tuple, ",") {
		text = strings.TrimSuffix(strings.TrimSpace(text), "L") // Python 2 wrote long integers with an L
		if text == "" {
			continue // after the last comma of (5,)
		}
		dim, err := strconv.Atoi(text)
		if err != nil {
			return [2]int{}, fmt.Errorf("shape (%s) is not made of integers; the file is corrupt", tuple)
		}
		dims = append(dims, dim)
	}
	if n := len(dims); n != 2 {
		remedy := "it as a row with a.reshape(1, -1) or as a column with a.reshape(-1, 1)"
		if n > 2 {
			remedy = "one matrix of it, such as a[0" + strings.Repeat(", 0", n-3) + "]"
		}
		return [2]int{}, fmt.Errorf("the array has %d dimensions, shape (%s); a matrix has 2: save %s", n, tuple, remedy)
	}
	return [2]int(dims), nil
}

func readNPY[T gemm.Element](f *File, body npyBody, m gemm.Matrix[T]) error {
	decode := npyNumber[T](f, body)
	if p, ok := any(&decode).(*func([]byte) (gf256.Elem, error)); ok {
		if *p = nil; body.size == 1 {
			*p = func(b []byte) (gf256.Elem, error) { return gf256.New(b[0]), nil }
		}
	}
	if decode == nil {
		return fmt.Errorf("its elements are %s, which cannot be read as %s; save them as what they are to be",
			npyTypes[f.Type], gemm.TypeOf[T]().Name)
	}
	if f.Rows == 0 || f.Cols == 0 {
		return nil // whatever the other dimension is
	}
	r := bufio.NewReaderSize(io.NewSectionReader(f.data, body.offset, f.data.Size()-body.offset), 1<<16)
	outer, inner := f.Rows, f.Cols
	if body.fortran {
		outer, inner = inner, outer
	}
	var buf [8]byte
	for i := range outer {
		for j := range inner {
			if _, err := io.ReadFull(r, buf[:body.size]); err != nil {
				return fmt.Errorf("cannot read element %d: %w", i*inner+j, err)
			}
			row, column := i, j
			if body.fortran {
				row, column = j, i
			}
			v, err := decode(buf[:])
			if err != nil {
				return fmt.Errorf("element [%d, %d]: %w", row, column, err)
			}
			m.Set(row, column, v)
		}
	}
	return nil
}

// npyNumber returns the function that reads a stored number as a T. It returns nil if the elements are not numbers of
// floating point.
func npyNumber[T gemm.Element](f *File, body npyBody) func([]byte) (T, error) {
	stored := gemm.ByType(body.typ,
		func(b []byte) float64 { return math.Float64frombits(body.order.Uint64(b)) },
		func(b []byte) float64 { return float64(math.Float32frombits(body.order.Uint32(b))) },
		func(b []byte) float64 { return gemm.ToFloat64(half.FromBits[half.F16](body.order.Uint16(b))) },
		func(b []byte) float64 { return gemm.ToFloat64(half.FromBits[half.BF16](body.order.Uint16(b))) },
		nil)
	if stored == nil {
		return nil
	}
	return func(b []byte) (T, error) { return narrowed[T](f, stored(b), "") }
}

// writeNPY writes m in version 1.0, row by row, little-endian.
func writeNPY[T gemm.Element](w *bufio.Writer, m gemm.Matrix[T]) error {
	descr := gemm.ByType(gemm.TypeOf[T]().Name, "<f8", "<f4", "<f2", "<V2", "|u1")
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%d, %d), }", descr, m.Rows, m.Cols)
	// The elements start at a multiple of 64 bytes; the header ends in a line feed.
	length := (10+len(header)+1+63)&^63 - 10
	w.WriteString(npyMagic + "\x01\x00")
	w.Write(binary.LittleEndian.AppendUint16(nil, uint16(length)))
	fmt.Fprintf(w, "%-*s\n", length-1, header)
	if m.Rows == 0 || m.Cols == 0 {
		return w.Flush()
	}
	for i := range m.Rows {
		var row any = m.Row(i)
		switch x := row.(type) {
		case []half.F16:
			row = half.Words(x)
		case []half.BF16:
			row = half.Words(x)
		case []gf256.Elem:
			row = gf256.Bytes(x)
		}
		if err := binary.Write(w, binary.LittleEndian, row); err != nil {
			return err
		}
	}
	return w.Flush()
}
