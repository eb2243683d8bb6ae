// Package output writes files that others rely on: records, reports, matrices, shards and
// settings.
//
// A file is written under a temporary name in its own folder, brought to the disk and then
// renamed. An error, a full disk or a killed process leaves what was there before. A file that
// is replaced keeps its permissions. A symbolic link is followed: the file that it names is
// written, and the link stays.
//
// A killed process leaves temporary files, lock files and scratch folders. The package removes
// them at the next start, and nothing else. What it removes has a name of a fixed form with 16
// random hexadecimal digits, is older than the sweep, and has a lock that no process holds:
// while a process lives, it holds the lock of everything that it has created here.
package output

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/gofrs/flock"
)

// Permissions of a new file, before the umask.
const Permissions fs.FileMode = 0o644

// Pending is a file under a temporary name. Commit gives it the name that it is for.
type Pending struct {
	file   *os.File
	name   string       // as the caller wrote it
	target string       // the file to come; no link
	lock   *flock.Flock // of the temporary file; nil where the file system has none
	done   bool
}

// Create returns a temporary file that is to replace the file called name. A file that is
// there already gives it its permissions; otherwise they are perm before the umask. The caller
// calls Discard in the end, whatever happens.
func Create(name string, perm fs.FileMode) (*Pending, error) {
	target, old, err := resolve(name)
	if err != nil {
		return nil, err
	}
	if old != nil {
		perm = old.Mode().Perm()
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
		if !held { // a sweep has taken it before it was locked
			_ = file.Close()
			continue
		}
		if old != nil { // what the umask has taken; where it fails, fewer may read the file
			_ = file.Chmod(perm)
		}
		return &Pending{file: file, name: name, target: target, lock: lock}, nil
	}
}

// Write implements io.Writer. The error names the file to come.
func (p *Pending) Write(b []byte) (int, error) {
	n, err := p.file.Write(b)
	return n, Unwritable(p.name, err)
}

// WriteAt implements io.WriterAt. The error names the file to come.
func (p *Pending) WriteAt(b []byte, off int64) (int, error) {
	n, err := p.file.WriteAt(b, off)
	return n, Unwritable(p.name, err)
}

// ReadAt implements io.ReaderAt.
func (p *Pending) ReadAt(b []byte, off int64) (int, error) { return p.file.ReadAt(b, off) }

// sync brings what has been written to the disk. The error names the file to come.
func (p *Pending) sync() error { return Unwritable(p.name, p.file.Sync()) }

// Commit brings the file to the disk and gives it its name. It replaces the file that has the
// name. After an error that file is as it was.
func (p *Pending) Commit() error {
	if err := p.sync(); err != nil {
		return err
	}
	if runtime.GOOS == "windows" { // renames no open file
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

// Discard removes the temporary file, unless Commit has given it its name.
func (p *Pending) Discard() {
	if p.done {
		return
	}
	p.done = true
	_ = p.file.Close()
	_ = os.Remove(p.file.Name())
	release(p.lock)
}

// Write replaces the file called name by one with the data, whole or not at all, and removes
// what killed processes left of it. A new file has the permissions perm before the umask.
func Write(name string, data []byte, perm fs.FileMode) error {
	Sweep(name)
	p, err := Create(name, perm)
	if err != nil {
		return err
	}
	defer p.Discard()
	if _, err := p.Write(data); err != nil {
		return err
	}
	return p.Commit()
}

// Writable returns an error unless a file called name can be expected to be written: what has
// the name is a regular file, and the folder is there and can be written to.
func Writable(name string) error {
	p, err := Create(name, Permissions)
	if err != nil {
		return err
	}
	p.Discard()
	return nil
}

// resolve returns the file that name stands for, with symbolic links followed, and what is
// there, nil where nothing is: the last of the links may name no file yet. What is there is a
// regular file.
func resolve(name string) (target string, info fs.FileInfo, err error) {
	// A device or a pipe may have a link that names no file, as in /proc.
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
		if !filepath.IsAbs(link) { // not cleaned: ".." is that of the folder that a link names
			link = dir + string(filepath.Separator) + link
		}
		target = link
	}
	return "", nil, fmt.Errorf("%s: cannot be written: more than %d symbolic links follow one another", name, most)
}

// fault says why a file cannot be written.
type fault struct {
	name string
	err  error
}

func (f *fault) Error() string { return fmt.Sprintf("%s: cannot be written: %v", f.name, f.err) }
func (f *fault) Unwrap() error { return f.err }

// Unwritable says why name cannot be written, without the name of the temporary file that
// stands in for it. It is nil where err is, and err where that says so already.
func Unwritable(name string, err error) error {
	var said *fault
	if err == nil || errors.As(err, &said) {
		return err
	}
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		err = path.Err
	case errors.As(err, &link):
		err = link.Err
	}
	return &fault{name, err}
}
