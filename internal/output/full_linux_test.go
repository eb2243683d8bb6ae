package output

import (
	"errors"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// TestFullDisk replaces a file on a disk that has no room for the new one.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("a small file system: %v: run as root", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, 0) })
	name := filepath.Join(dir, "file")
	put(t, name, "old")
	if err := Write(name, make([]byte, 1<<20), Permissions, false); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("1 MiB fits on 64 KiB: %v", err)
	}
	has(t, name, "old", 0o600)
	if left := entries(t, dir); !slices.Equal(left, []string{"file"}) {
		t.Errorf("left are %v", left)
	}
}
