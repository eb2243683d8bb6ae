//go:build unix

package dl

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestCheck(t *testing.T) {
	dir := t.TempDir()
	pipe, file, link := filepath.Join(dir, "pipe.so"), filepath.Join(dir, "file.so"), filepath.Join(dir, "link.so")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(pipe, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{pipe, link, dir} {
		if err := Check(name); err == nil {
			t.Errorf("%s may be opened", name)
		}
	}
	// What is absent, the loader says better.
	for _, name := range []string{file, filepath.Join(dir, "absent.so"), "libc.so.6"} {
		if err := Check(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
