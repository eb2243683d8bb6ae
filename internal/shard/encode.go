package shard

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"gemm/gf256"
	"gemm/internal/output"
)

// Encoding describes a call of Encode.
type Encoding struct {
	File         string // the file to encode
	Dir          string // for the shards; made if it is not there
	Data, Parity int    // shards
	Matrix       Matrix
	Force        bool // replace the shards that are there
}

// Encode makes the shards of a file. They get their names when all are complete and on disk; after an error none is
// left. A killed process leaves temporary files, which are not shards; the next Encode removes them.
func (c *Coder) Encode(ctx context.Context, e Encoding) (Set, error) {
	file, info, err := openFile(e.File)
	if err != nil {
		return Set{}, err
	}
	defer file.Close()
	set := Set{Data: e.Data, Parity: e.Parity, Matrix: e.Matrix, Length: info.Size(), Block: c.blockBytes(),
		Version: version}
	_, _ = rand.Read(set.ID[:]) // this never fails
	generator, err := set.generator()
	if err != nil {
		return Set{}, err
	}
	if _, err := e.replaced(info); err != nil {
		return Set{}, err
	}
	switch err := os.Mkdir(e.Dir, 0o777); {
	case err == nil:
		defer os.Remove(e.Dir) // has no effect once there is a shard
	case !errors.Is(err, fs.ErrExist):
		return Set{}, fmt.Errorf("%s: cannot be made: %w", e.Dir, cause(err))
	}
	lock, err := lockFolder(e.Dir)
	if err != nil {
		return Set{}, err
	}
	defer lock.Release()
	old, err := e.replaced(info) // again: from now on no other process writes them
	if err != nil {
		return Set{}, err
	}
	output.SweepFolder(e.Dir, isName)

	var files output.Group
	defer files.Discard()
	all := run{
		to:     set.Payload(),
		matrix: gf256.Matrix{Rows: set.Parity, Cols: set.Data, Data: generator.Data[set.Data*set.Data:]},
	}
	var writers []*writer
	for i := range set.Shards() {
		if i < set.Data {
			all.in = append(all.in, part{file, int64(i) * set.Payload(), set.Length})
		}
		w, err := newWriter(&files, e.Dir, header{Set: set, index: i}, info.Mode())
		if err != nil {
			return Set{}, err
		}
		writers = append(writers, w)
		all.out = append(all.out, []sink{w})
	}
	t := transfer{length: set.Payload(), shards: set.Shards(), block: set.Block, data: set.Data, runs: only(all)}
	err = c.transfer(ctx, t, c.meter("encoding", set.Payload()*int64(set.Data)))
	if err == nil && changed(file, info) || errors.Is(err, io.EOF) {
		return Set{}, fmt.Errorf("%s: was changed while it was read: encode it again", e.File)
	}
	if err != nil {
		return Set{}, err
	}
	for _, w := range writers {
		if err := w.finish(); err != nil {
			return Set{}, err
		}
	}
	if err := c.commit(ctx, &files); err != nil {
		return Set{}, err
	}
	return set, e.remove(old, set.Shards())
}

// commit gives files their names, once all are on the disk.
func (c *Coder) commit(ctx context.Context, files *output.Group) error {
	defer c.Timeline.begin(fileLane, syncing)(0)
	return files.Commit(ctx)
}

// only returns a single run.
func only(r run) iter.Seq2[run, error] {
	return func(yield func(run, error) bool) { yield(r, nil) }
}

// remove removes old shards with numbers beyond the n new ones.
func (e Encoding) remove(old []found, n int) error {
	for _, f := range old {
		if i, named := index(f.name); !named || !f.intact || i < n {
			continue // one of the new shards, or not ours by both name and header
		}
		if err := os.Remove(filepath.Join(e.Dir, f.name)); err != nil {
			return fmt.Errorf("%s: cannot be removed: %w", filepath.Join(e.Dir, f.name), cause(err))
		}
	}
	return nil
}

// openFile opens the file to encode.
func openFile(name string) (*os.File, fs.FileInfo, error) {
	info, err := os.Stat(name) // before it is opened: opening a pipe blocks
	switch {
	case err != nil:
		return nil, nil, unreadable(name, err)
	case info.IsDir():
		return nil, nil, fmt.Errorf("%s: is a folder: pack it into one file first, with tar for example", name)
	case !info.Mode().IsRegular():
		return nil, nil, fmt.Errorf("%s: is not a regular file: shards are cut from several places of it at once", name)
	case info.Size() == 0:
		return nil, nil, fmt.Errorf("%s: is empty: shards of no bytes would protect nothing", name)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, nil, unreadable(name, err)
	}
	return file, info, nil
}

// changed reports whether the file has been replaced or modified.
func changed(file *os.File, before fs.FileInfo) bool {
	now, err := file.Stat()
	return err != nil || now.Size() != before.Size() || !now.ModTime().Equal(before.ModTime())
}

// replaced returns the shards that exist in the folder. Without Force they are an error; with Force there is an error if
// the file to encode is one of them.
func (e Encoding) replaced(file fs.FileInfo) ([]found, error) {
	if _, err := os.Stat(e.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	old, err := find(e.Dir)
	if err != nil {
		return nil, err
	}
	if len(old) > 0 && !e.Force {
		return nil, fmt.Errorf("%s: shards exist already, %d with %s: name another folder, or replace them with --force",
			e.Dir, len(old), old[0].name)
	}
	for _, f := range old {
		name := filepath.Join(e.Dir, f.name)
		info, err := os.Stat(name)
		switch {
		case err == nil && os.SameFile(info, file):
			return nil, fmt.Errorf("%s: is to be encoded, and replaced as %s: name another folder", e.File, name)
		case err == nil && info.IsDir():
			return nil, fmt.Errorf("%s: is a folder: name another place for the shards", name)
		}
	}
	return old, nil
}

// newWriter adds the shard with header h to the group of files, in dir. Temporary names are never names of shards.
func newWriter(files *output.Group, dir string, h header, mode fs.FileMode) (*writer, error) {
	file, err := files.Create(filepath.Join(dir, Name(h.index)), permissions(mode))
	if err != nil {
		return nil, err
	}
	return &writer{header: h, file: file}, nil
}

// permissions returns the permissions of a file that is made from a file with mode: the owner can read and write
// it.
func permissions(mode fs.FileMode) fs.FileMode { return mode.Perm()&0o666 | 0o600 }
