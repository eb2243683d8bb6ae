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

// ErrInUse: another process holds the lock of a file.
var ErrInUse = errors.New("is in use")

// Lock is held by the one process that may change a file over a longer time. The operating
// system releases it when the process ends, however it ends.
type Lock struct {
	file *flock.Flock // nil where the file system has no locks
}

// lockHead begins what is in the file of a lock: who holds it.
const lockHead = "gemm: process "

// NewLock locks the file called name for this process. It does not wait: where another process
// holds the lock, the error wraps ErrInUse and names that process. The lock is a file next to
// the one that it is for. One that a killed process left does not count.
//
// Where the file system has no locks, nothing is locked, and there is no error.
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
		case lockless(err):
			return &Lock{}, nil
		case err != nil:
			return nil, Unwritable(name, err)
		case !held:
			return nil, inUse(name, path)
		case !stands(file): // its last holder has just removed it
			release(file)
			continue
		}
		host, _ := os.Hostname()
		// Where the file is another user's, it keeps what it says: the lock holds all the same.
		_ = os.WriteFile(path, fmt.Appendf(nil, "%s%d on %s\n", lockHead, os.Getpid(), host), Permissions)
		return &Lock{file}, nil
	}
}

// Release gives the lock up and removes its file.
func (l *Lock) Release() {
	if l == nil || l.file == nil {
		return
	}
	_ = os.Remove(l.file.Path()) // while it is held: the next process makes another
	release(l.file)
	l.file = nil
}

// checkLock returns an error where path is there and is nothing that NewLock has written.
func checkLock(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return nil // NewLock says what is wrong
	}
	if info.Mode().IsRegular() {
		if text, err := os.ReadFile(path); err != nil || len(text) == 0 || strings.HasPrefix(string(text), lockHead) {
			return nil
		}
	}
	return fmt.Errorf("%s: has the name of a lock and is none of this program: move it away", path)
}

// inUse says which process holds the lock at path of the file called name.
func inUse(name, path string) error {
	holder := "another process"
	if text, err := os.ReadFile(path); err == nil {
		if named, ok := strings.CutPrefix(strings.TrimSpace(string(text)), lockHead); ok {
			holder = "process " + named
		}
	}
	return fmt.Errorf("%s %w by %s: wait until it ends, or name another file", name, ErrInUse, holder)
}

// lockless reports whether err says that a file system has no locks.
func lockless(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.ENOLCK)
}

// hold locks what this process has just created at path. held is false where a sweep was
// faster. The lock is nil where there is none: a file system without locks, which is not swept,
// and Windows, where nothing can remove an open file.
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

// abandoned returns the lock of the file at path if it is a regular file, older than the time,
// and no process holds its lock; else nil. The caller removes the file and releases the lock.
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

// stands reports whether the file that is locked still has its name.
func stands(lock *flock.Flock) bool {
	locked, err := lock.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(lock.Path())
	return err == nil && os.SameFile(locked, named)
}

// release gives up a lock, which may be nil.
func release(lock *flock.Flock) {
	if lock != nil {
		_ = lock.Close() // the system releases it at the end of the process at the latest
	}
}
