//go:build unix

package reference

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gemm"
)

// A pipe must not be opened as a library: that blocks until somebody writes to it.
func TestPipeIsNoLibrary(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "libpipe.so")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GEMM_PIPE", pipe)
	load := func(name string) (*routines, error) {
		t.Errorf("%s was opened", name)
		return new(routines), nil
	}
	named := library{title: "pipe", variable: "GEMM_PIPE"}
	found := library{title: "pipe", variable: "GEMM_NO_PIPE", names: []string{filepath.Join(filepath.Dir(pipe), "lib*.so")}}
	for _, l := range []*library{&named, &found} {
		_, err := l.search(load)
		if !errors.Is(err, gemm.ErrUnavailable) || !strings.Contains(err.Error(), "it is no regular file") {
			t.Errorf("%s: %v", l.variable, err)
		}
	}
}
