//go:build cgo && linux

package main

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gemm/gemmtest"
)

// python returns a Python that has NumPy. Debian's NumPy is for its own Python only.
func python(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if path, err := exec.LookPath(name); err == nil {
			if _, err := output(t.Context(), nil, path, "-c", "import numpy"); err == nil {
				return path
			}
		}
	}
	gemmtest.Require(t, "numpy", errors.New("no python3 has NumPy; install python3-numpy"))
	return ""
}

// TestNumPy compares products of the library, and all routines of level 3, with NumPy's.
func TestNumPy(t *testing.T) {
	for name, want := range map[string]string{"ctypes": "200\n", "level3": "760\nlibgemm: this process was forked"} {
		file := filepath.Join(library(t), "libgemm.so")
		says, err := output(t.Context(), nil, python(t), "testdata/check_numpy.py", name, file)
		if err != nil || !strings.HasPrefix(says, want) {
			t.Errorf("%s prints %q, error %v", name, says, err)
		}
	}
}

// TestPreloadedNumPy has NumPy multiply by the library. Its forked processes say that they do.
func TestPreloadedNumPy(t *testing.T) {
	preload := []string{"LD_PRELOAD=" + filepath.Join(library(t), "libgemm.so")}
	says, err := output(t.Context(), preload, python(t), "testdata/check_numpy.py", "preload")
	if err != nil || !strings.HasPrefix(says, "440\n") || !strings.Contains(says, "libgemm: this process was forked") {
		t.Errorf("prints %q, error %v", says, err)
	}
}
