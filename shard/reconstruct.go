package shard

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"gemm/internal/output"
)

// Verify reads all shards in a folder and reports which are good, and the bad blocks of the others. Bad shards are not
// an error. A folder without shards is an error, and so is one where it is not clear which file is meant.
func (c *Coder) Verify(ctx context.Context, dir string) (*Report, error) {
	r, err := scan(dir, noSet)
	if err != nil {
		return nil, err
	}
	if d := r.Set.description; d != "" {
		return nil, fmt.Errorf("%s: has the parity of a file that stays as it is: check it with gemm rs check %s",
			dir, dir)
	}
	return r, c.verify(ctx, r)
}

// noSet prefers none.
func noSet(Set) bool { return false }

// verify reads all shards of a report, and completes it.
func (c *Coder) verify(ctx context.Context, r *Report) error {
	var total int64
	for _, copies := range r.copies {
		if len(copies) > 0 {
			total += r.Set.Payload()
		}
	}
	done := c.meter("verifying", total)
	defer c.Timeline.begin(fileLane, verifying)(total)
	eachShard(len(r.copies), func(i int) {
		for n := range r.copies[i] { // the other copies only if the first is bad
			f := &r.copies[i][n]
			r.check(ctx, f, done)
			if s := r.Shards[i].is(*f, r.Set); n == 0 || s.State == Good || s.BadBlocks < r.Shards[i].BadBlocks {
				r.Shards[i] = s
			}
			if f.state == Good {
				break
			}
		}
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r.findLost()
	for i, copies := range r.copies {
		if len(copies) == 0 {
			continue
		}
		if s := r.Shards[i]; s.BadBlocks < r.Stripes && s.File != Name(i) {
			r.warn("%s is shard %d by its header, whatever it is called: it is used as that", s.File, i)
		}
		if len(copies) > 1 {
			r.warn("shard %d is there %d times: %s is used", i, len(copies), r.Shards[i].File)
		}
	}
	return nil
}

// eachShard calls f for 0 to n−1, for as many at the same time as shards are read.
func eachShard(n int, f func(i int)) {
	var work sync.WaitGroup
	turns := make(chan struct{}, min(runtime.GOMAXPROCS(0), readers))
	for i := range n {
		work.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			f(i)
		})
	}
	work.Wait()
}

// Reconstruction describes a call of Reconstruct.
type Reconstruction struct {
	Dir    string // folder of the shards
	File   string // the file to write; empty: none
	Repair bool   // write the lost shards again
	Force  bool   // replace the file that is there, and shards of other files
}

// Reconstruct verifies the shards in a folder and writes the file and the shards that are not good. They get their
// names when all are complete and on disk. The report describes the shards before that; it is nil if there is none.
func (c *Coder) Reconstruct(ctx context.Context, rec Reconstruction) (*Report, error) {
	if err := rec.checkFile(); err != nil {
		return nil, err
	}
	if rec.Repair {
		if _, err := scan(rec.Dir, noSet); err != nil { // before anything is written in the folder
			return nil, err
		}
		lock, err := lockFolder(rec.Dir)
		if err != nil {
			return nil, err
		}
		defer lock.Release()
		output.SweepFolder(rec.Dir, isName)
	}
	r, err := c.Verify(ctx, rec.Dir)
	if err != nil {
		return nil, err
	}
	if err := r.Enough(); err != nil {
		return r, err
	}
	if rec.Repair {
		if err := rec.checkRepair(r, r.Faulty()); err != nil {
			return r, err
		}
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

// checkRepair returns an error if another file has the name of a shard that is to be repaired.
func (rec Reconstruction) checkRepair(r *Report, faulty []int) error {
	for _, i := range faulty {
		info, err := os.Stat(filepath.Join(rec.Dir, Name(i)))
		for _, s := range r.Shards {
			if s.Index != i && s.BadBlocks < r.Stripes && s.File == Name(i) {
				return fmt.Errorf("%s: is shard %d, but the place of shard %d, which is not good: rename it to %s",
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

// reconstruct writes the file and the faulty shards.
func (c *Coder) reconstruct(ctx context.Context, rec Reconstruction, r *Report) error {
	set := r.Set
	var faulty []int
	if rec.Repair {
		faulty = r.Faulty()
	}
	if rec.File == "" && len(faulty) == 0 {
		return nil
	}
	p := plan{set: set, bad: r.bad(), sources: make([]source, set.Shards()), sinks: make([][]sink, set.Shards())}
	var mode fs.FileMode // of the first shard that is used
	for _, s := range r.Shards {
		if s.BadBlocks < r.Stripes {
			mode = cmp.Or(mode, s.mode)
		}
	}
	if err := p.open(r, 0); err != nil {
		return err
	}
	defer p.close()
	var files output.Group
	defer files.Discard()
	var writers []*writer
	for _, i := range faulty {
		w, err := newRepaired(&files, r, i, mode)
		if err != nil {
			return err
		}
		writers = append(writers, w)
		p.sinks[i] = append(p.sinks[i], w)
	}
	if rec.File != "" {
		output.Sweep(rec.File)
		file, err := files.Create(rec.File, permissions(mode))
		if err != nil {
			return err
		}
		for i := range set.Data {
			p.sinks[i] = append(p.sinks[i], part{file, int64(i) * set.Payload(), set.Length})
		}
	}
	t, err := p.transfer()
	if err != nil {
		return err
	}
	if err := c.transfer(ctx, t, c.meter("reconstructing", set.Payload()*int64(set.Data))); err != nil {
		return err
	}
	for _, w := range writers {
		if err := w.finish(); err != nil {
			return err
		}
	}
	return c.commit(ctx, &files)
}

// open opens the shards from index from on, for their good blocks.
func (p *plan) open(r *Report, from int) error {
	for i, s := range r.Shards[from:] {
		if s.BadBlocks == r.Stripes {
			continue
		}
		name := filepath.Join(r.Dir, s.File)
		in, _, err := openShard(name, s.header)
		if err != nil {
			p.close()
			return unreadable(name, err)
		}
		p.sources[from+i] = in
		p.closers = append(p.closers, in.close)
	}
	return nil
}

// close closes the shards.
func (p *plan) close() {
	for _, c := range p.closers {
		c()
	}
}

// newRepaired adds shard i, written again, to the group of files. If its header is known, its table must be what it
// was.
func newRepaired(files *output.Group, r *Report, i int, mode fs.FileMode) (*writer, error) {
	h := header{Set: r.Set, index: i}
	old := r.Shards[i].header
	known := old.Set == r.Set && old.index == i
	if known {
		h.table = old.table
	}
	w, err := newWriter(files, r.Dir, h, mode)
	if err == nil {
		w.known = known
	}
	return w, err
}
