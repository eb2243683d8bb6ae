package gemmtest

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// unprivileged is the id of a user without rights.
const unprivileged = 65534

// OpenFolder returns a new folder in which every user may write.
func OpenFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	Must(t, errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o777)))
	return dir
}

// Unprivileged calls f with the file permissions of a user without rights if the test runs as root. Only files that f
// opens itself are affected.
func Unprivileged(t *testing.T, f func()) {
	t.Helper()
	if root := os.Getuid(); root == 0 {
		runtime.LockOSThread() // the file permissions belong to the thread
		defer runtime.UnlockOSThread()
		Must(t, syscall.Setfsuid(unprivileged))
		defer syscall.Setfsuid(root)
	}
	f()
}
