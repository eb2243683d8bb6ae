package gemmtest

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// nobody is a user without rights.
const nobody = 65534

// OpenFolder returns a new folder in which everybody may write.
func OpenFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// AsNobody calls f with the rights of a user who may write only what everybody may: those of nobody, for files that f
// opens itself, if the test has those of root.
func AsNobody(t *testing.T, f func()) {
	t.Helper()
	if root := os.Getuid(); root == 0 {
		runtime.LockOSThread() // the rights are those of a thread
		defer runtime.UnlockOSThread()
		if err := syscall.Setfsuid(nobody); err != nil {
			t.Fatal(err)
		}
		defer syscall.Setfsuid(root)
	}
	f()
}
