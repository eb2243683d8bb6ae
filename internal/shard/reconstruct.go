package shard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"gemm/internal/output"
)

// Verify reads all shards in a folder and reports which are good. Bad shards are not an error. A folder without shards
// is an error, and so is one where it is not clear which file is meant.
func (c *Coder) Verify(ctx context.Context, dir string) (*Report, error) {
	r, err := scan(dir)
	if err != nil {
		return nil, err
	}
	var total int64
	for _, copies := range r.copies {
		if len(copies) > 0 {
			total += r.Set.Payload()
		}
	}
	done := c.meter("verifying", total)
	var work sync.WaitGroup
	turns := make(chan struct{}, min(runtime.GOMAXPROCS(0), readers))
	for i := range r.copies {
		work.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			for n := range r.copies[i] { // the other copies only if the first is bad
				f := &r.copies[i][n]
				if f.state == Good {
					f.state, f.reason = r.check(ctx, *f, done)
				}
				r.Shards[i] = r.Shards[i].is(*f)
				if f.state == Good {
					break
				}
			}
		})
	}
	work.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for i, copies := range r.copies {
		if len(copies) == 0 {
			continue
		}
		if s := r.Shards[i]; s.State == Good && s.File != Name(i) {
			r.warn("%s is shard %d by its header, whatever it is called: it is used as that", s.File, i)
		}
		if len(copies) > 1 {
			r.warn("shard %d is there %d times: %s is used", i, len(copies), r.Shards[i].File)
		}
	}
	return r, nil
}

// check reads the payload of a shard whose header is intact.
func (r *Report) check(ctx context.Context, f found, done *meter) (State, string) {
	in, err := openShard(filepath.Join(r.Dir, f.name), f.header)
	if err != nil {
		return failure(err)
	}
	defer in.file.Close()
	width := max(checkBytes/f.header.Block, 1) * f.header.Block
	p := make([]byte, min(int64(width), f.header.Payload()))
	for off := int64(0); off < f.header.Payload() && ctx.Err() == nil; off += int64(len(p)) {
		p = p[:min(int64(len(p)), f.header.Payload()-off)]
		if err := in.readChecked(p, off); err != nil {
			return failure(err)
		}
		done.add(int64(len(p)))
	}
	return Good, ""
}

// checkBytes is the approximate number of bytes that are checked at once, readers the largest number of shards.
const (
	checkBytes = 1 << 20
	readers    = 8
)

// failure returns the state of a shard that could not be read because of err, and the reason.
func failure(err error) (State, string) {
	if errors.As(err, &damage{}) {
		return Damaged, detail(err)
	}
	return Unreadable, cause(err).Error()
}

// Reconstruction describes a call of Reconstruct.
type Reconstruction struct {
	Dir    string // folder of the shards
	File   string // the file to write; empty: none
	Repair bool   // write the lost shards again
	Force  bool   // replace the file that is there, and shards of other files
}

// Reconstruct verifies the shards in a folder and writes the file and the lost shards. They get their names when all are
// complete and on disk. The report describes the shards before that; it is nil if there is none.
func (c *Coder) Reconstruct(ctx context.Context, rec Reconstruction) (*Report, error) {
	if err := rec.checkFile(); err != nil {
		return nil, err
	}
	r, err := c.Verify(ctx, rec.Dir)
	if err != nil {
		return nil, err
	}
	if err := r.Enough(); err != nil {
		return r, err
	}
	if rec.Repair {
		if err := rec.checkRepair(r); err != nil {
			return r, err
		}
		lock, err := lockFolder(rec.Dir)
		if err != nil {
			return r, err
		}
		defer lock.Release()
		output.SweepFolder(rec.Dir, isName)
	}
	return r, c.reconstruct(ctx, rec, r)
}

// checkFile returns an error if the file exists and must not be replaced.
func (rec Reconstruction) checkFile() error {
	if rec.File == "" {
		return nil
	}
	all, err := find(rec.Dir)
	if err != nil {
		return err
	}
	info, err := os.Stat(rec.File)
	exists := err == nil
	for _, f := range all {
		if shard, err := os.Stat(filepath.Join(rec.Dir, f.name)); exists && err == nil && os.SameFile(info, shard) {
			return fmt.Errorf("%s: is one of the shards: name another file", rec.File)
		}
	}
	switch {
	case exists && !info.Mode().IsRegular():
		return fmt.Errorf("%s: is not a regular file: name another", rec.File)
	case exists && !rec.Force:
		return fmt.Errorf("%s: exists already: name another file, or replace it with --force", rec.File)
	case isName(filepath.Base(rec.File)):
		return fmt.Errorf("%s: is the name of a shard: name another file", rec.File)
	}
	return nil
}

// checkRepair returns an error if another file has the name of a lost shard.
func (rec Reconstruction) checkRepair(r *Report) error {
	for _, i := range r.Lost() {
		info, err := os.Stat(filepath.Join(rec.Dir, Name(i)))
		for _, s := range r.Shards {
			if s.State == Good && s.File == Name(i) {
				return fmt.Errorf("%s: is shard %d, but the place of shard %d, which is lost: rename it to %s",
					filepath.Join(rec.Dir, s.File), s.Index, i, Name(s.Index))
			}
		}
		switch {
		case err == nil && !info.Mode().IsRegular():
			return fmt.Errorf("%s: is not a regular file: move it away", filepath.Join(rec.Dir, Name(i)))
		case r.Shards[i].State == Foreign && !rec.Force:
			return fmt.Errorf("%s: %s: move it away, or replace it with --force", filepath.Join(rec.Dir, Name(i)),
				r.Shards[i].Reason)
		}
	}
	return nil
}

// reconstruct writes the file and the lost shards from the first good shards, data shards if possible.
func (c *Coder) reconstruct(ctx context.Context, rec Reconstruction, r *Report) error {
	set := r.Set
	generator, err := set.generator()
	if err != nil {
		return err
	}
	have, want := r.Good()[:set.Data], r.Lost()
	if !rec.Repair { // parities are not written
		want = slices.DeleteFunc(want, func(i int) bool { return i >= set.Data })
	}
	if rec.File == "" && len(want) == 0 {
		return nil
	}
	t := transfer{length: set.Payload(), block: set.Block}
	if t.matrix, err = generator.Decoder(have, want); err != nil {
		return err
	}
	mode := r.Shards[have[0]].mode
	var files output.Group
	defer files.Discard()
	for _, i := range have {
		name := filepath.Join(r.Dir, r.Shards[i].File)
		in, err := openShard(name, r.Shards[i].header)
		if err != nil {
			return unreadable(name, err)
		}
		defer in.file.Close()
		t.in = append(t.in, in)
	}
	t.out = make([][]sink, len(have)+len(want))
	var writers []*writer
	if rec.Repair {
		for n, i := range want {
			w, err := newWriter(&files, r.Dir, header{Set: set, index: i}, mode)
			if err != nil {
				return err
			}
			writers = append(writers, w)
			t.out[len(have)+n] = append(t.out[len(have)+n], w)
		}
	}
	if rec.File != "" {
		output.Sweep(rec.File)
		file, err := files.Create(rec.File, permissions(mode))
		if err != nil {
			return err
		}
		for n, i := range slices.Concat(have, want) {
			if i < set.Data {
				t.out[n] = append(t.out[n], part{file, int64(i) * set.Payload(), set.Length})
			}
		}
	}
	if err := c.transfer(ctx, t, c.meter("reconstructing", set.Payload()*int64(set.Data))); err != nil {
		return err
	}
	for _, w := range writers {
		if err := w.finish(); err != nil {
			return err
		}
	}
	return files.Commit(ctx)
}
