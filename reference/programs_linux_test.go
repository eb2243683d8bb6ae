package reference

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gemm"
	"gemm/gemmtest"
	"gemm/internal/peer"
)

// needCompiler skips the test where there is no C compiler.
func needCompiler(t *testing.T) {
	t.Helper()
	_, err := theCompiler()
	gemmtest.Require(t, "gcc", err)
}

// TestPrograms runs the conformance suite on the textbook programs in C.
func TestPrograms(t *testing.T) {
	needCompiler(t)
	for _, v := range programVariants() {
		t.Run(v.Name, func(t *testing.T) {
			params := []gemm.Params{nil, {"cflags": "-O0"}}
			if v.Has("threads") { // on few processors, threads spin in each other's way unless they are more
				params = []gemm.Params{{"threads": 3}, {"threads": 3, "schedule": "default"},
					{"threads": 3, "schedule": "dynamic", "chunk": 3}, {"threads": 3, "schedule": "guided"},
					{"threads": 3, "schedule": "auto"}, {"threads": 3, "schedule": "none"}}
			}
			gemmtest.Suite{OneCall: true}.Run(t, v, params...)
			m, err := v.F64(must(v.Resolve(nil)))
			gemmtest.Must(t, err)
			resolved := m.(gemm.Explainer).Resolved()
			if resolved["compiler"] == "" || resolved["process"] != "own" || !strings.Contains(resolved.Text("cflags"),
				"-O3") {
				t.Errorf("resolved are %v", resolved)
			}
		})
	}
}

func must(p gemm.Params, err error) gemm.Params {
	if err != nil {
		panic(err)
	}
	return p
}

// TestOptionsAreUsed looks for what the options do: each program is another file with each of them. But restrict
// changes nothing without optimization.
func TestOptionsAreUsed(t *testing.T) {
	needCompiler(t)
	files := map[string]string{}
	for _, options := range cFlags {
		for _, name := range []string{"c-naive", "c-local", "c-restrict", "c-ikj"} {
			if name == "c-restrict" && options == "-O0" {
				continue
			}
			x, err := newCompiled[float64](name, options)
			gemmtest.Must(t, err)
			data, err := os.ReadFile(x.file)
			gemmtest.Must(t, err)
			if other, again := files[string(data)]; again {
				t.Errorf("%s with %s is the same file as %s", name, options, other)
			}
			files[string(data)] = name + " with " + options
		}
	}
}

// TestNoCompiler looks for a compiler where there is none, and where it is something else.
func TestNoCompiler(t *testing.T) {
	empty := t.TempDir()
	t.Setenv("PATH", empty)
	_, err := findCompiler()
	if !errors.Is(err, gemm.ErrUnavailable) || strings.Contains(err.Error(), "\n") ||
		!strings.Contains(err.Error(), "there is no C compiler among gcc, clang, cc: install gcc") {
		t.Errorf("the error is %v", err)
	}
	gemmtest.Must(t, os.WriteFile(filepath.Join(empty, "gcc"), []byte("#!/bin/sh\nexit 3\n"), 0o755))
	if _, err = findCompiler(); !errors.Is(err, gemm.ErrUnavailable) || !strings.Contains(err.Error(),
		"the compiler gcc: exit status 3") {
		t.Errorf("the error is %v", err)
	}
	c := peer.Compiler{Command: []string{filepath.Join(empty, "gcc")}, Version: "fake"}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	if _, err := build(c, "c-naive", "double", native); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("a compiler that refuses: the error is %v", err)
	}
}

// TestOpenMPTakesItsSettings asks for more threads than OpenMP gives, and computes under a cancelled
// context.
func TestOpenMPTakesItsSettings(t *testing.T) {
	needCompiler(t)
	t.Setenv("OMP_THREAD_LIMIT", "2")
	v := openMPCollapseVariant()
	m, err := v.F32(must(v.Resolve(gemm.Params{"threads": 3, "schedule": "guided", "chunk": 2})))
	gemmtest.Must(t, err)
	x := m.(*textbook[float32])
	// A process that is idle has the limit of its start.
	var kept []*peer.Library
	for l, ok := idlePrograms.Get(x.file); ok; l, ok = idlePrograms.Get(x.file) {
		kept = append(kept, l)
	}
	defer func() {
		for _, l := range kept {
			idlePrograms.Put(x.file, l)
		}
	}()
	c, a, b := operands[float32](4, 5, 6)
	if _, err := x.Stage(context.Background(), c, a, b); !errors.Is(err, gemm.ErrUnavailable) ||
		!strings.Contains(err.Error(), "OpenMP gives 2 of 3 threads") {
		t.Errorf("the error is %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := x.Multiply(ctx, c, a, b); !errors.Is(err, context.Canceled) {
		t.Errorf("with a cancelled context the error is %v", err)
	}
}

// TestOpenMPSchedules: the record says which schedule ran. In libgomp, schedule(runtime) is dynamic if none is set.
func TestOpenMPSchedules(t *testing.T) {
	needCompiler(t)
	for requested, ran := range map[string]string{"default": "dynamic", "static": "static", "auto": "auto",
		"none": "none"} {
		x, err := newOpenMPCollapse[float64](gemm.Params{"threads": 2, "schedule": requested, "chunk": 0})
		gemmtest.Must(t, err)
		c, a, b := operands[float64](4, 5, 6)
		gemmtest.Must(t, x.Multiply(t.Context(), c, a, b))
		if got := x.(gemm.Explainer).Resolved()["schedule"]; got != ran {
			t.Errorf("%s ran as %v, want %s", requested, got, ran)
		}
	}
}
