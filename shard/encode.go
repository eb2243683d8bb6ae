package shard

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gemm/internal/output"
)

// Encoding describes a call of Encode.
type Encoding struct {
	File         string // the file to encode
	Dir          string // for the shards; made if it is not there
	Data, Parity int    // shards
	Matrix       Matrix
	Force        bool // replace the shards that are there; else they are an ErrExists
}

// ErrExists: a file that a call writes exists, and Force is not set.
var ErrExists = errors.New("exists already")

// Encode makes the shards of a file. They get their names when all are complete and on disk; after an error none is
// left. A killed process leaves temporary files, which are not shards; the next Encode removes them.
func (c *Coder) Encode(ctx context.Context, e Encoding) (Set, error) {
	return c.write(ctx, writing{Encoding: e, verb: "encode", replaced: e.replaced})
}

// writing is a call of Encode, or of Protect, which writes parity shards only.
type writing struct {
	Encoding
	parityOnly bool
	verb       string // what it does
	// replaced returns the shards in the folder that the set will replace, or why it must not.
	replaced func(file fs.FileInfo, set Set) ([]found, error)
}

// write makes shards of a file, which must stay as it is meanwhile.
func (c *Coder) write(ctx context.Context, e writing) (Set, error) {
	file, info, err := openFile(e.File)
	if err != nil {
		return Set{}, err
	}
	defer file.Close()
	set := Set{Data: e.Data, Parity: e.Parity, Matrix: e.Matrix, Length: info.Size(), Block: cmp.Or(c.block, defaultBlock),
		Version: version}
	makeFolder, first := os.Mkdir, 0
	if e.parityOnly {
		set.description = originalOf(info).encode()
		makeFolder, first = os.MkdirAll, set.Data
	}
	_, _ = rand.Read(set.ID[:]) // this never fails
	code, err := set.code()
	if err != nil {
		return Set{}, err
	}
	if _, err := e.replaced(info, set); err != nil {
		return Set{}, err
	}
	if err := makeFolder(e.Dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return Set{}, fmt.Errorf("%s: cannot be made: %w", e.Dir, output.Cause(err))
	} else if err == nil {
		defer os.Remove(e.Dir) // has no effect once there is a shard
	}
	lock, err := lockFolder(e.Dir)
	if err != nil {
		return Set{}, err
	}
	defer lock.Release()
	old, err := e.replaced(info, set) // again: from now on no other process writes them
	if err != nil {
		return Set{}, err
	}
	output.SweepFolder(e.Dir, isName)

	var files output.Group
	defer files.Discard()
	all := run{to: set.Payload(), matrix: code.Parities()}
	sums := &tableWriter{set: set}
	for i := range set.Shards() {
		if i < set.Data {
			all.in = append(all.in, part{file, int64(i) * set.Payload(), set.Length})
		}
		if i < first {
			all.out = append(all.out, []sink{tableRow{sums, i}})
			continue
		}
		w, err := newWriter(&files, e.Dir, header{Set: set, index: i}, info.Mode())
		if err != nil {
			return Set{}, err
		}
		sums.to = append(sums.to, w)
		all.out = append(all.out, []sink{w})
	}
	t := transfer{length: set.Payload(), shards: set.Shards(), block: set.Block, data: set.Data,
		runs: func(yield func(run, error) bool) { yield(all, nil) }}
	err = c.transfer(ctx, t, c.meter(strings.TrimSuffix(e.verb, "e")+"ing", set.Payload()*int64(set.Data)))
	if err == nil && changed(file, info) || errors.Is(err, io.EOF) {
		return Set{}, fmt.Errorf("%s: was changed while it was read: %s it again", file.Name(), e.verb)
	}
	if err == nil {
		err = finish(sums.to)
	}
	if err == nil {
		err = commit(ctx, &files)
	}
	if err != nil {
		return Set{}, err
	}
	return set, removeOld(e.Dir, old, first, set.Shards())
}

// finish completes shards.
func finish(shards []*writer) error {
	for _, w := range shards {
		if err := w.finish(); err != nil {
			return err
		}
	}
	return nil
}

// commit gives files their names, once all are on the disk.
func commit(ctx context.Context, files *output.Group) error {
	defer begin(ctx, fileLane, syncing)(0)
	return files.Commit(ctx)
}

// removeOld removes the old shards in a folder that were not replaced by the new ones, which have the numbers from
// first to before end.
func removeOld(dir string, old []found, first, end int) error {
	for _, f := range old {
		if i, named := index(f.name); !named || !f.intact || first <= i && i < end {
			continue // one of the new shards, or not ours by both name and header
		}
		if err := os.Remove(filepath.Join(dir, f.name)); err != nil {
			return fmt.Errorf("%s: cannot be removed: %w", filepath.Join(dir, f.name), output.Cause(err))
		}
	}
	return nil
}

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

// replaced returns the shards in the folder. They are an error without Force, or if the file to encode is one of them.
func (e Encoding) replaced(file fs.FileInfo, _ Set) ([]found, error) {
	if _, err := os.Stat(e.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	old, err := find(e.Dir)
	if err != nil {
		return nil, err
	}
	if len(old) > 0 && !e.Force {
		return nil, fmt.Errorf("%s: a set of shards %w, %d with %s: name another folder", e.Dir, ErrExists, len(old),
			old[0].name)
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
	file, err := files.Create(filepath.Join(dir, FileName(h.index)), permissions(mode))
	if err != nil {
		return nil, err
	}
	return &writer{header: h, file: file}, nil
}

// permissions returns the permissions of a file that is made from a file with mode: the owner can read and write it.
func permissions(mode fs.FileMode) fs.FileMode { return mode.Perm()&0o666 | 0o600 }
