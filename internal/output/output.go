// Package output writes files that must never be half written: records, reports, matrices, shards and settings.
//
// A file is written under a temporary name in the same folder, synced to disk, and then renamed. After an
// error, with a full disk, or if the process is killed, the old file is unchanged. A file that is
// replaced keeps its permissions. If this user may not write it, it is replaced only with force. If the name is a
// symbolic link, the file that it points to is replaced, and the link stays.
//
// A killed process leaves temporary files, lock files and scratch folders. The next start removes them,
// and nothing else: a file is removed only if its name has the fixed form with 16 random hexadecimal
// digits, if it is older than the sweep, and if no process holds its lock. A process holds the lock of
// everything that it has created here while it lives.
package output

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/gofrs/flock"
)

// Permissions are the permissions of a new file, before the umask.
const Permissions fs.FileMode = 0o644

// Pending is a file under a temporary name. Commit renames it to its name.
type Pending struct {
	file   *os.File
	name   string       // as the caller gave it
	target string       // the final file; not a link
	lock   *flock.Flock // of the temporary file; nil if the file system has no locks
	done   bool
}

// Create returns a temporary file that will replace the file called name. It gets the permissions of an
// existing file; otherwise they are perm before the umask. With force, it also replaces a file that is
// write-protected. The caller must call Discard at the end in any case.
func Create(name string, perm fs.FileMode, force bool) (*Pending, error) {
	target, old, err := resolve(name)
	if err != nil {
		return nil, err
	}
	if old != nil {
		perm = old.Mode().Perm()
		if err := mayWrite(target); err != nil && !force {
			return nil, Unwritable(name, err)
		}
	}
	for {
		file, err := os.OpenFile(temporary(target), os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
		switch {
		case errors.Is(err, fs.ErrExist):
			continue
		case err != nil:
			return nil, Unwritable(name, err)
		}
		lock, held := hold(file.Name())
		if !held { // a sweep has removed it before it was locked
			_ = file.Close()
			continue
		}
		if old != nil { // undo the umask; if it fails, fewer users may read the file
			_ = file.Chmod(perm)
		}
		return &Pending{file: file, name: name, target: target, lock: lock}, nil
	}
}

// Write implements io.Writer. The error names the final file.
func (p *Pending) Write(b []byte) (int, error) {
	n, err := p.file.Write(b)
	return n, Unwritable(p.name, err)
}

// WriteAt implements io.WriterAt. The error names the final file.
func (p *Pending) WriteAt(b []byte, off int64) (int, error) {
	n, err := p.file.WriteAt(b, off)
	return n, Unwritable(p.name, err)
}

// Name returns the name of the final file, as the caller of Create gave it.
func (p *Pending) Name() string { return p.name }

// ReadAt implements io.ReaderAt.
func (p *Pending) ReadAt(b []byte, off int64) (int, error) { return p.file.ReadAt(b, off) }

// SetAttributes sets the permissions and the time of the last change. The file must not be written after that.
func (p *Pending) SetAttributes(mode fs.FileMode, changed time.Time) error {
	mode &= fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
	if err := os.Chmod(p.file.Name(), mode); err != nil {
		return Unwritable(p.name, err)
	}
	return Unwritable(p.name, os.Chtimes(p.file.Name(), changed, changed))
}

// sync writes the file to disk. The error names the final file.
func (p *Pending) sync() error { return Unwritable(p.name, p.file.Sync()) }

// Commit writes the file to disk and renames it to its name, replacing an existing file. After an error
// the existing file is unchanged.
func (p *Pending) Commit() error {
	if err := p.sync(); err != nil {
		return err
	}
	return p.rename()
}

// rename is Commit for a file that is on the disk.
func (p *Pending) rename() error {
	if runtime.GOOS == "windows" { // cannot rename an open file
		_ = p.file.Close()
	}
	if err := os.Rename(p.file.Name(), p.target); err != nil {
		return Unwritable(p.name, err)
	}
	p.done = true
	_ = p.file.Close() // it is on the disk
	release(p.lock)
	return nil
}

// Discard removes the temporary file, unless Commit has renamed it.
func (p *Pending) Discard() {
	if p.done {
		return
	}
	p.done = true
	_ = p.file.Close()
	_ = os.Remove(p.file.Name())
	release(p.lock)
}

// Write is Replace, and also removes what killed processes left of the file.
func Write(name string, data []byte, perm fs.FileMode, force bool) error {
	Sweep(name)
	return Replace(name, data, perm, force)
}

// Replace replaces the file called name by a file with the data, completely or not at all. A new file has the
// permissions perm before the umask; force is Create's.
func Replace(name string, data []byte, perm fs.FileMode, force bool) error {
	p, err := Create(name, perm, force)
	if err != nil {
		return err
	}
	defer p.Discard()
	if _, err := p.Write(data); err != nil {
		return err
	}
	return p.Commit()
}

// Writable returns an error if a file called name could not be written. It checks that an existing file is
// a regular file that may be written, and that the folder exists and is writable.
func Writable(name string, force bool) error {
	p, err := Create(name, Permissions, force)
	if err != nil {
		return err
	}
	p.Discard()
	return nil
}

// mayWrite returns an error if the file is write-protected. A rename would replace it nevertheless if its folder may
// be written.
func mayWrite(target string) error {
	file, err := os.OpenFile(target, os.O_WRONLY, 0)
	switch {
	case err == nil:
		return file.Close()
	case errors.Is(err, fs.ErrPermission):
		return errors.New("the file is write-protected: chmod u+w permits it, or name another")
	}
	return nil // Create says what else there is
}

// resolve follows symbolic links and returns the file that name points to, and its info, or nil if it does
// not exist: the last link may point to nothing. An existing file must be a regular file.
func resolve(name string) (target string, info fs.FileInfo, err error) {
	// In /proc, a device or a pipe may have a link that points to no file.
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return "", nil, fmt.Errorf("%s: is not a regular file; name another", name)
	}
	const most = 40 // links, as on Linux
	target = name
	for range most {
		dir, base := filepath.Split(target)
		if dir, err = filepath.EvalSymlinks(cmp.Or(dir, ".")); err != nil {
			return "", nil, Unwritable(name, err)
		}
		target = filepath.Join(dir, base)
		info, err := os.Lstat(target)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return target, nil, nil
		case err != nil:
			return "", nil, Unwritable(name, err)
		case info.Mode()&fs.ModeSymlink == 0:
			return target, info, nil
		}
		link, err := os.Readlink(target)
		if err != nil {
			return "", nil, Unwritable(name, err)
		}
		if !filepath.IsAbs(link) { // not cleaned: ".." may follow a link
			link = dir + string(filepath.Separator) + link
		}
		target = link
	}
	return "", nil, fmt.Errorf("%s: cannot be written: more than %d symbolic links follow one another", name, most)
}

// fault is the reason why a file cannot be written.
type fault struct {
	name string
	err  error
}

func (f *fault) Error() string { return fmt.Sprintf("%s: cannot be written: %v", f.name, f.err) }
func (f *fault) Unwrap() error { return f.err }

// Unwritable returns an error that says why name cannot be written, without the temporary file's name. It is
// nil if err is nil, and err if that already says so.
func Unwritable(name string, err error) error {
	var said *fault
	if err == nil || errors.As(err, &said) {
		return err
	}
	return &fault{name, Cause(err)}
}

// Cause returns err without the file name and the call that package os adds.
func Cause(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}
