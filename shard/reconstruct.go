package shard

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"gemm/internal/output"
)

// Verify reads all shards in a folder and reports which are good, and the bad blocks of the others. Bad shards are not
// an error. A folder without shards is an error, and so is one where it is not clear which file is meant.
func (c *Coder) Verify(ctx context.Context, dir string) (*Report, error) {
	r, err := scan(dir, nil)
	if err != nil {
		return nil, err
	}
	if d := r.Set.description; d != "" {
		return nil, fmt.Errorf("%s: has the parity of a file that stays as it is: Check compares it with the file",
			dir)
	}
	return r, c.verify(ctx, r)
}

// verify reads all shards of a report, and completes it.
func (c *Coder) verify(ctx context.Context, r *Report) error {
	var total int64
	for _, copies := range r.copies {
		if len(copies) > 0 {
			total += r.Set.Payload()
		}
	}
	done := c.meter("verifying", total)
	defer begin(ctx, fileLane, verifying)(total)
	eachShard(len(r.copies), func(i int) {
		for n := range r.copies[i] { // the other copies only if the first is bad
			f := &r.copies[i][n]
			r.check(ctx, f, done)
			if s := r.Shards[i].withFile(*f, r.Set); n == 0 || s.State == Good || s.BadBlocks < r.Shards[i].BadBlocks {
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
		if s := r.Shards[i]; s.BadBlocks < r.Stripes && s.File != FileName(i) {
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
	_ = each(n, min(runtime.GOMAXPROCS(0), readers), func(i int) error {
		f(i)
		return nil
	})
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
		if _, err := scan(rec.Dir, nil); err != nil { // before anything is written in the folder
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
		return fmt.Errorf("%s: %w: name another file", rec.File, ErrExists)
	case isName(filepath.Base(rec.File)):
		return fmt.Errorf("%s: is the name of a shard: name another file", rec.File)
	}
	return nil
}

// checkRepair returns an error if another file has the name of a shard that is to be repaired.
func (rec Reconstruction) checkRepair(r *Report, faulty []int) error {
	for _, i := range faulty {
		info, err := os.Stat(filepath.Join(rec.Dir, FileName(i)))
		for _, s := range r.Shards {
			if s.Index != i && s.BadBlocks < r.Stripes && s.File == FileName(i) {
				return fmt.Errorf("%s: is shard %d, but the place of shard %d, which is not good: rename it to %s",
					filepath.Join(rec.Dir, s.File), s.Index, i, FileName(s.Index))
			}
		}
		switch {
		case err == nil && !info.Mode().IsRegular():
			return fmt.Errorf("%s: is not a regular file: move it away", filepath.Join(rec.Dir, FileName(i)))
		case r.Shards[i].State == Foreign && !rec.Force:
			return fmt.Errorf("%s: %w, and %s: move it away", filepath.Join(rec.Dir, FileName(i)), ErrExists,
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
	var mode fs.FileMode // of the first shard that is used
	for _, s := range r.Shards {
		if s.BadBlocks < r.Stripes {
			mode = cmp.Or(mode, s.mode)
		}
	}
	p, err := newPlan(r, 0)
	if err != nil {
		return err
	}
	defer p.close()
	if err := p.rewrite(r, faulty, mode); err != nil {
		return err
	}
	if rec.File != "" {
		output.Sweep(rec.File)
		file, err := p.files.Create(rec.File, permissions(mode))
		if err != nil {
			return err
		}
		for i := range set.Data {
			p.sinks[i] = append(p.sinks[i], part{file, int64(i) * set.Payload(), set.Length})
		}
	}
	if err := c.execute(ctx, p, "reconstructing"); err != nil {
		return err
	}
	return commit(ctx, &p.files)
}
