package output

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// Group is a set of files that get their names together. The zero value is empty.
type Group struct{ pending []*Pending }

// Create adds a file that will be called name; see the function Create, with force.
func (g *Group) Create(name string, perm fs.FileMode) (*Pending, error) {
	p, err := Create(name, perm, true)
	if err == nil {
		g.pending = append(g.pending, p)
	}
	return p, err
}

// Commit writes all files to disk, and then renames them to their names, replacing existing files. After an
// error, or if ctx ends before the first has its name, Discard removes all of them.
func (g *Group) Commit(ctx context.Context) error {
	if err := g.sync(ctx); err != nil {
		return err
	}
	for len(g.pending) > 0 {
		p := g.pending[0]
		if err := p.rename(); err != nil {
			return err
		}
		g.pending = g.pending[1:]
		folder := filepath.Dir(p.target)
		if len(g.pending) == 0 || filepath.Dir(g.pending[0].target) != folder {
			// On systems and file systems that can: the files are on the disk, so only a name could be lost.
			if f, err := os.Open(folder); err == nil {
				_ = f.Sync()
				_ = f.Close()
			}
		}
	}
	return nil
}

// syncs is how many files are written to disk at the same time.
const syncs = 16

// sync writes all files to disk. It returns the first error.
func (g *Group) sync(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan *Pending)
	var work sync.WaitGroup
	for range min(syncs, len(g.pending)) {
		work.Go(func() {
			for p := range next {
				if err := p.sync(); err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, p := range g.pending {
		if ctx.Err() != nil {
			break
		}
		next <- p
	}
	close(next)
	work.Wait()
	return context.Cause(ctx)
}

// Discard removes the files that do not have their names yet.
func (g *Group) Discard() {
	for _, p := range g.pending {
		p.Discard()
	}
}
