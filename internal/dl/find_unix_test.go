//go:build unix

package dl

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gemm"
	"gemm/gemmtest"
)

func TestRegular(t *testing.T) {
	dir := t.TempDir()
	pipe, file, link := filepath.Join(dir, "pipe.so"), filepath.Join(dir, "file.so"), filepath.Join(dir, "link.so")
	gemmtest.Must(t, syscall.Mkfifo(pipe, 0o600))
	gemmtest.Must(t, os.WriteFile(file, nil, 0o600))
	gemmtest.Must(t, os.Symlink(pipe, link))
	for _, name := range []string{pipe, link, dir} {
		if err := regular(name); err == nil {
			t.Errorf("%s may be opened", name)
		}
	}
	// What is absent, the loader says better.
	for _, name := range []string{file, filepath.Join(dir, "absent.so"), "libc.so.6"} {
		if err := regular(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A pipe must not be opened as a library: that blocks until a process writes to it.
func TestPipeIsNoLibrary(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "libpipe.so")
	gemmtest.Must(t, syscall.Mkfifo(pipe, 0o600))
	t.Setenv("GEMM_PIPE", pipe)
	open := func(name string) (bool, error) {
		t.Errorf("%s was opened", name)
		return true, nil
	}
	named := Search{Title: "pipe", Variable: "GEMM_PIPE"}
	found := Search{Title: "pipe", Variable: "GEMM_NO_PIPE", Names: []string{filepath.Join(filepath.Dir(pipe), "lib*.so")}}
	for _, s := range []Search{named, found} {
		_, err := Find(s, open)
		if !errors.Is(err, gemm.ErrUnavailable) || !strings.Contains(err.Error(), "it is not a regular file") {
			t.Errorf("%s: %v", s.Variable, err)
		}
	}
}
