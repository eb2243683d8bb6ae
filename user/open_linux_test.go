package user

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gemm"
	"gemm/compare/record"
	"gemm/gemmtest"
	"gemm/internal/note"
	"gemm/internal/peer"
)

// need skips the test if there is no C compiler.
func need(t *testing.T) {
	t.Helper()
	_, err := peer.Program()
	gemmtest.Require(t, "gcc", err)
}

// source writes a source and returns its path.
func source(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	gemmtest.Must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// opened opens kernels and returns their variants.
func opened(t *testing.T, o Options, texts ...string) []gemm.Variant {
	t.Helper()
	all, err := open(t.Context(), o, texts...)
	gemmtest.Must(t, err)
	t.Cleanup(all.Close)
	return all.Variants()
}

func open(ctx context.Context, o Options, texts ...string) (*Kernels, error) {
	var kernels []Kernel
	for _, text := range texts {
		k, err := Parse(text)
		if err != nil {
			return nil, err
		}
		kernels = append(kernels, k)
	}
	all, err := Open(ctx, kernels, o)
	if err == nil && !slices.Contains(all.Faults(), nil) {
		err = all.Faults()[0]
		all.Close()
	}
	return all, err
}

// product computes a product of n×n matrices, and the sum of what differs from the definition.
func product(ctx context.Context, v gemm.Variant, p gemm.Params, n int) (gemm.Params, error) {
	m, err := gemm.New[float64](v, p)
	if err != nil {
		return nil, err
	}
	c, a, b := gemm.NewMatrix[float64](n, n), gemm.NewMatrix[float64](n, n), gemm.NewMatrix[float64](n, n)
	for i := range n * n {
		a.Data[i], b.Data[i] = float64(i%7-3), float64(i%5-2)
	}
	if err := m.Multiply(ctx, c, a, b); err != nil {
		return nil, err
	}
	for i := range n {
		for j := range n {
			sum := 0.0
			for k := range n {
				sum += a.At(i, k) * b.At(k, j)
			}
			if c.At(i, j) != sum {
				return nil, errors.New("the product is wrong")
			}
		}
	}
	return m.(gemm.Explainer).Resolved(), nil
}

// TestConformance runs the conformance suite on kernels of the ABIs that have the whole operation.
func TestConformance(t *testing.T) {
	need(t)
	if _, err := exec.LookPath("c++"); err != nil {
		t.Skipf("no compiler for C++: %v", err)
	}
	const path = "testdata/whole.cpp"
	for _, v := range opened(t, Options{Flags: "-O1"}, path+":dgemm_", path+":sgemm_", path+":cblas_dgemm",
		path+":cblas_sgemm") {
		t.Run(v.Name, func(t *testing.T) { gemmtest.Suite{OneCall: true}.Run(t, v) })
	}
	if v := opened(t, Options{}, path)[0]; strings.Join(v.Types(), " ") != "f64 f32" {
		t.Errorf("the types are %v", v.Types())
	}
}

// rows is the body of a product of the ABI rowmajor.
const rows = `
    for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) {
        double sum = 0;
        for (int l = 0; l < k; l++) sum += A[i * k + l] * B[l * n + j];
        C[i * n + j] = sum;
    }
`

const head = "void f(int m, int n, int k, const double *A, const double *B, double *C) {"

// TestResolved checks what the record has of a kernel, from a source and from the library made of it.
func TestResolved(t *testing.T) {
	need(t)
	path := source(t, "f.c", head+rows+"}")
	v := opened(t, Options{Flags: "-O2 -lm"}, path)[0]
	got, err := product(t.Context(), v, nil, 9)
	gemmtest.Must(t, err)
	version, _ := got["compiler"].(string)
	if version == "" || got["cflags"] != "-O2 -lm" || got["file"] != path || got["symbol"] != "f" ||
		got["abi"] != "rowmajor" || got["process"] != "own" || got["threads"] != 1 || v.Has("threads") ||
		got["digest"] != v.Revision || v.Revision == "" {
		t.Errorf("resolved %v, revision %s", got, v.Revision)
	}
	if other := opened(t, Options{}, path)[0]; other.Revision == v.Revision {
		t.Error("with other options the revision is the same")
	}
	library := filepath.Join(t.TempDir(), "libf.so")
	if said, err := exec.Command("cc", "-shared", "-fPIC", "-o", library, path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	v = opened(t, Options{}, library)[0]
	if got, err = product(t.Context(), v, nil, 9); err != nil || v.Name != "user/f" || got["compiler"] != nil {
		t.Errorf("the library is %s, resolved %v, %v", v.Name, got, err)
	}
}

// TestBehaviour runs kernels that do what a product must not. The next product is right.
func TestBehaviour(t *testing.T) {
	need(t)
	for name, test := range map[string]struct{ before, with, want string }{
		"prints": {"#include <stdio.h>", `puts("ok 1"); printf("error"); fflush(stdout);` + rows, ""},
		"reads":  {"#include <stdio.h>", `if (getchar() != EOF) return;` + rows, ""},
		"exits":  {"#include <stdlib.h>", `if (n == 8) exit(3);` + rows, "its process ended with exit status 3"},
		"leaves": {"#include <stdlib.h>", `if (n == 8) exit(0);` + rows, "its process ended before it was done"},
		"complain": {"#include <stdio.h>\n#include <stdlib.h>",
			`if (n == 8) { fputs("no luck\n", stderr); abort(); }` + rows,
			"its process ended with signal aborted: no luck"},
		"crashes": {"", `if (n == 8) *(volatile int *)8 = 0;` + rows,
			"its process ended with signal segmentation fault: at the address 0x8"},
		"lazy": {"", rows + `if (n == 8) C[10] = 0.0 / 0.0;`, "the product is wrong"},
		"idle": {"", `if (n == 8) return;` + rows,
			"it does not write element (0, 0) of C, or adds to what was there before"},
		"adds": {"", `double x = C[0];` + rows + `if (n == 8) C[0] += x;`,
			"it does not write element (0, 0) of C, or adds"},
		"strays": {"", rows + `if (n == 8) C[3] += A[m * k];`, "it reads outside A or B for element (0, 3) of C"},
		"hangs":  {"", `for (volatile int i = 0; n == 8;) i++;` + rows, "context deadline exceeded"},
		"forks": {"#include <unistd.h>", `if (n == 8 && fork() == 0) for (;;) pause();` + rows,
			"it has returned, and a process that it has started still runs"},
		"returns twice": {"#include <unistd.h>", `if (n == 8) fork();` + rows,
			"it returns twice: it has forked, and both processes return"},
		"writes nonsense": {"#include <unistd.h>", `if (n == 8) for (int fd = 3; fd < 200; fd++)
			if (write(fd, "\n", 1) == 1) break;` + rows, "its process answers \"\", which is no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := opened(t, Options{Flags: "-O1"}, source(t, "f.c", test.before+"\n"+head+test.with+"}"))[0]
			limit := time.Minute
			if name == "hangs" {
				limit = 300 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			_, err := product(ctx, v, nil, 8)
			if right := test.want == ""; right != (err == nil) || !right && !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
			if _, err := product(t.Context(), v, nil, 7); err != nil {
				t.Errorf("the next product: %v", err)
			}
		})
	}
}

// TestEscapes has a kernel start a process in a session of its own, which no process waits for. It ends with the
// kernel's.
func TestEscapes(t *testing.T) {
	need(t)
	file := filepath.Join(t.TempDir(), "pid")
	v := opened(t, Options{Flags: "-O1"}, source(t, "f.c", `
#include <stdio.h>
#include <unistd.h>
`+head+`
    if (fork() == 0) {
        setsid();
        if (fork()) _exit(0);
        FILE *f = fopen("`+file+`", "w");
        fprintf(f, "%d", (int)getpid());
        fclose(f);
        for (;;) pause();
    }
`+rows+"}"))[0]
	if _, err := product(t.Context(), v, nil, 8); err == nil || !strings.Contains(err.Error(), "still runs") {
		t.Errorf("%v, want that a process still runs", err)
	}
	text, err := os.ReadFile(file)
	gemmtest.Must(t, err)
	pid, err := strconv.Atoi(string(text))
	gemmtest.Must(t, err)
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d is still there: %v", pid, err)
	}
}

// TestUnsuited asks the ABIs for what they do not have.
func TestUnsuited(t *testing.T) {
	need(t)
	v := opened(t, Options{}, source(t, "square_dgemm.c",
		"void square_dgemm(int n, double *A, double *B, double *C) { for (int i = 0; i < n * n; i++) C[i] = 0; }"))[0]
	m, err := gemm.New[float64](v, nil)
	gemmtest.Must(t, err)
	wide, square := gemm.NewMatrix[float64](2, 3), gemm.NewMatrix[float64](2, 2)
	for want, c := range map[string][3]gemm.Matrix[float64]{
		"the ABI square has n×n matrices only":     {gemm.NewMatrix[float64](2, 3), square, wide},
		"the ABI square has no leading dimensions": {wide.Slice(0, 0, 2, 2), square, square},
	} {
		_, err := m.(gemm.Stager[float64]).Stage(t.Context(), c[0], c[1], c[2])
		if unsuited := (note.Unsuited{}); !errors.As(err, &unsuited) || unsuited.Reason != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestThreads asks a kernel with OpenMP, which --cflags leave to gemm, for its threads, in processes with different
// numbers.
func TestThreads(t *testing.T) {
	need(t)
	v := opened(t, Options{Flags: "-O1", Threads: 2}, source(t, "f.c", `
#include <omp.h>
#include <stdlib.h>
`+head+`
    int threads = 0;
    _Pragma("omp parallel reduction(+:threads)") threads++;
    if (threads != m - 5) abort();
`+rows+"}"))[0]
	for p, n := range map[any]int{nil: 7, 1: 6, 3: 8} {
		params := gemm.Params{}
		if p != nil {
			params["threads"] = p
		}
		if got, err := product(t.Context(), v, params, n); err != nil || got["threads"] != n-5 {
			t.Errorf("%v threads: %v, %v", p, got, err)
		}
	}
}

// fortran has the head of a product in Fortran with the usual C name.
const fortran = `subroutine product(n, a, b, c) bind(c, name="square_dgemm")
  use iso_c_binding
  integer(c_int), value :: n
  real(c_double) :: a(n,n), b(n,n), c(n,n)
`

// TestOpenMP compiles sources with OpenMP: -fopenmp is added unless the options decide or the compiler cannot.
func TestOpenMP(t *testing.T) {
	need(t)
	const pragma = head + "\n  #  pragma omp parallel for\n" + rows + "}"
	refusing := source(t, "cc", `#!/bin/sh
case "$*" in *openmp*) echo "x.c: error: no OpenMP here" >&2; exit 1;; esac
exec cc "$@"
`)
	gemmtest.Must(t, os.Chmod(refusing, 0o700))
	for name, test := range map[string]struct{ file, text, flags, cc, used, warning string }{
		"pragma": {"f.c", pragma, "-O1", "", "-O1 -fopenmp", ""},
		"C++":    {"f.cpp", `extern "C" ` + pragma, "", "", DefaultFlags + " -fopenmp", ""},
		"word":   {"f.c", head + `_Pragma ("omp parallel for")` + rows + "}", "-O1", "", "-O1 -fopenmp", ""},
		"Fortran": {"f.F90", fortran + "  !$OMP parallel workshare\n  c = c + matmul(a, b)\n" +
			"  !$omp end parallel workshare\nend", "-O1", "", "-O1 -fopenmp", ""},
		"given":   {"f.c", pragma, "-fopenmp -O1", "", "-fopenmp -O1", ""},
		"off":     {"f.c", pragma, "-O1 -fno-openmp", "", "-O1 -fno-openmp", ""},
		"comment": {"f.c", "// #pragma omp parallel\n" + head + rows + "}", "-O1", "", "-O1", ""},
		"refused": {"f.c", pragma, "-O1", refusing, "-O1", "compiled without OpenMP, so it has one thread: with -fopenmp, "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("CC", test.cc)
			if _, err := exec.LookPath("gfortran"); name == "Fortran" && err != nil {
				t.Skip(err)
			}
			v := opened(t, Options{Flags: test.flags}, source(t, test.file, test.text))[0]
			got, err := product(t.Context(), v, nil, 9)
			if err != nil || got["cflags"] != test.used || v.Has("threads") != strings.Contains(test.used, "-fopenmp") {
				t.Errorf("options %v, threads %v, %v; want %q", got["cflags"], v.Has("threads"), err, test.used)
			}
			m, err := gemm.New[float64](v, nil)
			gemmtest.Must(t, err)
			warnings := m.(record.Warner).Warnings()
			said := strings.Trim(fmt.Sprint(warnings), "[]")
			if !strings.HasPrefix(said, test.warning) || (said == "") != (test.warning == "") {
				t.Errorf("warnings %q, want %q", warnings, test.warning)
			}
		})
	}
}

// TestFortran multiplies by functions in Fortran.
func TestFortran(t *testing.T) {
	need(t)
	if _, err := exec.LookPath("gfortran"); err != nil {
		t.Skip(err)
	}
	v := opened(t, Options{}, source(t, "f.f90", fortran+"  c = c + matmul(a, b)\nend"))[0]
	got, err := product(t.Context(), v, nil, 9)
	if err != nil || got["abi"] != "square" || v.Has("threads") {
		t.Errorf("bind(C): %v, threads %v, %v", got, v.Has("threads"), err)
	}
	text := source(t, "x.f", `
      subroutine mine(ta, tb, m, n, k, x, a, la, b, lb, y, c, lc)
      character ta, tb
      integer m, n, k, la, lb, lc
      double precision x, y, a(la,*), b(lb,*), c(lc,*)
      c(1:m,1:n) = x * matmul(a(1:m,1:k), b(1:k,1:n))
      end
`)
	v = opened(t, Options{}, text+":Mine=fortran")[0]
	if got, err = product(t.Context(), v, nil, 9); err != nil || got["symbol"] != "mine_" {
		t.Errorf("a subroutine: %v, %v", got, err)
	}
	bad := source(t, "bad.f90", "subroutine f\n  y = 1 +\nend subroutine\n")
	if _, err := open(t.Context(), Options{}, bad); err == nil ||
		!strings.HasSuffix(err.Error(), "bad.f90:2:9: Error: Syntax error in expression at (1)") {
		t.Errorf("a source with an error: %v", err)
	}
	t.Setenv("PATH", "")
	_, err = open(t.Context(), Options{}, bad)
	if err == nil || !strings.Contains(err.Error(), "no compiler for Fortran: install gfortran or flang, or set FC") {
		t.Errorf("without a compiler: %v", err)
	}
}

// TestSomeFail opens kernels of which some cannot run. The rows of those have the reason, in the types that the user
// may mean.
func TestSomeFail(t *testing.T) {
	need(t)
	all := opened(t, Options{}, source(t, "bad.c", "int f(void) {\n return x; }"), source(t, "f.c", head+rows+"}"),
		"/nowhere/g.so=cblas:f32", source(t, "omp.so", "text"))
	for i, want := range []struct{ types, fault string }{
		{"f64 f32", "bad.c:2:9: error: "}, {"f64", ""}, {"f32", "there is no file /nowhere/g.so"},
		{"f64 f32", "is not a shared library"},
	} {
		if got := strings.Join(all[i].Types(), " "); got != want.types {
			t.Errorf("%s has the types %s, want %s", all[i].Name, got, want.types)
		}
		var err error
		if strings.HasPrefix(want.types, "f64") {
			_, err = product(t.Context(), all[i], nil, 5)
		} else {
			_, err = gemm.New[float32](all[i], nil)
		}
		if (err == nil) != (want.fault == "") || err != nil && !strings.Contains(err.Error(), want.fault) ||
			errors.Is(err, gemm.ErrUnavailable) {
			t.Errorf("%s: %v, want %q", all[i].Name, err, want.fault)
		}
	}
}

// TestRefused opens what is no kernel. The error is one line.
func TestRefused(t *testing.T) {
	need(t)
	dir := t.TempDir()
	file := func(name, text string) string { return source(t, name, text) }
	object, program, foreign := filepath.Join(dir, "x.o"), filepath.Join(dir, "x"), filepath.Join(dir, "foreign.so")
	main := file("main.c", "int main(void) { return 0; }")
	for _, arguments := range [][]string{
		{"-c", "-o", object, main}, {"-o", program, main}, {"-shared", "-fPIC", "-o", foreign, main},
	} {
		if said, err := exec.Command("cc", arguments...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
	}
	image, err := os.ReadFile(foreign)
	gemmtest.Must(t, err)
	image[18] = 243 // of another processor
	gemmtest.Must(t, os.WriteFile(foreign, image, 0o600))
	for kernel, want := range map[string]string{
		filepath.Join(dir, "no.so"): "there is no file " + dir, filepath.Join(dir, "no.c"): "there is no file " + dir,
		dir:     "is not a regular file",
		object:  "is an object file: link it by cc -shared",
		program: "is a program, not a shared library", foreign: "is for EM_RISCV ELFCLASS64, this gemm is for EM_",
		file("text.so", "hello, world"):                       "is not a shared library (",
		file("bad.c", "int f(void) {\n return x; }"):          "bad.c:2:9: error: ",
		file("link.c", "void g(void); void f(void) { g(); }"): "cannot be loaded: link.so: undefined symbol: g",
		file("omp.c", "void GOMP_parallel(void); void f(void) { GOMP_parallel(); }"): "undefined symbol: GOMP_parallel: " +
			"compile it with -fopenmp",
		file("late.c", `#include <stdlib.h>
			__attribute__((constructor)) static void x(void) { exit(4); }
			void f(void) {}`): "cannot be loaded: its process ended with exit status 4",
	} {
		all, err := open(t.Context(), Options{}, kernel)
		if err == nil {
			all.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", kernel, err, want)
		}
	}
	t.Setenv("CC", "/nowhere/cc")
	_, err = open(t.Context(), Options{}, main)
	if err == nil || !strings.Contains(err.Error(), "the compiler /nowhere/cc: ") {
		t.Errorf("a compiler that is not there: %v", err)
	}
	t.Setenv("CC", "")
	t.Setenv("PATH", "")
	_, err = open(t.Context(), Options{}, main)
	if err == nil || !strings.Contains(err.Error(), "no compiler for C: install cc or gcc or clang") {
		t.Errorf("without a compiler: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "gemm-bring-*", "bad.so"))
	if err != nil || len(left) > 0 {
		t.Errorf("it leaves %v, %v", left, err)
	}
}
