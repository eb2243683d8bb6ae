package matfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sbinet/npyio/npy"
	"gonum.org/v1/gonum/mat"

	"gemm"
	"gemm/gemmtest"
	"gemm/gf256"
	"gemm/half"
)

// read opens and reads a file.
func read[T gemm.Element](name string) (gemm.Matrix[T], error) {
	f, err := Open(context.Background(), name)
	if err != nil {
		return gemm.Matrix[T]{}, err
	}
	defer f.Close()
	return Read[T](f)
}

// tabulate returns the matrix whose elements at gives.
func tabulate[T gemm.Element](rows, cols int, at func(i, j int) T) gemm.Matrix[T] {
	m := gemm.NewMatrix[T](rows, cols)
	for i := range rows {
		for j := range cols {
			m.Set(i, j, at(i, j))
		}
	}
	return m
}

// same reports whether two matrices are equal: their elements are written alike, as any NaN is, or are 0 and −0.
func same[T gemm.Element](a, b gemm.Matrix[T]) bool {
	if a.Rows != b.Rows || a.Cols != b.Cols {
		return false
	}
	for i := range a.Rows {
		for j := range a.Cols {
			x, y := string(appendElement(nil, a.At(i, j))), string(appendElement(nil, b.At(i, j)))
			if x != y && (strings.Trim(x, "-") != "0" || strings.Trim(y, "-") != "0") {
				return false
			}
		}
	}
	return true
}

// checkFile reads a file of testdata and compares it with want.
func checkFile[T gemm.Element](t *testing.T, name, wantType string, want gemm.Matrix[T]) {
	t.Helper()
	f, err := Open(t.Context(), filepath.Join("testdata", name))
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	if f.Type != wantType || f.Rows != want.Rows || f.Cols != want.Cols {
		t.Errorf("%s: %d×%d %s, want %v %s", name, f.Rows, f.Cols, f.Type, want, wantType)
	}
	got, err := Read[T](f)
	if err != nil {
		t.Error(err)
	} else if !same(got, want) {
		t.Errorf("%s: read %v, want %v", name, got.Data, want.Data)
	}
}

// The files are NumPy's and SciPy's: see testdata/make.py.
func TestReadsFilesOfNumPyAndSciPy(t *testing.T) {
	f64 := tabulate(3, 4, func(i, j int) float64 { return float64(i+1) / float64(j+3) })
	f32 := tabulate(3, 4, func(i, j int) float32 { return float32(i+1) / float32(j+3) })
	rounded := tabulate(3, 4, func(i, j int) float32 { return float32(f64.At(i, j)) })
	widened := tabulate(3, 4, func(i, j int) float64 { return float64(f32.At(i, j)) })
	field := tabulate(2, 3, func(i, j int) gf256.Elem { return gf256.New(uint8(253*i + j)) })
	for _, name := range []string{"f64-c.npy", "f64-fortran.npy", "f64-big.npy", "f64-v2.npy", "f64-v3.npy", "array.mtx",
		"array.csv"} {
		checkFile(t, name, "f64", f64)
		checkFile(t, name, "f64", rounded)
	}
	for _, name := range []string{"f32-c.npy", "f32-big-fortran.npy"} {
		checkFile(t, name, "f32", f32)
		checkFile(t, name, "f32", widened)
	}
	f16 := tabulate(3, 4, func(i, j int) half.F16 { return half.From64[half.F16](f64.At(i, j)) })
	bf16 := tabulate(3, 4, func(i, j int) half.BF16 { return half.From64[half.BF16](f64.At(i, j)) })
	for _, name := range []string{"f16-c.npy", "f16-big-fortran.npy"} {
		checkFile(t, name, "f16", f16)
		checkFile(t, name, "f16", tabulate(3, 4, func(i, j int) float32 { return f16.At(i, j).Float32() }))
	}
	checkFile(t, "bf16-c.npy", "bf16", bf16)
	checkFile(t, "bf16-c.npy", "bf16", tabulate(3, 4, func(i, j int) float64 { return gemm.ToFloat64(bf16.At(i, j)) }))
	checkFile(t, "f64-c.npy", "f64", f16)
	checkFile(t, "array.csv", "f64", bf16)
	checkFile(t, "u1.npy", "gf256", field)
	checkFile(t, "array-integer.mtx", "f64", field)
	checkFile(t, "array-integer.mtx", "f64", tabulate(2, 3, func(i, j int) float64 { return float64(253*i + j) }))
	checkFile(t, "empty.npy", "f64", gemm.NewMatrix[float64](0, 4))

	symmetric := tabulate(3, 3, func(i, j int) float64 { return float64((i+1)*(j+1)) / 8 })
	skew := tabulate(3, 3, func(i, j int) float64 { return float64(i-j) / 8 })
	sparse := tabulate(3, 4, func(i, j int) float64 {
		if x := f64.At(i, j); x > 0.5 {
			return x
		}
		return 0
	})
	pattern := tabulate(3, 4, func(i, j int) float64 { return math.Ceil(sparse.At(i, j)) })
	checkFile(t, "array-symmetric.mtx", "f64", symmetric)
	checkFile(t, "coordinate-symmetric.mtx", "f64", symmetric)
	checkFile(t, "array-skew.mtx", "f64", skew)
	checkFile(t, "coordinate-skew.mtx", "f64", skew)
	checkFile(t, "coordinate.mtx", "f64", sparse)
	checkFile(t, "coordinate-pattern.mtx", "f64", pattern)
}

func TestRefusesOtherThanRealMatrices(t *testing.T) {
	for name, want := range map[string]string{
		"int64.npy":   `a.astype('f8'), which rounds integers above 2**53`,
		"one.npy":     "1 dimensions, shape (5,); a matrix has 2: save it as a row with a.reshape(1, -1)",
		"three.npy":   "3 dimensions, shape (2, 2, 2); a matrix has 2: save one matrix of it, such as a[0]",
		"records.npy": "elements are records",
		"complex.mtx": `line 1: field "complex" is none of real, integer, pattern`,
		"make.py":     "ends neither in .npy nor in .mtx nor in .csv",
		"absent.npy":  "no such file",
	} {
		_, err := read[float64](filepath.Join("testdata", name))
		checkError(t, name, err, want)
	}
	_, err := read[float64]("testdata/u1.npy")
	checkError(t, "u1.npy", err, "its elements are uint8, which cannot be read as f64")
	_, err = read[gf256.Elem]("testdata/f64-c.npy")
	checkError(t, "f64-c.npy", err, "its elements are float64, which cannot be read as gf256")
	_, err = read[gf256.Elem]("testdata/array.csv")
	checkError(t, "array.csv", err, `line 2, column 1: "0.33333333333333331" is not an integer from 0 to 255`)
	folder := filepath.Join(t.TempDir(), "folder.npy")
	gemmtest.Must(t, os.Mkdir(folder, 0o755))
	_, err = read[float64](folder)
	checkError(t, folder, err, "is not a regular file")
}

// checkError checks that err is one line that names the file and contains want.
func checkError(t *testing.T, name string, err error, want string) {
	t.Helper()
	switch {
	case err == nil:
		t.Errorf("%s: read without an error, want %q", name, want)
	case !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name):
		t.Errorf("%s: error %q, want %q", name, err, want)
	case strings.Contains(err.Error(), "\n"):
		t.Errorf("%s: error of several lines: %q", name, err)
	}
}

// header returns a .npy of version 1 with the given dictionary and data.
func header(dictionary, data string) string {
	return fmt.Sprintf("\x93NUMPY\x01\x00%c%c%s%s", len(dictionary)%256, len(dictionary)/256, dictionary, data)
}

func TestRefusesDamagedFiles(t *testing.T) {
	const dictionary = "{'descr': '<f8', 'fortran_order': False, 'shape': (%s), }"
	shape := func(shape, data string) string { return header(fmt.Sprintf(dictionary, shape), data) }
	for _, c := range []struct{ name, content, want string }{
		{"empty.npy", "", "is empty"},
		{"text.npy", "1,2\n3,4\n5,6\n", `starts with "1,2\n3,"`},
		{"version.npy", "\x93NUMPY\x07\x01aaaaaa", "offset 6: format version 7.1 is none of 1, 2, 3"},
		{"header.npy", "\x93NUMPY\x01\x00\xff\x00{'descr'", "offset 10: the header of 255 bytes is cut off"},
		{"giant-header.npy", "\x93NUMPY\x02\x00\xff\xff\xff\xff{'descr'", "offset 8: a header of 4294967295 bytes"},
		{"no-line-end.npy", header("{}", ""), "is not made of descr, fortran_order and shape"},
		{"order.npy", header("{'shape': (1, 1), 'fortran_order': False, \"descr\": '<f8'}", "12345678"), ""},
		{"python2.npy", shape("1L, 1L", "12345678"), ""},
		{"short.npy", shape("2, 2", "12345678"),
			"the header's 2×2 float64 elements are 32 bytes, the file has 8 after the header; the file is cut off or corrupt"},
		{"long.npy", shape("1, 1", "1234567812345678"), "it holds more than one array"},
		{"claims.npy", shape("100000000, 100000000", "12345678"),
			"the header's 100000000×100000000 float64 elements are 80000000000000000 bytes"},
		{"overflow.npy", shape("4294967296, 4294967296", ""), "shape 4294967296×4294967296 is too large to address"},
		{"wide.npy", shape("99999999999999999999, 1", ""), "is not made of integers"},
		{"negative.npy", shape("-1, -8", "12345678"), "shape -1×-8 is negative"},
		{"tall.npy", shape("1000000000000000000, 0", ""), ""},
		{"scalar.npy", shape("", "12345678"), "0 dimensions"},

		{"empty.mtx", "", "line 1: does not read %%MatrixMarket"},
		{"banner.mtx", "%%MatrixMarket matrix array real\n1 1\n1\n", "line 1: does not read"},
		{"case.mtx", "%%matrixmarket MATRIX Array Real General\n\n% comment\n\n1 1\n1\n\n", ""},
		{"no-line-end.mtx", "%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1", ""},
		{"format.mtx", "%%MatrixMarket matrix dense real general\n1 1\n1\n", `line 1: format "dense"`},
		{"symmetry.mtx", "%%MatrixMarket matrix array real hermitian\n1 1\n1\n", `line 1: symmetry "hermitian"`},
		{"pattern.mtx", "%%MatrixMarket matrix array pattern general\n1 1\n", "cannot be pattern"},
		{"sizes.mtx", "%%MatrixMarket matrix array real general\n2\n", "line 2: 1 sizes, expected ROWS COLUMNS"},
		{"no-sizes.mtx", "%%MatrixMarket matrix array real general\n", "line 1: 0 sizes"},
		{"size.mtx", "%%MatrixMarket matrix array real general\n2 -2\n", `line 2: "-2" is not a size`},
		{"square.mtx", "%%MatrixMarket matrix array real symmetric\n2 3\n1\n",
			"line 2: a symmetric matrix is square, this one is 2×3"},
		{"claims.mtx", "%%MatrixMarket matrix array real general\n100000 100000\n1\n",
			"line 2: 10000000000 entries do not fit in a file of"},
		{"entries.mtx", "%%MatrixMarket matrix coordinate real general\n9 9 99999999\n1 1 1\n",
			"line 2: 99999999 entries do not fit"},
		{"overflow.mtx", "%%MatrixMarket matrix coordinate real general\n9999999999 9999999999 1\n1 1 1\n",
			"line 2: shape 9999999999×9999999999 is too large"},
		{"short.mtx", "%%MatrixMarket matrix array real general\n2 2\n1.000\n2.000\n3.000\n",
			"line 5: the file ends after 3 of 4 entries; it is cut off"},
		{"long.mtx", "%%MatrixMarket matrix array real general\n1 1\n1\n2\n", `line 4: "2" follows the last of 1 entries`},
		{"fields.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1\n", "line 3: 2 fields, expected 3"},
		{"row.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n0 1 1\n",
			`line 3: index "0" is not an integer from 1 to 2`},
		{"column.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 3 1\n",
			`line 3: index "3" is not an integer from 1 to 2`},
		{"upper.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n1 2 1\n",
			"line 3: entry (1, 2) is above the diagonal"},
		{"diagonal.mtx", "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 2 1\n",
			"line 3: entry (2, 2) is 1, but the diagonal of a skew-symmetric matrix is zero"},
		{"value.mtx", "%%MatrixMarket matrix array real general\n1 1\n1,5\n", `line 3: "1,5" is not a number`},
		{"range.mtx", "%%MatrixMarket matrix array real general\n1 1\n1e999\n", "line 3: 1e999 is out of the range of f64"},
		{"line.mtx", "%%MatrixMarket matrix array real general\n1 1\n" + strings.Repeat("1", 1<<17),
			"line 3 is longer than 65536 bytes"},

		{"empty.csv", "", "has no rows"},
		{"comment.csv", "# 1,2\n\n", "has no rows"},
		{"mark.csv", "\xef\xbb\xbf1, 2\r\n 3 ,4e0\r\n", ""},
		{"ragged.csv", "1,2\n3,4\n5\n", "line 3: 1 numbers, the rows before it have 2"},
		{"titles.csv", "x,y\n1,2\n", `line 1, column 1: "x" is not a number`},
		{"missing.csv", "1,2\n3,\n", `line 2, column 2: "" is not a number`},
		{"quote.csv", "1,2\n\"3,4\n", "line 2: extraneous or missing \" in quoted-field"},
	} {
		name := filepath.Join(t.TempDir(), c.name)
		gemmtest.Must(t, os.WriteFile(name, []byte(c.content), 0o644))
		_, err := read[float64](name)
		if c.want != "" {
			checkError(t, c.name, err, c.want)
		} else if err != nil {
			t.Error(err)
		}
	}
}

// special are floats whose text or bits are easily lost.
var special = []float64{0, math.Copysign(0, -1), 1.0 / 3, math.Pi * 1e300, 5e-324, math.MaxFloat64,
	math.Inf(1), math.Inf(-1), math.NaN(), 0.1, -123456789.125, 1e-7}

// roundTrip writes a block of a larger matrix and reads it back.
func roundTrip[T gemm.Element](t *testing.T, extension string, at func(i, j int) T) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "m"+extension)
	want := tabulate(5, 9, at).Slice(1, 2, 3, 6)
	if err := Write(t.Context(), name, want); err != nil {
		t.Error(err)
		return
	}
	got, err := read[T](name)
	if err != nil || !same(got, want) {
		t.Errorf("%s %s: %v, %v", extension, gemm.TypeOf[T]().Name, got, err)
	}
}

func TestWritesWhatItReads(t *testing.T) {
	for _, extension := range []string{".npy", ".mtx", ".csv", ".NPY"} {
		roundTrip(t, extension, func(i, j int) float64 { return special[(9*i+j)%len(special)] })
		roundTrip(t, extension, func(i, j int) float32 { return float32(special[(9*i+j)%len(special)]) })
		f16, bf16 := half.From64[half.F16], half.From64[half.BF16]
		roundTrip(t, extension, func(i, j int) half.F16 { return f16(special[(9*i+j)%len(special)]) })
		roundTrip(t, extension, func(i, j int) half.BF16 { return bf16(special[(9*i+j)%len(special)]) })
		roundTrip(t, extension, func(i, j int) gf256.Elem { return gf256.New(uint8(97*i + j)) })
	}
	empty := filepath.Join(t.TempDir(), "empty")
	for _, extension := range []string{".npy", ".mtx"} {
		if err := Write(t.Context(), empty+extension, gemm.NewMatrix[float32](4, 4).Slice(1, 1, 3, 0)); err != nil {
			t.Error(err)
		} else if m, err := read[float32](empty + extension); err != nil || m.Rows != 3 || m.Cols != 0 {
			t.Errorf("%s: %v, %v, want 3×0", extension, m, err)
		}
	}
	checkError(t, "empty.csv", Write(t.Context(), empty+".csv", gemm.NewMatrix[float32](3, 0)),
		"CSV cannot say the shape 3×0")
}

// copies checks that a file of testdata is written, byte for byte, as it was read.
func copies[T gemm.Element](t *testing.T, name string) {
	t.Helper()
	want, err := os.ReadFile(filepath.Join("testdata", name))
	gemmtest.Must(t, err)
	m, err := read[T](filepath.Join("testdata", name))
	gemmtest.Must(t, err)
	copied := filepath.Join(t.TempDir(), name)
	gemmtest.Must(t, Write(t.Context(), copied, m))
	if got, err := os.ReadFile(copied); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: %q, %v, want %q", name, got, err, want)
	}
}

// What is written must be what NumPy would write, byte for byte, and what
// another reader of the format reads.
func TestWritesNumPysBytes(t *testing.T) {
	copies[float64](t, "f64-c.npy")
	copies[float32](t, "f32-c.npy")
	copies[half.F16](t, "f16-c.npy")
	copies[half.BF16](t, "bf16-c.npy")
	copies[gf256.Elem](t, "u1.npy")
	name := filepath.Join(t.TempDir(), "m.npy")
	random := rand.New(rand.NewPCG(1, 2))
	m := tabulate(17, 5, func(int, int) float64 { return random.NormFloat64() })
	gemmtest.Must(t, Write(t.Context(), name, m))
	content, err := os.ReadFile(name)
	gemmtest.Must(t, err)
	var dense mat.Dense
	gemmtest.Must(t, npy.Read(bytes.NewReader(content), &dense))
	if !mat.Equal(&dense, gemm.Dense(m)) {
		t.Error("npyio reads another matrix than was written")
	}
}

func TestWritable(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "m.npy")
	if err := Writable(name); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("Writable left %v, %v", entries, err)
	}
	gemmtest.Must(t, os.Mkdir(name, 0o755))
	checkError(t, name, Writable(name), "is not a regular file")
	checkError(t, "m.txt", Writable(filepath.Join(dir, "m.txt")), "ends neither in")
	absent := filepath.Join(dir, "absent", "m.npy")
	checkError(t, absent, Writable(absent), "absent/m.npy: cannot be written: no such file or directory")
	if err := Write(t.Context(), absent, gemm.NewMatrix[float64](1, 1)); err == nil {
		t.Error("written to a folder that is not there")
	}
}

// fuzz runs one reader on arbitrary bytes. The reader may return an error; it must not panic, and
// must not allocate a size that the bytes cannot hold. A matrix that it reads must survive being
// written and read again.
func fuzz(f *testing.F, extension string) {
	names, err := filepath.Glob("testdata/*" + extension)
	if err != nil || len(names) == 0 {
		f.Fatal(names, err)
	}
	for _, name := range names {
		content, err := os.ReadFile(name)
		gemmtest.Must(f, err)
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		file, err := parse("fuzz"+extension, io.NewSectionReader(bytes.NewReader(content), 0, int64(len(content))))
		if err != nil {
			return
		}
		body, isMTX := file.body.(mtxBody)
		if elements := file.Rows * file.Cols; elements > len(content)+1 && !isMTX {
			t.Fatalf("%d×%d in %d bytes", file.Rows, file.Cols, len(content))
		} else if elements > 1<<20 && isMTX {
			return // a few entries of a large matrix, which is for the caller to refuse
		}
		if isMTX && body.entries > len(content) {
			t.Fatalf("%d entries in %d bytes", body.entries, len(content))
		}
		m, err := Read[float64](file)
		if err != nil {
			return
		}
		name := filepath.Join(t.TempDir(), "fuzz"+extension)
		gemmtest.Must(t, Write(t.Context(), name, m))
		if again, err := read[float64](name); err != nil || !same(again, m) {
			t.Fatalf("%v, %v, want %v", again, err, m)
		}
	})
}

func FuzzNPY(f *testing.F) { fuzz(f, ".npy") }
func FuzzMTX(f *testing.F) { fuzz(f, ".mtx") }
func FuzzCSV(f *testing.F) { fuzz(f, ".csv") }

// TestReadingEndsWithTheContext: the caller's context ends each step of reading.
func TestReadingEndsWithTheContext(t *testing.T) {
	for _, name := range []string{"f64-c.npy", "array.mtx", "coordinate.mtx", "array.csv"} {
		ctx, cancel := context.WithCancel(t.Context())
		f, err := Open(ctx, filepath.Join("testdata", name))
		gemmtest.Must(t, err)
		cancel()
		if _, err := Read[float64](f); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: reading gives %v", name, err)
		}
		f.Close()
		if _, err := Open(ctx, filepath.Join("testdata", name)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: opening gives %v", name, err)
		}
	}
}

// TestFailedWriteLeavesNothing: after an error, or if the context ends, the old file stays and no other is left.
func TestFailedWriteLeavesNothing(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	good, malformed := gemm.NewMatrix[float64](2, 2), gemm.Matrix[float64]{Rows: 1, Cols: 1, Stride: 1}
	for _, c := range []struct {
		ctx  context.Context
		file string
		m    gemm.Matrix[float64]
	}{
		{cancelled, "m.npy", good}, {cancelled, "m.mtx", good}, {cancelled, "m.csv", good},
		{t.Context(), "m.csv", gemm.NewMatrix[float64](0, 1)}, {t.Context(), "m.csv", malformed},
	} {
		dir := t.TempDir()
		name := filepath.Join(dir, c.file)
		gemmtest.Must(t, os.WriteFile(name, []byte("old"), 0o644))
		if err := Write(c.ctx, name, c.m); err == nil || c.ctx.Err() != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("%s, %v: writing gives %v", c.file, c.m, err)
		}
		entries, err := os.ReadDir(dir)
		if content, _ := os.ReadFile(name); err != nil || len(entries) != 1 || string(content) != "old" {
			t.Errorf("%s: %v, %q, want what was there", c.file, entries, content)
		}
	}
}
