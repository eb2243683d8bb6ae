package output

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
)

// Group is files that come into being together. Its zero value has none.
type Group struct{ pending []*Pending }

// Create adds a file that will be called name, as the function Create makes it.
func (g *Group) Create(name string, perm fs.FileMode) (*Pending, error) {
	p, err := Create(name, perm)
	if err == nil {
		g.pending = append(g.pending, p)
	}
	return p, err
}

// Commit brings all files to the disk and then gives them their names, replacing what has
// them. An error or a context that ends before the first has its name leaves all to
// Discard.
func (g *Group) Commit(ctx context.Context) error {
	for _, p := range g.pending {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := p.sync(); err != nil {
			return err
		}
	}
	for len(g.pending) > 0 {
		p := g.pending[0]
		if err := p.Commit(); err != nil {
			return err
		}
		g.pending = g.pending[1:]
		folder := filepath.Dir(p.target)
		if len(g.pending) == 0 || filepath.Dir(g.pending[0].target) != folder {
			syncFolder(folder)
		}
	}
	return nil
}

// Discard removes the files that have not got their names.
func (g *Group) Discard() {
	for _, p := range g.pending {
		p.Discard()
	}
}

// syncFolder brings the names in a folder to the disk, on systems and file systems where
// that is possible. Files are synced before, so that only a name can be lost.
func syncFolder(dir string) {
	if f, err := os.Open(dir); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
}
