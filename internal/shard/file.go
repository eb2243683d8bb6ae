package shard

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"gemm/internal/output"
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

// pendings are files that come into being together. No shard has the temporary name of one,
// whatever is in it.
type pendings []*output.Pending

// create adds a file that will be called name. A new one has the permissions of mode, but the
// owner may read and write it.
func (ps *pendings) create(name string, mode fs.FileMode) (*output.Pending, error) {
	p, err := output.Create(name, mode.Perm()&0o666|0o600)
	if err == nil {
		*ps = append(*ps, p)
	}
	return p, err
}

// commit brings all files to the disk and then gives them their names, replacing what has
// them. An error or a context that ends before the first has its name leaves all to
// discard.
func (ps *pendings) commit(ctx context.Context) error {
	for _, p := range *ps {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := p.Sync(); err != nil {
			return err
		}
	}
	for len(*ps) > 0 {
		p := (*ps)[0]
		if err := p.Commit(); err != nil {
			return err
		}
		*ps = (*ps)[1:]
		if len(*ps) == 0 || (*ps)[0].Folder() != p.Folder() {
			syncFolder(p.Folder())
		}
	}
	return nil
}

// discard removes the files that have not got their names.
func (ps *pendings) discard() {
	for _, p := range *ps {
		p.Discard()
	}
}

// lockFolder has this process be the one that writes shards in the folder.
func lockFolder(dir string) (*output.Lock, error) {
	return output.NewLock(filepath.Join(dir, "shards"))
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
