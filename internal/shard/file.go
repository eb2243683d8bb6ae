package shard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// part is the bytes of a file from start on, as many as a payload has: a source, which
// reads zeros behind the end of the file, and a sink, which writes nothing there.
type part struct {
	file interface {
		io.ReaderAt
		io.WriterAt
	}
	start, length int64 // length is the whole file's
}

// inside returns the bytes of p, from off of the part on, that the file has.
func (f part) inside(p []byte, off int64) []byte {
	return p[:max(0, min(int64(len(p)), f.length-f.start-off))]
}

// read implements source.
func (f part) read(p []byte, off int64) error {
	inside := f.inside(p, off)
	clear(p[len(inside):])
	if n, err := f.file.ReadAt(inside, f.start+off); n < len(inside) {
		return err
	}
	return nil
}

// write implements sink.
func (f part) write(p []byte, off int64) error {
	_, err := f.file.WriteAt(f.inside(p, off), f.start+off)
	return err
}

// pending is a file under a temporary name. No shard has such a name, whatever is in it.
type pending struct {
	*os.File
	name string // that it will have
}

// temporary is in the names of pending files, after a dot and the name to come.
const temporary = ".gemm-rs-"

// WriteAt implements io.WriterAt; the error has the name to come.
func (p *pending) WriteAt(b []byte, off int64) (int, error) {
	n, err := p.File.WriteAt(b, off)
	if err != nil {
		err = unwritable(p.name, err)
	}
	return n, err
}

// unwritable says why name cannot be written.
func unwritable(name string, err error) error {
	return fmt.Errorf("%s: cannot be written: %w", name, cause(err))
}

// pendings are files that come into being together.
type pendings []*pending

// create adds a file that will be called name. Its permissions are those of mode, but the
// owner may read and write it.
func (ps *pendings) create(name string, mode fs.FileMode) (*pending, error) {
	dir, base := filepath.Split(name)
	for {
		temp := fmt.Sprintf("%s.%s%s%08x", dir, base, temporary, rand.Uint32())
		switch file, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode.Perm()&0o666|0o600); {
		case err == nil:
			p := &pending{file, name}
			*ps = append(*ps, p)
			return p, nil
		case !errors.Is(err, fs.ErrExist):
			return nil, unwritable(name, err)
		}
	}
}

// commit brings all files to the disk and then gives them their names, replacing what has
// them. An error or a context that ends before the first has its name leaves all to
// discard.
func (ps *pendings) commit(ctx context.Context) error {
	for _, p := range *ps {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := errors.Join(p.Sync(), p.Close()); err != nil {
			return unwritable(p.name, err)
		}
	}
	for len(*ps) > 0 {
		p := (*ps)[0]
		if err := os.Rename(p.Name(), p.name); err != nil {
			return unwritable(p.name, err)
		}
		*ps = (*ps)[1:]
		if len(*ps) == 0 || filepath.Dir((*ps)[0].name) != filepath.Dir(p.name) {
			syncFolder(filepath.Dir(p.name))
		}
	}
	return nil
}

// discard removes the files that have not got their names.
func (ps *pendings) discard() {
	for _, p := range *ps {
		_ = p.Close() // it may be closed
		_ = os.Remove(p.Name())
	}
}

// syncFolder brings the names in a folder to the disk, on systems and file systems where
// that is asked for. Files are synced before, so that a name that is lost is all there is
// to lose.
func syncFolder(dir string) {
	if f, err := os.Open(dir); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
}

// sweep removes what killed processes left of files that are accepted by their names to
// come.
func sweep(dir string, accepts func(name string) bool) {
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		if name, ok := pendingName(entry.Name()); ok && accepts(name) {
			_ = os.Remove(filepath.Join(dir, entry.Name()))
		}
	}
}

// pendingName returns the name to come of a pending file called temp.
func pendingName(temp string) (string, bool) {
	name, hidden := strings.CutPrefix(temp, ".")
	i := strings.LastIndex(name, temporary)
	if !hidden || i < 0 {
		return "", false
	}
	return name[:i], true
}
