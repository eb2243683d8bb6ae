package shard

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gemm/gf256"
	"gemm/internal/cpu"
	"gemm/internal/output"
)

// State is the state of a shard.
type State string

// The states. Every shard that is not Good is to be repaired; its good blocks are used.
const (
	Good       State = "good"       // all bytes are intact
	Missing    State = "missing"    // there is no file for it
	Truncated  State = "truncated"  // the file is shorter than the shard
	Damaged    State = "damaged"    // bytes have changed
	Foreign    State = "foreign"    // the file is a shard of another file
	Unreadable State = "unreadable" // the system cannot read it
)

// Shard is one shard of a set, as it was found.
type Shard struct {
	Index  int    `json:"index"`
	Kind   string `json:"kind"` // data or parity
	State  State  `json:"state"`
	Bytes  int64  `json:"bytes"`            // of the file
	File   string `json:"file"`             // name in the folder, also of one that is missing
	Reason string `json:"reason,omitempty"` // why it is not good

	BadBlocks int64  `json:"bad_blocks"`    // number of bad blocks
	Bad       []Span `json:"bad,omitempty"` // their ranges, not more than the first 1000

	header header
	mode   fs.FileMode
	bad    *blocks
}

// Report describes the shards in a folder.
type Report struct {
	Dir      string   `json:"-"`
	Set      Set      `json:"set"`
	Stripes  int64    `json:"stripes"` // number of stripes
	Shards   []Shard  `json:"shards"`  // all shards of the set, by index
	Lost     Loss     `json:"lost"`    // the stripes that cannot be restored
	Warnings []string `json:"warnings,omitempty"`

	copies [][]found // by shard: the files whose headers belong to it
}

// found is a file that is a shard by its header or by its name.
type found struct {
	name   string // in the folder
	size   int64
	mode   fs.FileMode
	intact bool // the header is known
	header header
	front  []byte // where the header should be
	state  State  // Good if the header and the size are what they should be
	reason string
	bad    *blocks // nil: not known yet
}

// FileName returns the name of the file of the shard with the index, such as 001.shard.
func FileName(index int) string { return fmt.Sprintf("%03d%s", index, extension) }

// extension is the extension of shards.
const extension = ".shard"

// index returns the index in the name of a shard.
func index(name string) (int, bool) {
	i, err := strconv.Atoi(strings.TrimSuffix(name, extension))
	return i, err == nil && i >= 0 && i < gf256.MaxShards && FileName(i) == name
}

// isName reports whether name is the name of a shard.
func isName(name string) bool {
	_, ok := index(name)
	return ok
}

// find returns the shards in a folder, in the order of their names.
func find(dir string) ([]found, error) {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s: is not a folder: name the one that the shards are in", dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, unreadable(dir, err)
	}
	var all []found
	for _, entry := range entries {
		if output.IsTemporary(entry.Name()) {
			continue
		}
		if f, ok := inspect(dir, entry.Name()); ok {
			all = append(all, f)
		}
	}
	return all, nil
}

// unreadable returns the error of a file that cannot be read.
func unreadable(name string, err error) error {
	return fmt.Errorf("%s: cannot be read: %w", name, output.Cause(err))
}

// inspect reads the header of a file. ok is false if the file is not a shard.
func inspect(dir, name string) (f found, ok bool) {
	_, named := index(name)
	f = found{name: name, state: Unreadable}
	info, err := os.Stat(filepath.Join(dir, name))
	switch {
	case err != nil:
		f.reason = output.Cause(err).Error()
		return f, named
	case !info.Mode().IsRegular():
		f.reason = "it is not a regular file"
		return f, named
	}
	f.size, f.mode = info.Size(), info.Mode()
	file, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		f.reason = output.Cause(err).Error()
		return f, named
	}
	defer file.Close()
	var whole bool
	var system *fs.PathError
	f.header, f.front, whole, err = readHead(file, f.size)
	switch {
	case errors.As(err, &system):
		f.reason = output.Cause(err).Error()
		return f, named
	case err != nil && !named && !isShard(f.front):
		return f, false
	case f.size < headerBytes:
		f.state, f.reason = Truncated, fmt.Sprintf("%d bytes are less than a header", f.size)
		return f, true
	case err != nil:
		f.state, f.reason = Damaged, strings.TrimPrefix(err.Error(), damaged)
		return f, true
	}
	f.known(whole)
	return f, true
}

// known completes f, whose header is known; whole is false if it was damaged at one of its places.
func (f *found) known(whole bool) {
	f.intact, f.state, f.reason = true, Good, ""
	switch size := f.header.Size(); {
	case f.size < size:
		f.setState(Truncated, fmt.Sprintf("%d bytes are missing at its end", size-f.size))
	case f.size > size:
		f.setState(Damaged, fmt.Sprintf("%d bytes are too many", f.size-size))
	case !whole:
		f.setState(Damaged, "a header is damaged")
	}
}

// recover completes f, whose headers are damaged, if it is shard i of the set. This is certain if everything but the
// checksum of a header is intact, or the checksum is: it covers the id, and the checksum of the table.
func (f *found) recover(dir string, s Set, i int) {
	file, err := os.Open(filepath.Join(dir, f.name))
	if err != nil || len(f.front) < headerBytes {
		return
	}
	defer file.Close()
	for _, at := range s.tablesAt() {
		h := header{Set: s, index: i}
		if h.table, err = tableSum(file, s, at, nil); err != nil {
			continue
		}
		const sum = headerBytes - 4
		if b := h.encode(); bytes.Equal(b[:sum], f.front[:sum]) || bytes.Equal(b[sum:], f.front[sum:]) {
			f.header = h
			f.known(false)
			return
		}
	}
}

// scan reads the headers of the shards in a folder, not their payloads, and says which shards are
// there. If there are shards of several files, it chooses the only file with enough of them. It is
// an error if there is no such file or more than one, unless the parity of one is of the file of, or if there are no
// shards.
func scan(dir string, of fs.FileInfo) (*Report, error) {
	all, err := find(dir)
	if err != nil {
		return nil, err
	}
	set, err := choose(dir, all, of)
	if err != nil {
		return nil, err
	}
	r := &Report{Dir: dir, Set: set, Stripes: set.Stripes(), copies: make([][]found, set.Shards())}
	for i := range set.Shards() {
		kind := "data"
		if i >= set.Data {
			kind = "parity"
		}
		none := found{name: FileName(i), state: Missing, reason: "there is no such file"}
		r.Shards = append(r.Shards, Shard{Index: i, Kind: kind}.withFile(none, set))
	}
	for _, f := range all {
		named, isNamed := index(f.name)
		if !f.intact && isNamed && named < set.Shards() {
			f.recover(dir, set, named)
		}
		switch {
		case f.intact && f.header.Set == set:
			i := f.header.index
			if named == i && isNamed {
				r.copies[i] = slices.Insert(r.copies[i], 0, f) // before copies with other names
			} else {
				r.copies[i] = append(r.copies[i], f)
			}
			continue
		case f.intact: // of another set
			r.warn("%s is shard %d of another file, id %v", f.name, f.header.index, f.header.ID)
			f.state, f.reason = Foreign, fmt.Sprintf("it is shard %d of another file, id %v", f.header.index, f.header.ID)
		case !isNamed || named >= set.Shards():
			r.warn("%s is %s and of no use: %s", f.name, f.state, f.reason)
			continue
		}
		if isNamed && named < set.Shards() {
			r.Shards[named] = r.Shards[named].withFile(f, set)
		}
	}
	for i, copies := range r.copies {
		if len(copies) > 0 {
			r.Shards[i] = r.Shards[i].withFile(copies[0], set)
		}
	}
	return r, nil
}

// withFile returns s, of the set, with the state of the file f. Its blocks are bad unless they were checked.
func (s Shard) withFile(f found, set Set) Shard {
	s.State, s.Bytes, s.File, s.Reason, s.mode, s.bad = f.state, f.size, f.name, f.reason, f.mode, f.bad
	s.header = header{}
	if f.intact {
		s.header = f.header
	}
	if s.bad == nil {
		s.bad = allBlocks(set.Stripes())
	}
	s.BadBlocks = s.bad.count()
	s.Bad = first(mostInJSON, s.bad.spans)
	return s
}

func (r *Report) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

// errNoShards: a folder has no shards.
var errNoShards = errors.New("there are no shards; Encode makes them")

// choose returns the set of the shards that the report describes.
func choose(dir string, all []found, of fs.FileInfo) (Set, error) {
	indices := map[Set]map[int]bool{}
	var sets []Set // in the order of names: always the same message
	damaged := 0
	for _, f := range all {
		if !f.intact {
			damaged++
			continue
		}
		s := f.header.Set
		if indices[s] == nil {
			indices[s] = map[int]bool{}
			sets = append(sets, s)
		}
		indices[s][f.header.index] = true
	}
	enough := slices.DeleteFunc(slices.Clone(sets), func(s Set) bool { return len(indices[s]) < s.needed() })
	if i := slices.IndexFunc(enough, func(s Set) bool { return s.isOf(of) }); i >= 0 {
		return enough[i], nil
	}
	switch {
	case len(enough) == 1:
		return enough[0], nil
	case len(sets) == 1:
		return sets[0], nil
	case len(sets) == 0 && damaged > 0:
		return Set{}, fmt.Errorf("%s: none of the %d shards has an intact header: nothing can be made of them", dir, damaged)
	case len(sets) == 0:
		return Set{}, fmt.Errorf("%s: %w", dir, errNoShards)
	}
	var texts []string
	for _, s := range sets {
		texts = append(texts, fmt.Sprintf("id %v has %d shards and needs %d", s.ID, len(indices[s]), s.needed()))
	}
	return Set{}, fmt.Errorf("%s: shards of %d files are mixed and it is not clear which is meant (%s): "+
		"put each into a folder of its own", dir, len(sets), strings.Join(texts, ", "))
}

// needed returns the number of shards without which a set is nothing.
func (s Set) needed() int {
	if s.description != "" {
		return 1
	}
	return s.Data
}

// Good returns the indices of the good shards.
func (r *Report) Good() []int { return r.indices(func(s Shard) bool { return s.State == Good }) }

// Faulty returns the indices of the other shards.
func (r *Report) Faulty() []int { return r.indices(func(s Shard) bool { return s.State != Good }) }

func (r *Report) indices(accepts func(Shard) bool) []int {
	var list []int
	for _, s := range r.Shards {
		if accepts(s) {
			list = append(list, s.Index)
		}
	}
	return list
}

// Loss describes stripes that have too many bad blocks.
type Loss struct {
	Stripes int64         `json:"stripes"`        // number of them
	Where   []LostStripes `json:"runs,omitempty"` // not more than the first 1000 ranges
}

// LostStripes is a range of stripes with bad blocks in the same shards.
type LostStripes struct {
	Stripes Span  `json:"stripes"`
	Bad     []int `json:"bad"`
}

// String formats the range with its shards.
func (l LostStripes) String() string {
	return fmt.Sprintf("%v (bad in shards %s)", l.Stripes, ranges(l.Bad))
}

// bad returns the bad blocks of each shard.
func (r *Report) bad() []*blocks {
	bad := make([]*blocks, len(r.Shards))
	for i, s := range r.Shards {
		bad[i] = s.bad
	}
	return bad
}

func (r *Report) findLost() {
	r.Lost = Loss{}
	for at := range stretches(r.Stripes, r.bad()) {
		if len(at.bad) <= r.Set.Parity {
			continue
		}
		r.Lost.Stripes += at.to - at.from
		if len(r.Lost.Where) < mostInJSON {
			r.Lost.Where = append(r.Lost.Where, LostStripes{Span{at.from, at.to - 1}, at.bad})
		}
	}
}

// Enough returns an error if the file cannot be restored.
func (r *Report) Enough() error {
	if r.Lost.Stripes == 0 {
		return nil
	}
	usable := r.indices(func(s Shard) bool { return s.BadBlocks < r.Stripes })
	if missing := r.Set.Data - len(usable); missing > 0 {
		return fmt.Errorf("%s: %d shards are needed and %d are good (%s): copy %d more of %s",
			r.Dir, r.Set.Data, len(usable), ranges(usable), missing,
			ranges(r.indices(func(s Shard) bool { return s.BadBlocks == r.Stripes })))
	}
	return fmt.Errorf("%s: %v: copy one of the shards that are bad there", r.Dir, r.lostText())
}

// lostText says which stripes cannot be restored.
func (r *Report) lostText() string {
	have := "have"
	if r.Lost.Stripes == 1 {
		have = "has"
	}
	return fmt.Sprintf("%d of %d stripes %s fewer than %d good blocks: %s", r.Lost.Stripes, r.Stripes, have, r.Set.Data,
		shortened(r.Lost.Where, ", "))
}

// shortened formats the first elements of a list.
func shortened[T fmt.Stringer](list []T, separator string) string {
	var parts []string
	for _, x := range list[:min(len(list), mostInTexts)] {
		parts = append(parts, x.String())
	}
	if len(list) > mostInTexts {
		parts = append(parts, "…")
	}
	return strings.Join(parts, separator)
}

// ranges formats ascending integers, such as 0-3,7; "none" if there are none.
func ranges(list []int) string { return cmp.Or(cpu.List(list), "none") }
