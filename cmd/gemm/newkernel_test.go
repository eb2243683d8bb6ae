package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNewKernel writes both sources, refuses to replace them, and replaces them with --force.
func TestNewKernel(t *testing.T) {
	dir := t.TempDir()
	for language, file := range map[string]string{"c": "kernel.c", "cuda": "kernel.cu"} {
		r := succeed(t, dir, "new-kernel", language)
		source, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil || !strings.Contains(r.stdout, "--bring "+file) || !strings.Contains(string(source), "matmul(") {
			t.Fatalf("%v, %q", err, r.stdout)
		}
		if shown := succeed(t, dir, "new-kernel", language, "--out", "-").stdout; shown != string(source) {
			t.Errorf("--out - shows %q", shown)
		}
		write(t, filepath.Join(dir, file), "mine")
		fail(t, dir, 1, file+" exists already: replace it with --force", "new-kernel", language)
		if kept, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(kept) != "mine" {
			t.Errorf("%q, %v", kept, err)
		}
		succeed(t, dir, "new-kernel", language, "--force")
		if again, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(again) != string(source) {
			t.Errorf("--force did not replace the file: %v", err)
		}
	}
}
