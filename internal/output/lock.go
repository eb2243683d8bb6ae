package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// ErrInUse says that another process holds the lock of a file.
var ErrInUse = errors.New("is in use")

// Lock is a lock on a file for the process that may change it over a longer time. The operating system
// releases it when the process ends, for any reason.
type Lock struct {
	file *flock.Flock // nil if the file system has no locks
}

// lockHead is the beginning of the text in a lock file, which names the holder.
const lockHead = "gemm: process "

// NewLock locks the file called name for this process. It does not wait: if another process holds the lock,
// the error wraps ErrInUse and names that process. The lock is a file next to the locked one. A lock
// file of a killed process does not count.
//
// If the file system has no locks, nothing is locked, and there is no error.
func NewLock(name string) (*Lock, error) {
	target, _, err := resolve(name)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(filepath.Dir(target), "."+filepath.Base(target)+".gemm-lock")
	for {
		if err := checkLock(path); err != nil {
			return nil, err
		}
		file := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDONLY), flock.SetPermissions(Permissions))
		held, err := file.TryLock()
		switch {
		case errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.ENOLCK): // the file system has no locks
			return &Lock{}, nil
		case err != nil:
			return nil, Unwritable(name, err)
		case !held:
			return nil, inUse(name, path)
		case !stands(file): // the last holder has just removed it
			release(file)
			continue
		}
		host, _ := os.Hostname()
		// A file of another user keeps its text; the lock is held nevertheless.
		_ = os.WriteFile(path, fmt.Appendf(nil, "%s%d on %s\n", lockHead, os.Getpid(), host), Permissions)
		return &Lock{file}, nil
	}
}

// Release gives the lock up and removes its file.
func (l *Lock) Release() {
	if l == nil || l.file == nil {
		return
	}
	_ = os.Remove(l.file.Path()) // before it is released: the next process creates another
	release(l.file)
	l.file = nil
}

// checkLock returns an error if path exists and was not written by NewLock.
func checkLock(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return nil // NewLock reports the error
	}
	if info.Mode().IsRegular() {
		if text, err := os.ReadFile(path); err != nil || len(text) == 0 || strings.HasPrefix(string(text), lockHead) {
			return nil
		}
	}
	return fmt.Errorf("%s: has the name of a lock and is none of this program: move it away", path)
}

// inUse returns the error that names the process that holds the lock at path of the file called name.
func inUse(name, path string) error {
	holder := "another process"
	if text, err := os.ReadFile(path); err == nil {
		if named, ok := strings.CutPrefix(strings.TrimSpace(string(text)), lockHead); ok {
			holder = "process " + named
		}
	}
	return fmt.Errorf("%s %w by %s: wait until it ends, or name another file", name, ErrInUse, holder)
}

// hold locks the file that this process has just created at path. held is false if a sweep was faster. lock
// is nil in two cases: the file system has no locks (it is never swept), and on Windows, where no
// process can remove an open file.
func hold(path string) (lock *flock.Flock, held bool) {
	if runtime.GOOS == "windows" {
		return nil, true
	}
	lock = flock.New(path, flock.SetFlag(os.O_RDONLY))
	switch locked, err := lock.TryLock(); {
	case errors.Is(err, fs.ErrNotExist), err == nil && !locked:
		return nil, false
	case err != nil:
		return nil, true
	case !stands(lock):
		release(lock)
		return nil, false
	}
	return lock, true
}

// abandoned returns the lock of the file at path if it is a regular file, is older than before, and no
// process holds its lock; otherwise nil. The caller removes the file and releases the lock.
func abandoned(path string, before time.Time) *flock.Flock {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || !info.ModTime().Before(before) {
		return nil
	}
	lock := flock.New(path, flock.SetFlag(os.O_RDONLY))
	if locked, err := lock.TryLock(); err != nil || !locked {
		return nil
	}
	if !stands(lock) {
		release(lock)
		return nil
	}
	return lock
}

// stands reports whether the locked file still has its name.
func stands(lock *flock.Flock) bool {
	locked, err := lock.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(lock.Path())
	return err == nil && os.SameFile(locked, named)
}

// release releases a lock, which may be nil.
func release(lock *flock.Flock) {
	if lock != nil {
		_ = lock.Close() // at the latest the system releases it at the end of the process
	}
}
