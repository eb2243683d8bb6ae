package peer

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/gemmtest"
	"gemm/internal/ipc"
)

// opened returns a process that holds the functions of testdata/functions.c.
func opened(t *testing.T) *Library {
	t.Helper()
	const source = "testdata/functions.c"
	program, file := own(t), filepath.Join(t.TempDir(), "functions.so")
	if said, err := exec.Command("cc", "-O0", "-shared", "-fPIC", "-o", file, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return open(t, program, file)
}

func open(t *testing.T, program, file string) *Library {
	t.Helper()
	l, err := NewLibrary(program)
	gemmtest.Must(t, err)
	t.Cleanup(l.Kill)
	gemmtest.Must(t, l.Open(file))
	return l
}

// multiply computes an operation by the definition.
func multiply[T gemm.Float](op Operation, a, b, c gemm.Matrix[T]) gemm.Matrix[T] {
	at := func(x gemm.Matrix[T], t blas.Transpose, i, j int) T {
		if t == blas.NoTrans {
			return x.At(i, j)
		}
		return x.At(j, i)
	}
	k := a.Cols
	if op.TransA != blas.NoTrans {
		k = a.Rows
	}
	out := gemm.NewMatrix[T](c.Rows, c.Cols)
	for i := range c.Rows {
		for j := range c.Cols {
			var sum T
			for l := range k {
				sum += at(a, op.TransA, i, l) * at(b, op.TransB, l, j)
			}
			out.Set(i, j, T(op.Alpha)*sum+T(op.Beta)*c.At(i, j))
		}
	}
	return out
}

// product stages an operation, computes it several times at once, and compares the result.
func product[T gemm.Float](t *testing.T, l *Library, call Call, op Operation, m, n, k, pad int) {
	t.Helper()
	turned := func(x gemm.Matrix[T], t blas.Transpose, seed int) gemm.Matrix[T] {
		if t == blas.NoTrans {
			return x
		}
		return gemmtest.Integers[T](x.Cols, x.Rows, x.Stride-x.Cols, seed)
	}
	integers := gemmtest.Integers[T]
	a, b := turned(integers(m, k, pad, 1), op.TransA, 1), turned(integers(k, n, pad, 2), op.TransB, 2)
	c := integers(m, n, pad, 3)
	want := multiply(op, a, b, c)
	p, err := Stage(t.Context(), l, call, op, c, a, b)
	gemmtest.Must(t, err)
	for _, times := range []int{1, 5} {
		if _, err := p.Repeat(t.Context(), times); err != nil {
			t.Fatalf("%v %v: %v", call, op, err)
		}
		gemmtest.Must(t, p.Collect(t.Context()))
		for i := range m {
			for j := range n {
				if got := c.At(i, j); got != want.At(i, j) {
					t.Fatalf("%v %v %d×%d×%d: element (%d, %d) is %v, want %v", call, op, m, n, k, i, j, got,
						want.At(i, j))
				}
			}
		}
	}
	gemmtest.Must(t, p.Close())
}

// TestABIs multiplies by functions of all ABIs, guarded and not.
func TestABIs(t *testing.T) {
	l := opened(t)
	for _, guarded := range []bool{false, true} {
		for _, pad := range []int{0, 3} {
			for _, op := range []Operation{Multiplication,
				{blas.Trans, blas.NoTrans, 2, 0}, {blas.NoTrans, blas.Trans, 1, -1}, {blas.Trans, blas.Trans, -3, .5}} {
				product[float64](t, l, Call{Fortran, "dgemm_", guarded, 0}, op, 7, 4, 5, pad)
				product[float32](t, l, Call{Fortran, "sgemm_", guarded, 0}, op, 5, 7, 3, pad)
				product[float64](t, l, Call{CBLAS, "cblas_dgemm", guarded, 0}, op, 4, 6, 7, pad)
				product[float32](t, l, Call{CBLAS, "cblas_sgemm", guarded, 0}, op, 1, 9, 2, pad)
			}
			product[float64](t, l, Call{Exchanged, "dgemm_", guarded, 0}, Multiplication, 3, 8, 5, pad)
		}
		product[float64](t, l, Call{Square, "square", guarded, 0}, Multiplication, 9, 9, 9, 0)
		product[float32](t, l, Call{RowMajor, "rows", guarded, 0}, Multiplication, 3, 8, 5, 0)
	}
}

// run computes a product of n×n matrices once.
func run(t *testing.T, l *Library, call Call, n, pad int) (p *Product[float64], c gemm.Matrix[float64], err error) {
	integers := gemmtest.Integers[float64]
	a, b, c := integers(n, n, pad, 1), integers(n, n, pad, 2), integers(n, n, pad, 3)
	if p, err = Stage(t.Context(), l, call, Multiplication, c, a, b); err == nil {
		_, err = p.Do(t.Context())
	}
	return p, c, err
}

// TestFaults calls functions that write and read where they must not. Each error says where.
func TestFaults(t *testing.T) {
	l := opened(t)
	maps, err := os.ReadFile(l.Maps())
	gemmtest.Must(t, err)
	at := strings.Index(string(maps), "functions.so")
	file := string(maps)[strings.LastIndex(string(maps)[:at], " ")+1:]
	file, _, _ = strings.Cut(file, "\n")
	for symbol, want := range map[string]string{
		"behind":  "it writes outside C, element 3 behind its last one",
		"before":  "it writes outside C, element 1 before its first one",
		"behindA": "it writes outside A, element 1 behind", "beforeB": "it writes outside B, element 3 before",
		"changesA": "it changes A: element (1, 2) was ", "changesB": "it changes B: element (0, 0) was ",
		"far":     "segmentation fault: 800000 bytes behind the last element of C",
		"nowhere": "segmentation fault: at the address 0x10", "leaves": "exit status 9",
		"aborts": "aborted", "deep": "segmentation fault", "raises": "segmentation fault",
		"page": "it writes outside C, element 800 before its first one",
	} {
		if l.Ended() {
			l = open(t, own(t), file)
		}
		_, _, err := run(t, l, Call{Square, symbol, true, 0}, 9, 0)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", symbol, err, want)
		}
		if end := (ipc.ExitError{}); errors.As(err, &end) != l.Ended() {
			t.Errorf("%s: the process has ended: %v, and the error is %v", symbol, l.Ended(), err)
		}
	}
}

// TestGap writes between the columns of C.
func TestGap(t *testing.T) {
	_, _, err := run(t, opened(t), Call{Fortran, "gap", true, 0}, 4, 2)
	const want = "between the elements of column 1 and of the next one"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

// TestOverwrites calls a function that does not add to C, as the ABI square has it.
func TestOverwrites(t *testing.T) {
	p, _, err := run(t, opened(t), Call{Square, "overwrites", true, 0}, 9, 0)
	gemmtest.Must(t, err)
	if _, err := p.Repeat(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "of C is wrong in a call that") {
		_, err = p.Repeat(t.Context(), 8) // the first may have had the operands as they were staged
		if err == nil {
			t.Error("it passes")
		}
	}
}

// TestReadsOutside reads behind A: the element is the NaN of the zones, and so is what is computed from it.
func TestReadsOutside(t *testing.T) {
	p, c, err := run(t, opened(t), Call{Square, "reads", true, 0}, 5, 0)
	gemmtest.Must(t, errors.Join(err, p.Collect(t.Context())))
	if err := p.Corrupted(); err == nil || err.Error() != "it reads outside A or B for element (0, 0) of C" {
		t.Errorf("%v, want the element (0, 0)", err)
	}
	if x := c.At(1, 0); x != x {
		t.Error("element (1, 0) is NaN")
	}
}
