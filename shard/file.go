package shard

import (
	"io"
	"path/filepath"

	"gemm/internal/output"
)

// part is a range of a file, from start on, with the size of a payload. As a source it reads zeros after the end of the
// file; as a sink it writes nothing there.
type part struct {
	file interface {
		io.ReaderAt
		io.WriterAt
	}
	start, length int64 // length is the whole file's
}

// inside returns the bytes of p, at offset off of the part, that are within the file.
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

// lockFolder locks the folder, so that only this process writes shards in it.
func lockFolder(dir string) (*output.Lock, error) {
	return output.NewLock(filepath.Join(dir, "shards"))
}
