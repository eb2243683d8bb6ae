package matfile

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gemm"
	"gemm/gemmtest"
	"gemm/gf256"
	"gemm/half"
)

// The expected results of other programs in this file come from SciPy 1.17.1 (scipy.io.mmread) and
// NumPy 2.4.6 (loadtxt with a comma, load).

// refused stands for an error.
const refused = "refused"

// contents writes content to a file of that name and returns what reading it as T gives: the
// matrix row by row, or refused.
func contents[T gemm.Element](t *testing.T, name, content string) (got string, err error) {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	gemmtest.Must(t, os.WriteFile(name, []byte(content), 0o644))
	m, err := read[T](name)
	if err != nil {
		return refused, err
	}
	var rows []string
	for i := range m.Rows {
		var row []byte
		for _, v := range m.Row(i) {
			row = append(appendElement(row, v), ' ')
		}
		rows = append(rows, strings.TrimSpace(string(row)))
	}
	return strings.Join(rows, "; "), nil
}

// numbers are texts and the values that our readers return for them. A text is refused if SciPy and
// NumPy read different values, or if one of them reads only a part of the text.
var numbers = []struct{ text, want, scipy, numpy string }{
	{"1.", "1", "1", "1"},
	{".5", "0.5", "0.5", "0.5"},
	{"-.5e-3", "-0.0005", "-0.0005", "-0.0005"},
	{"+1", "1", refused, "1"},
	{"1.5E+0003", "1500", "1500", "1500"},
	{"4.9e-324", "5e-324", "5e-324", "5e-324"},
	{"0e-999", "0", "0", "0"},
	{"inf", "inf", "inf", "inf"},
	{"-inf", "-inf", "-inf", "-inf"},
	{"+Inf", "inf", refused, "inf"},
	{"Infinity", "inf", "inf", "inf"},
	{"nan", "nan", "nan", "nan"},
	{"NaN", "nan", "nan", "nan"},
	{"-nan", "nan", "nan", "nan"}, // glibc's 0.0/0.0
	{"+nan", "nan", refused, "nan"},
	{"nan(0x1)", "nan", "nan", refused},
	{"-nan(ind)", "nan", "nan", refused}, // Microsoft's
	{"1.5D+00", "1.5", "1.5", refused},   // Fortran's double precision
	{"15d-1", "1.5", "15", refused},

	{"1_0", refused, "1", refused},
	{"0x1p3", refused, "0", refused},
	{"0x10", refused, "0", refused},
	{"1.5e400", refused, "inf", "inf"},
	{"-1.7976931348623159e308", refused, "-inf", "-inf"},
	{"1e-400", refused, "0", "0"},
	{"2d-324", refused, "2", refused},
	{"1.5+100", refused, "1.5", refused},
	{"1.5D", refused, "1.5", refused},
	{"1e", refused, "1", refused},
	{"1f", refused, "1", refused},
	{"1.#INF", refused, "1", "1"},
	{"infi", refused, "inf", refused},
	{"nan(", refused, "nan", refused},
	{"nano", refused, "nan", refused},
	{"dnan", refused, refused, refused},
	{"--1", refused, refused, refused},
	{"-", refused, refused, refused},
	{"true", refused, refused, refused},
	{"١", refused, refused, refused}, // an Arabic 1
}

func TestNumbers(t *testing.T) {
	for _, c := range numbers {
		for name, content := range map[string]string{
			"a.mtx": "%%MatrixMarket matrix array real general\n1 1\n" + c.text + "\n",
			"a.csv": c.text + "\n",
		} {
			if got, err := contents[float64](t, name, content); got != c.want {
				t.Errorf("%s: %q is read as %s (%v), want %s", name, c.text, got, err, c.want)
			}
		}
		fortran := strings.Contains(c.text, "d-") // others stop before it
		if c.want != refused && c.scipy != c.want && c.numpy != c.want && !fortran {
			t.Errorf("%q: no other program reads %s", c.text, c.want)
		}
	}
}

// marketFiles are Matrix Market files and what they hold. The descriptions are in NISTIR 5935.
var marketFiles = []struct{ name, content, want, scipy string }{
	{"carriage returns", "%%MatrixMarket matrix array real general\r\n1 1\r\n7\r\n", "7", "7"},
	{"tabs", "%%MatrixMarket\tmatrix\tarray\treal\tgeneral\n1\t1\n7\n", "7", "7"},
	{"blank line", "%%MatrixMarket matrix array real general\n\n1 1\n7\n", "7", "7"},
	{"indented comment", "%%MatrixMarket matrix array real general\n  % c\n1 1\n7\n", "7", "7"},
	{"long comment", "%%MatrixMarket matrix array real general\n%" + strings.Repeat("x", 1<<17) + "\n1 1\n7\n", "7", "7"},
	{"comment of the length of the buffer",
		"%%MatrixMarket matrix array real general\n%" + strings.Repeat("x", 1<<16-1) + "\n1 1\n7\n", "7", "7"},
	{"long comment at the end", "%%MatrixMarket matrix array real general\n1 1\n7\n%" + strings.Repeat("x", 1<<17),
		"7", refused},
	{"comment among values", "%%MatrixMarket matrix array real general\n1 1\n% c\n7\n", "7", refused},
	{"byte-order mark", "\ufeff%%MatrixMarket matrix array real general\n1 1\n7\n", "7", refused},
	{"one place twice", "%%MatrixMarket matrix coordinate real general\n1 1 2\n1 1 2\n1 1 3\n", "5", "5"},
	{"sum out of range", "%%MatrixMarket matrix coordinate real general\n1 1 2\n1 1 1e308\n1 1 1e308\n", refused, "inf"},
	{"zero on the diagonal", "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 3\n1 1 0\n2 1 3\n2 2 -0.0\n",
		"0 -3; 3 0", "0 -3; 3 0"},
	{"number on the diagonal", "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 2\n1 1 5\n2 1 3\n", refused,
		"5 -3; 3 0"},
	{"NaN on the diagonal", "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 1 nan\n", refused,
		"nan 0; 0 0"},
	{"diagonal of an array", "%%MatrixMarket matrix array real skew-symmetric\n2 2\n0\n3\n0\n", refused, refused},
	{"skew-symmetric pattern", "%%MatrixMarket matrix coordinate pattern skew-symmetric\n2 2 1\n2 1\n", "0 -1; 1 0",
		"0 -1; 1 0"},
	{"above the diagonal", "%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n1 2 3\n", refused, "0 3; 3 0"},
	{"integers", "%%MatrixMarket matrix array integer general\n1 2\n-3\n123456\n", "-3 123456", "-3 123456"},
	{"no integer", "%%MatrixMarket matrix array integer general\n1 1\n1.5\n", refused, "1"},
	{"infinite integer", "%%MatrixMarket matrix array integer general\n1 1\ninf\n", refused, refused},
	{"two values in a line", "%%MatrixMarket matrix array real general\n1 2\n1 2\n", refused, refused},
	{"comment behind a value", "%%MatrixMarket matrix array real general\n1 1\n7 % c\n", refused, "7"},
	{"blank line before the banner", "\n%%MatrixMarket matrix array real general\n1 1\n7\n", refused, refused},
	{"index 1_0", "%%MatrixMarket matrix coordinate real general\n10 1 1\n1_0 1 2\n", refused, refused},
	{"size 1e0", "%%MatrixMarket matrix coordinate real general\n1e0 1 1\n1 1 2\n", refused, refused},
}

func TestMarketFiles(t *testing.T) {
	for _, c := range marketFiles {
		if got, err := contents[float64](t, "a.mtx", c.content); got != c.want {
			t.Errorf("%s: read as %s (%v), want %s", c.name, got, err, c.want)
		}
		if c.want != refused && c.scipy != refused && c.want != c.scipy {
			t.Errorf("%s: SciPy reads %s, this package %s", c.name, c.scipy, c.want)
		}
	}
	const twice = "%%MatrixMarket matrix coordinate integer symmetric\n2 2 3\n2 1 5\n2 1 6\n2 2 1\n"
	if got, err := contents[gf256.Elem](t, "a.mtx", twice); got != "0 3; 3 1" { // 5 ⊕ 6
		t.Errorf("5 + 6 at two places of a field is %s, %v", got, err)
	}
}

// headers are headers of .npy files, followed by the bytes of 1.5.
var headers = []struct{ text, want, numpy string }{
	{"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1), }", "1.5", "1.5"},
	{`{"descr": "<f8", "fortran_order": False, "shape": (1, 1)}`, "1.5", "1.5"},
	{"{'shape': (1, 1), 'fortran_order': True, 'descr': '<f8'}", "1.5", "1.5"},
	{"{u'descr': u'<f8', u'fortran_order': False, u'shape': (1L, 1L), }", "1.5", "1.5"}, // Python 2
	{"{'descr': '|f8', 'fortran_order': False, 'shape': (1, 1)}", "1.5", "1.5"},
	{"{'descr': 'd', 'fortran_order': False, 'shape': (1, 1)}", "1.5", "1.5"},
	{"{'descr': 'float64', 'fortran_order': False, 'shape': (1, 1)}", "1.5", "1.5"},
	{"{'descr': [('x', '<f8')], 'fortran_order': False, 'shape': (1, 1)}", refused, "(1.5,)"},
	{"{'descr': b'<f8', 'fortran_order': False, 'shape': (1, 1)}", refused, refused},
	{"{'descr': '<f8', 'fortran_order': 0, 'shape': (1, 1)}", refused, refused},
	{"{'descr': '<f8', 'fortran_order': False, 'shape': [1, 1]}", refused, refused},
	{"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1), 'x': 1}", refused, refused},
	{"{'descr': '<f8', 'fortran_order': False}", refused, refused},
	{"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1), 'shape': (1, 1)}", refused, "1.5"},
	{"{'descr': '<f8' 'fortran_order': False, 'shape': (1, 1)}", refused, refused},
	{"{'descr': (1, 1), 'fortran_order': False, 'shape': '<f8'}", refused, refused},
	{"x {'descr': '<f8', 'fortran_order': False, 'shape': (1, 1)}", refused, refused},
	{`{'x': "'descr': '<f8'", 'fortran_order': False, 'shape': (1, 1)}`, refused, refused},
}

func TestHeaders(t *testing.T) {
	data := string(binary.LittleEndian.AppendUint64(nil, math.Float64bits(1.5)))
	for _, c := range headers {
		if got, err := contents[float64](t, "a.npy", header(c.text, data)); got != c.want {
			t.Errorf("%s: read as %s (%v), want %s", c.text, got, err, c.want)
		}
		if c.want != refused && c.numpy != c.want {
			t.Errorf("%s: NumPy reads %s", c.text, c.numpy)
		}
	}
}

// A .npy that ends within its header is cut off, and no other kind of file.
func TestCutHeaders(t *testing.T) {
	for version, length := range map[int]int{1: 2, 2: 4} {
		whole := fmt.Sprintf("\x93NUMPY%c\x00%s", version, strings.Repeat("\x09", length))
		for n := 1; n < len(whole); n++ {
			_, err := contents[float64](t, "a.npy", whole[:n])
			checkError(t, "a.npy", err, fmt.Sprintf("ends after %d bytes, before NumPy's header; the file is cut off", n))
		}
	}
	_, err := contents[float64](t, "a.npy", "\x93NUMBY")
	checkError(t, "a.npy", err, `starts with "\x93NUMBY", not with NumPy's`)
}

// TestElementTypes: what to do with arrays of other types or dimensions loses nothing unsaid.
func TestElementTypes(t *testing.T) {
	for descr, want := range map[string]string{
		"<c16": "save the real and the imaginary parts, a.real and a.imag, in two files", ">c8": "a.real and a.imag",
		"<f16": "a.astype('f8'), which rounds them", "|b1": "such as with a.astype('f8')", "<U3": "a.astype('f8')",
		"<u8": "which rounds integers above 2**53",
	} {
		_, err := contents[float64](t, "a.npy", header("{'descr': '"+descr+"', 'fortran_order': False, 'shape': (1, 1), }",
			strings.Repeat("\x00", 16)))
		checkError(t, "a.npy", err, want)
		if strings.Contains(descr, "c") && strings.Contains(err.Error(), "astype") {
			t.Errorf("%s drops the imaginary parts: %v", descr, err)
		}
	}
	_, err := contents[float64](t, "a.npy", header("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1, 1, 1), }",
		strings.Repeat("\x00", 8)))
	checkError(t, "a.npy", err, "save one matrix of it, such as a[0, 0]")
}

// TestBlanks: numbers may be separated by blanks and tabs, as numpy.savetxt writes them, if the first row has no comma.
func TestBlanks(t *testing.T) {
	const want = "1 2 3; 4 5 6"
	for _, text := range []string{
		"1.000000000000000000e+00 2.000000000000000000e+00 3.000000000000000000e+00\n4e0 5e0 6e0\n",
		"# a, title of 3 columns\n\n 1\t2\t3 \r\n\n#\n4   5 \t6", "1, 2 ,3\n4,5, 6\n", "1 2 3\n4,5,6\n",
		"\xef\xbb\xbf1 2 3\n4 5 6\n",
	} {
		got, err := contents[float64](t, "a.csv", text)
		if err != nil || got != want {
			t.Errorf("%q is %q, %v; want %q", text, got, err, want)
		}
	}
	long := strings.Repeat("1 ", 1<<17)
	if got, err := contents[float64](t, "a.csv", long+"\n"+long); err != nil || strings.Count(got, "1") != 1<<18 {
		t.Errorf("long rows have %d numbers, %v", strings.Count(got, "1"), err)
	}
	for text, want := range map[string]string{
		"1 2\n3\n": "line 2: 1 numbers, the rows before it have 2", "1\n1 2\n": `line 2, column 1: "1 2" is not a number`,
		"1 2, 3\n": `"1 2" is not a number`, "1 x\n": `line 1, column 2: "x" is not a number`,
	} {
		_, err := contents[float64](t, "a.csv", text)
		checkError(t, "a.csv", err, want)
	}
}

// TestEncodings: text is read in UTF-8, with or without a byte-order mark, and in others the
// error says so.
func TestEncodings(t *testing.T) {
	texts := map[string]string{"a.csv": "1,2\n", "a.mtx": "%%MatrixMarket matrix array real general\n1 1\n7\n"}
	for name, text := range texts {
		if _, err := contents[float64](t, name, "\xef\xbb\xbf"+text); err != nil {
			t.Error(err)
		}
		var little, big strings.Builder
		for _, b := range []byte(text) {
			little.Write([]byte{b, 0})
			big.Write([]byte{0, b})
		}
		for _, content := range []string{"\xff\xfe" + little.String(), "\xfe\xff" + big.String(), little.String(),
			big.String()} {
			_, err := contents[float64](t, name, content)
			checkError(t, name, err, "the text is in UTF-16 or UTF-32; save it in UTF-8")
		}
	}
}

// TestLostValues: no format lets a finite value become an infinity or a zero.
func TestLostValues(t *testing.T) {
	array := func(value float64) string {
		return header("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2), }",
			string(binary.LittleEndian.AppendUint64(make([]byte, 8), math.Float64bits(value))))
	}
	market := func(text string) string {
		return "%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n2 1 " + text + "\n"
	}
	for _, c := range []struct{ name, content, want string }{
		{"a.npy", array(1e39), "element [0, 1]: 1e+39 is out of the range of f32 and would become infinite; choose the type f64"},
		{"a.npy", array(-1e39), "element [0, 1]: -1e+39 is out of the range of f32"},
		{"a.npy", array(1e-50), "element [0, 1]: 1e-50 is out of the range of f32 and would become 0; choose the type f64"},
		{"a.npy", array(math.Inf(1)), ""},
		{"a.npy", array(math.NaN()), ""},
		{"a.npy", array(1e-40), ""}, // subnormal
		{"a.mtx", market("1e39"), "line 3: 1e39 is out of the range of f32 and would become infinite; choose the type f64"},
		{"a.mtx", market("1e-50"), "line 3: 1e-50 is out of the range of f32 and would become 0"},
		{"a.csv", "1,2\n3,1e39\n", "line 2, column 2: 1e39 is out of the range of f32 and would become infinite"},
		{"a.csv", "1,2\n3,-1D-50\n", "line 2, column 2: -1D-50 is out of the range of f32 and would become 0"},
		{"a.csv", "1e-40,-inf\n", ""},
	} {
		_, err := contents[float32](t, c.name, c.content)
		if c.want != "" {
			checkError(t, c.name, err, c.want)
		} else if err != nil {
			t.Error(err)
		}
	}
	for text, want := range map[string]string{
		"1,1e5\n": "line 1, column 2: 1e5 is out of the range of f16 and would become infinite; scale the matrix, or " +
			"choose the type bf16 or f32",
		"1,1e-9\n":     "", // a small element among others
		"0,1e-9\n":     "1e-09 is out of the range of f16 and would become 0; scale the matrix, or choose",
		"-0,0\n":       "",
		"65519,-inf\n": "",
	} {
		if _, err := contents[half.F16](t, "a.csv", text); want != "" {
			checkError(t, "a.csv", err, want)
		} else if err != nil {
			t.Error(err)
		}
	}
	_, err := contents[half.BF16](t, "a.npy", array(1e39))
	checkError(t, "a.npy", err,
		"element [0, 1]: 1e+39 is out of the range of bf16 and would become infinite; choose the type f64")
	_, err = contents[float64](t, "a.csv", "1e-400\n")
	checkError(t, "a.csv", err, "line 1, column 1: 1e-400 is out of the range of f64 and would become 0; scale the matrix")
	_, err = contents[float64](t, "a.mtx",
		"%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n2 1 1e308\n2 1 1e308\n")
	checkError(t, "a.mtx", err, "line 4: the entries (2, 1) have a sum that is out of the range of f64")
}

// TestWritesNumbersOfOtherPrograms: SciPy's mmread, MATLAB's fscanf and NumPy's loadtxt read these names.
func TestWritesNumbersOfOtherPrograms(t *testing.T) {
	m := gemm.Matrix[float64]{Rows: 1, Cols: 4, Stride: 4, Data: []float64{math.Inf(1), math.Inf(-1), math.NaN(), -1.5}}
	for name, want := range map[string]string{
		"a.mtx": "%%MatrixMarket matrix array real general\n1 4\ninf\n-inf\nnan\n-1.5\n",
		"a.csv": "inf,-inf,nan,-1.5\n",
	} {
		path := filepath.Join(t.TempDir(), name)
		gemmtest.Must(t, Write(t.Context(), path, m))
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
}
