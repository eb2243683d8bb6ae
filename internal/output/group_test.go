package output

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
)

// TestGroup checks that either all files of a group get their names or none.
func TestGroup(t *testing.T) {
	dir := t.TempDir()
	names := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}
	put(t, names[0], "old")
	write := func() *Group {
		g := &Group{}
		for _, name := range names {
			p, err := g.Create(name, 0o600)
			must(t, err)
			if _, err := p.Write([]byte("new")); err != nil {
				t.Fatal(err)
			}
		}
		return g
	}

	ended, cancel := context.WithCancelCause(t.Context())
	why := errors.New("ended")
	cancel(why)
	g := write()
	if err := g.Commit(ended); !errors.Is(err, why) {
		t.Errorf("after its context has ended: %v", err)
	}
	g.Discard()
	has(t, names[0], "old", 0o600)
	if left := entries(t, dir); !slices.Equal(left, []string{"a"}) {
		t.Errorf("left are %v", left)
	}

	g = write()
	if err := g.Commit(t.Context()); err != nil {
		t.Error(err)
	}
	g.Discard()
	for _, name := range names {
		has(t, name, "new", 0o600)
	}
	if left := entries(t, dir); !slices.Equal(left, []string{"a", "b"}) {
		t.Errorf("left are %v", left)
	}
}
