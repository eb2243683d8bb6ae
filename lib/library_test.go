//go:build cgo && linux

package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gemm/gemmtest"
	"gemm/internal/ipc"
)

// built is the library and the program that checks it, in a folder of its own.
var built struct {
	sync.Once
	dir    string
	absent error // what cannot be had
	failed error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// library returns the folder of libgemm.so and of the program check.
func library(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("the library is built and tested without -short")
	}
	built.Do(func() {
		if _, built.absent = exec.LookPath("gcc"); built.absent != nil {
			return
		}
		if built.dir, built.failed = os.MkdirTemp("", "libgemm"); built.failed == nil {
			built.failed = build(t.Context(), built.dir)
		}
	})
	gemmtest.Require(t, "gcc", built.absent)
	if built.failed != nil {
		t.Fatal(built.failed)
	}
	return built.dir
}

// build builds the library and the program in dir.
func build(ctx context.Context, dir string) error {
	// The cache of test results sees what the test itself reads.
	for _, file := range []string{"exports.map", "../scripts/lib.sh", "_runtime/netpoll_epoll.go", "testdata/check.c", "testdata/check.inc",
		"testdata/unload.c", "testdata/check_numpy.py"} {
		if _, err := os.ReadFile(file); err != nil {
			return err
		}
	}
	file := filepath.Join(dir, "libgemm.so")
	if _, err := output(ctx, nil, "../scripts/lib.sh", file, "-buildvcs=false"); err != nil {
		return err
	}
	for program, define := range map[string]string{"check": "-UXERBLA", "check-xerbla": "-DXERBLA"} {
		_, err := output(ctx, nil, "gcc", "-O2", "-Wall", "-Wextra", "-Werror", define, "-I.", "testdata/check.c",
			"-o", filepath.Join(dir, program), "-L"+dir, "-lgemm", "-lpthread", "-lm", "-Wl,-rpath,"+dir)
		if err != nil {
			return err
		}
	}
	return nil
}

// output runs a command with further variables of the environment, and returns what it prints.
func output(ctx context.Context, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	var out, says bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &says
	if err := ipc.Run(cmd, time.Second); err != nil {
		return out.String(), fmt.Errorf("%s: %w\n%s%s", filepath.Base(cmd.Path), err, out.String(), says.String())
	}
	return out.String() + says.String(), nil
}

// check runs the program that checks the library, and returns what it prints.
func check(t testing.TB, env []string, args ...string) (string, error) {
	t.Helper()
	return output(t.Context(), env, filepath.Join(library(t), "check"), args...)
}

// TestC runs the program in C, which compares products and handles errors, signals and forks.
func TestC(t *testing.T) {
	const forked = "libgemm: this process was forked"
	tests := map[string]struct {
		args []string
		says string // what it prints must begin with
	}{
		"random":  {[]string{"random", "1", "60"}, ""},
		"threads": {[]string{"threads", "64", "5"}, ""},
		"fork":    {[]string{"fork", "2", "30"}, forked},
		"exit":    {[]string{"exit"}, ""},
		"reused":  {[]string{"descriptors", "64"}, ""},
		"no more": {[]string{"descriptors", "0"}, ""},
		"signals": {[]string{"signals"}, ""},
		"errors": {[]string{"errors"}, "Parameter 11 to routine cblas_dgemm was incorrect: " +
			"cblas_dgemm: ldb is 3, must be at least 4\n" +
			"Parameter 2 to routine DGEMM was incorrect\nParameter 8 to routine DGEMM was incorrect\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			says, err := check(t, nil, test.args...)
			gemmtest.Must(t, err)
			if !strings.HasPrefix(says, test.says) || test.says == "" && says != "" {
				t.Errorf("prints %q, want %q", says, test.says)
			}
		})
	}
}

// TestXerbla has a program with error functions of its own get the errors.
func TestXerbla(t *testing.T) {
	says, err := output(t.Context(), nil, filepath.Join(library(t), "check-xerbla"), "errors")
	const want = "cblas_xerbla 9 cblas_dgemm: ldb is 3, must be at least 4\nxerbla 2 DGEMM \nxerbla 8 DGEMM \n"
	if err != nil || says != want {
		t.Errorf("prints %q, error %v; want %q", says, err, want)
	}
}

// TestPositions compares the position of each wrong argument with the reference's.
func TestPositions(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), filepath.Join(library(t), "check-xerbla"), "positions")
	if says, err := cmd.Output(); err != nil || string(says) != "60 calls\n" {
		t.Errorf("prints %q, error %v", says, err)
	}
}

// TestUnload has a program that is not linked with the library load it, compute and unload it.
func TestUnload(t *testing.T) {
	program := filepath.Join(t.TempDir(), "unload")
	file := filepath.Join(library(t), "libgemm.so")
	_, err := output(t.Context(), nil, "gcc", "-Wall", "-Werror", "-I.", "testdata/unload.c", "-o", program, "-ldl")
	gemmtest.Must(t, err)
	if says, err := output(t.Context(), nil, program, file); err != nil || says != "" {
		t.Errorf("prints %q, error %v", says, err)
	}
}

// TestEnded raises signals that the program does not handle. They end it, as they do without the library.
func TestEnded(t *testing.T) {
	signals := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGPIPE, syscall.SIGSEGV, syscall.SIGFPE}
	for _, number := range signals {
		_, err := check(t, nil, "ended", fmt.Sprint(int(number)))
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != number {
			t.Errorf("after %v: %v", number, err)
		}
	}
}

func TestThreadsOfEnvironment(t *testing.T) {
	const ignored = "libgemm: GEMM_NUM_THREADS is %q, must be a number from 1 to 16384; it is ignored\n"
	tests := []struct{ own, openMP, want, says string }{
		{"3", "5", "3", ""},
		{"", "5,2", "5", ""},
		{"none", "4", "4", fmt.Sprintf(ignored, "none")},
		{"0", "2", "2", fmt.Sprintf(ignored, "0")},
	}
	for _, test := range tests {
		env := []string{"GEMM_NUM_THREADS=" + test.own, "OMP_NUM_THREADS=" + test.openMP}
		says, err := check(t, env, "standard", test.want)
		if err != nil || says != test.says {
			t.Errorf("GEMM_NUM_THREADS=%s OMP_NUM_THREADS=%s: prints %q, error %v", test.own, test.openMP, says, err)
		}
	}
}

// TestExports compares the exported symbols with a list. The library has no others, so none of its
// functions takes the place of one of the program.
func TestExports(t *testing.T) {
	file, err := elf.Open(filepath.Join(library(t), "libgemm.so"))
	gemmtest.Must(t, err)
	defer file.Close()
	symbols, err := file.DynamicSymbols()
	gemmtest.Must(t, err)
	var names []string
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF {
			names = append(names, s.Name)
		}
	}
	want := []string{"gemm_error", "gemm_threads", "gemm_variants", "gemm_version", "gemm_cuda_variants",
		"gemm_cuda_recipe", "gemm_free", "gemm_product", "gemm_multiply", "gemm_bound"}
	for _, x := range []string{"s", "d", "c", "z"} {
		routines := []string{"gemm", "gemmtr", "gemmt", "symm", "syrk", "syr2k", "trmm", "trsm"}
		if x == "c" || x == "z" {
			routines = append(routines, "hemm", "herk", "her2k")
		} else {
			want = append(want, "gemm_"+x+"gemm", "gemm_"+x+"gemm_batch_strided")
		}
		for _, name := range routines {
			for _, form := range strings.Fields("cblas_# cblas_#_64 cblas_#64_ #_ #_64_ scipy_cblas_# " +
				"scipy_cblas_#64_ scipy_#_ scipy_#_64_") {
				want = append(want, strings.ReplaceAll(form, "#", x+name))
			}
		}
	}
	slices.Sort(names)
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("exports %v,\nwant %v", names, want)
	}
}

// TestModules checks that the library has no code of commands, drawings and GPUs.
func TestModules(t *testing.T) {
	info, err := buildinfo.ReadFile(filepath.Join(library(t), "libgemm.so"))
	gemmtest.Must(t, err)
	for _, module := range info.Deps {
		switch module.Path {
		case "gonum.org/v1/gonum", "github.com/klauspost/cpuid/v2", "golang.org/x/sys":
		case "github.com/ebitengine/purego", "github.com/gofrs/flock": // of package cuda, for its recipes
		default:
			t.Errorf("the library has code of %s", module.Path)
		}
	}
}

// TestHeader compiles gemm.h alone, as C and as C++.
func TestHeader(t *testing.T) {
	library(t)
	for _, language := range []string{"-xc -std=c99", "-xc++ -std=c++11"} {
		t.Run(language, func(t *testing.T) {
			args := append(strings.Fields(language), "-Wall", "-Wextra", "-pedantic", "-Werror", "-DGEMM_CBLAS",
				"-fsyntax-only", "gemm.h")
			_, err := output(t.Context(), nil, "gcc", args...)
			if err != nil && strings.Contains(err.Error(), "cc1plus") {
				t.Skip("gcc has no compiler for C++; install g++")
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}
