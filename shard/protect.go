package shard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// ParityExtension is the extension of folders with the parity of a file or of the files in a folder.
const ParityExtension = ".gemm-parity"

// ParityFolder returns the folder for the parity of the file or folder called name: next to it, or in the folder out.
func ParityFolder(name, out string) string {
	name = filepath.Clean(name)
	if base := filepath.Base(name); base == "." || base == ".." { // next to the folder, not in it
		if full, err := filepath.Abs(name); err == nil {
			name = full
		}
	}
	if out != "" {
		return filepath.Join(out, filepath.Base(name)) + ParityExtension
	}
	return name + ParityExtension
}

// Protection describes a call of Protect.
type Protection struct {
	File         string // is only read
	Dir          string // for the parity; made if it is not there
	Data, Parity int    // shards
	Matrix       Matrix
	Force        bool // replace parity of another state of the file, or of another code
}

// ErrProtected says that a file has the parity already that it would get.
var ErrProtected = errors.New("is protected already")

// Protect makes the parity shards of a file, which stays as it is. Its parts are the data shards. The parity shards get
// their names when all are complete and on disk; after an error none is left.
func (c *Coder) Protect(ctx context.Context, p Protection) (Set, error) {
	return c.write(ctx, writing{Encoding: Encoding(p), parityOnly: true, verb: "protect", replaced: p.replaced})
}

// replaced returns the shards in the folder that the set would replace. The error is an ErrProtected if they are of the
// same file and code. Other shards are an error without Force.
func (p Protection) replaced(_ fs.FileInfo, set Set) ([]found, error) {
	if _, err := os.Stat(p.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	old, err := find(p.Dir)
	if err != nil || len(old) == 0 {
		return nil, err
	}
	same := set
	for _, f := range old {
		if same.ID = f.header.ID; f.intact && f.header.Set == same {
			return nil, fmt.Errorf("%s: %w, in %s", p.File, ErrProtected, p.Dir)
		}
	}
	if !p.Force {
		return nil, fmt.Errorf("%s: parity of another file, time or code %w: check that %s is as it should be, or name "+
			"another folder", p.Dir, ErrExists, p.File)
	}
	return old, nil
}

// tableWriter writes the checksums of the data shards into the tables of parity shards.
type tableWriter struct {
	set  Set
	to   []*writer
	mu   sync.Mutex
	some map[int64]*stripes // by the offset of the first
}

// stripes are the checksums of some stripes: for each, one entry for each data shard.
type stripes struct {
	sums  []byte
	given int // rows
}

// tableRow is a sink of one data shard. Each data shard has one, and all get the same columns.
type tableRow struct {
	*tableWriter
	row int
}

// write implements sink.
func (t tableRow) write(p []byte, off int64) error {
	all := t.add(t.row, t.set.entries(p), off)
	if all == nil {
		return nil
	}
	first := off / int64(t.set.Block) * int64(entryBytes*t.set.Data)
	for _, w := range t.to {
		if _, err := w.file.WriteAt(all, w.tablesAt()[0]+t.set.dataTable()+first); err != nil {
			return err
		}
	}
	return nil
}

// add adds the entries of a row. Once all rows are there, it returns the entries of all.
func (t *tableWriter) add(row int, entries []byte, off int64) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.some[off]
	if s == nil {
		if t.some == nil {
			t.some = map[int64]*stripes{}
		}
		s = &stripes{sums: make([]byte, t.set.Data*len(entries))}
		t.some[off] = s
	}
	for at := entryBytes * row; len(entries) > 0; at += entryBytes * t.set.Data {
		copy(s.sums[at:], entries[:entryBytes])
		entries = entries[entryBytes:]
	}
	if s.given++; s.given < t.set.Data {
		return nil
	}
	delete(t.some, off)
	return s.sums
}

// dataTable returns the offset, in a table, of the checksums of the data shards.
func (s Set) dataTable() int64 { return entryBytes * s.Stripes() }

// isParity reports whether a folder has the name of one for parity.
func isParity(name string) bool {
	return strings.HasSuffix(name, ParityExtension) && name != ParityExtension
}
