//go:build unix

package dl

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"gemm/gemmtest"
)

// plant writes an empty file, and the folders above it.
func plant(t *testing.T, path ...string) string {
	t.Helper()
	file := filepath.Join(path...)
	gemmtest.Must(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, nil, 0o644)))
	return file
}

// TestCandidates wants the files of the environment in use before the names of the system, and takes
// the names of folders literally.
func TestCandidates(t *testing.T) {
	venv, conda := filepath.Join(t.TempDir(), "my [venv]"), t.TempDir()
	want := []string{
		plant(t, venv, "lib/libx.so.3"), plant(t, venv, "lib/libx.so.2"),
		plant(t, venv, "lib/python3.11/site-packages/x_pip/libx.so"), plant(t, conda, "lib/libx.so.9"), "libx.so",
	}
	plant(t, venv, "lib/liby.so")
	t.Setenv("VIRTUAL_ENV", venv)
	t.Setenv("CONDA_PREFIX", conda)
	var got []string
	for name := range candidates(Search{Names: []string{"libx.so"}, Pip: []string{"lib/libx.so.*", "x_pip/libx.so"}}) {
		if got = append(got, name); name == "libx.so" {
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	got = slices.Collect(candidates(Search{Names: []string{"libx.so"}}))
	if !slices.Equal(got, want[4:]) {
		t.Errorf("without packages of pip: %q, want %q", got, want[4:])
	}
}

// TestCurrentFolder asks Python in a folder with a module of the name of one of Python's own. It is not run.
func TestCurrentFolder(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	dir := t.TempDir()
	t.Chdir(dir)
	gemmtest.Must(t, os.WriteFile("json.py", []byte("open('ran', 'w')\n"), 0o600))
	got := foldersOf(python)
	if _, err := os.Stat("ran"); err == nil || len(got) == 0 || slices.Contains(got, dir) {
		t.Errorf("the folders are %q; the module in the current folder ran: %v", got, err == nil)
	}
}

// TestFoldersOf asks programs in the place of Python.
func TestFoldersOf(t *testing.T) {
	for _, c := range []struct {
		script string
		want   []string
	}{
		{`echo '["/usr", "/home/me/.local", "", "relative", "/usr/lib/site-packages"]'`,
			[]string{"/usr", "/home/me/.local", "/usr/lib/site-packages"}},
		{"echo not a list", nil},
		{`echo '["/usr"]'; exit 1`, nil},
	} {
		python := filepath.Join(t.TempDir(), "python3")
		gemmtest.Must(t, os.WriteFile(python, []byte("#!/bin/sh\n"+c.script+"\n"), 0o755))
		if got := foldersOf(python); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.script, got, c.want)
		}
	}
	if got := foldersOf("no-such-python"); got != nil {
		t.Errorf("a Python that is not there has the folders %q", got)
	}
}
