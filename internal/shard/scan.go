package shard

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gemm/gf256"
	"gemm/internal/output"
)

// State is the state of a shard.
type State string

// The states. Every shard that is not Good is lost.
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
	Reason string `json:"reason,omitempty"` // why it is lost

	header header
	mode   fs.FileMode
}

// Report describes the shards in a folder.
type Report struct {
	Dir      string   `json:"-"`
	Set      Set      `json:"set"`
	Shards   []Shard  `json:"shards"` // all shards of the set, by index
	Warnings []string `json:"warnings,omitempty"`

	copies [][]found // by shard: the files whose headers belong to it
}

// found is a file that is a shard by its header or by its name.
type found struct {
	name   string // in the folder
	size   int64
	mode   fs.FileMode
	intact bool // the header is intact
	header header
	state  State // Good if the size is right, too
	reason string
}

// Name returns the file name of the shard with the index.
func Name(index int) string { return fmt.Sprintf("%03d%s", index, extension) }

// extension is the extension of shards.
const extension = ".shard"

// index returns the index in the name of a shard.
func index(name string) (int, bool) {
	i, err := strconv.Atoi(strings.TrimSuffix(name, extension))
	return i, err == nil && i >= 0 && i < gf256.MaxShards && Name(i) == name
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
		if f, ok := look(dir, entry.Name()); ok {
			all = append(all, f)
		}
	}
	return all, nil
}

// unreadable returns the error of a file that cannot be read.
func unreadable(name string, err error) error {
	return fmt.Errorf("%s: cannot be read: %w", name, cause(err))
}

// cause returns err without the file name and the call that package os adds.
func cause(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// look reads the header of a file. ok is false if the file is not a shard.
func look(dir, name string) (f found, ok bool) {
	_, named := index(name)
	f = found{name: name, state: Unreadable}
	info, err := os.Stat(filepath.Join(dir, name))
	switch {
	case err != nil:
		f.reason = cause(err).Error()
		return f, named
	case !info.Mode().IsRegular():
		f.reason = "it is not a regular file"
		return f, named
	}
	f.size, f.mode = info.Size(), info.Mode()
	file, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		f.reason = cause(err).Error()
		return f, named
	}
	defer file.Close()
	b := make([]byte, headerBytes)
	n, err := file.ReadAt(b, 0)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		f.reason = cause(err).Error()
		return f, named
	case !named && !isShard(b):
		return f, false
	case n < headerBytes:
		f.state, f.reason = Truncated, fmt.Sprintf("%d bytes are less than a header", n)
		return f, true
	}
	if f.header, err = parseHeader(b); err != nil {
		f.state, f.reason = Damaged, detail(err)
		return f, true
	}
	f.intact, f.state = true, Good
	switch size := f.header.Size(); {
	case f.size < size:
		f.state, f.reason = Truncated, fmt.Sprintf("%d bytes are missing at its end", size-f.size)
	case f.size > size:
		f.state, f.reason = Damaged, fmt.Sprintf("%d bytes are too many", f.size-size)
	}
	return f, true
}

// detail returns the text of err, without the word for damage, which is in the state.
func detail(err error) string {
	var d damage
	if errors.As(err, &d) {
		return d.what
	}
	return err.Error()
}

// scan reads the headers of the shards in a folder, not their payloads, and says which shards are
// there. If there are shards of several files, it chooses the only file with enough of them. It is
// an error if there is no such file or more than one, or if there are no shards.
func scan(dir string) (*Report, error) {
	all, err := find(dir)
	if err != nil {
		return nil, err
	}
	set, err := choose(dir, all)
	if err != nil {
		return nil, err
	}
	r := &Report{Dir: dir, Set: set, copies: make([][]found, set.Shards())}
	for i := range set.Shards() {
		kind := "data"
		if i >= set.Data {
			kind = "parity"
		}
		r.Shards = append(r.Shards,
			Shard{Index: i, Kind: kind, State: Missing, File: Name(i), Reason: "there is no such file"})
	}
	for _, f := range all {
		named, isNamed := index(f.name)
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
			r.Shards[named] = r.Shards[named].is(f)
		}
	}
	for i, copies := range r.copies {
		if len(copies) > 0 {
			r.Shards[i] = r.Shards[i].is(copies[0])
		}
	}
	return r, nil
}

// is returns s with the state of the file f.
func (s Shard) is(f found) Shard {
	s.State, s.Bytes, s.File, s.Reason, s.header, s.mode = f.state, f.size, f.name, f.reason, f.header, f.mode
	return s
}

func (r *Report) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

// choose returns the set of the shards that the report describes.
func choose(dir string, all []found) (Set, error) {
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
	enough := slices.DeleteFunc(slices.Clone(sets), func(s Set) bool { return len(indices[s]) < s.Data })
	switch {
	case len(enough) == 1:
		return enough[0], nil
	case len(sets) == 1:
		return sets[0], nil
	case len(sets) == 0 && damaged > 0:
		return Set{}, fmt.Errorf("%s: none of the %d shards has an intact header: nothing can be made of them", dir, damaged)
	case len(sets) == 0:
		return Set{}, fmt.Errorf("%s: there are no shards; gemm rs encode --out makes them", dir)
	}
	var texts []string
	for _, s := range sets {
		texts = append(texts, fmt.Sprintf("id %v has %d shards and needs %d", s.ID, len(indices[s]), s.Data))
	}
	return Set{}, fmt.Errorf("%s: shards of %d files are mixed and it is not clear which is meant (%s): put those of each into a folder of its own",
		dir, len(sets), strings.Join(texts, ", "))
}

// Good returns the indices of the good shards.
func (r *Report) Good() []int { return r.indices(func(s Shard) bool { return s.State == Good }) }

// Lost returns the indices of the other shards.
func (r *Report) Lost() []int { return r.indices(func(s Shard) bool { return s.State != Good }) }

func (r *Report) indices(accepts func(Shard) bool) []int {
	var list []int
	for _, s := range r.Shards {
		if accepts(s) {
			list = append(list, s.Index)
		}
	}
	return list
}

// Enough returns an error if there are fewer good shards than the file needs.
func (r *Report) Enough() error {
	good := r.Good()
	if missing := r.Set.Data - len(good); missing > 0 {
		return fmt.Errorf("%s: %d shards are needed and %d are good (%s): bring back %d more of %s",
			r.Dir, r.Set.Data, len(good), Ranges(good), missing, Ranges(r.Lost()))
	}
	return nil
}

// Ranges formats ascending integers, such as 0-3,7; "none" if there are none.
func Ranges(list []int) string {
	var parts []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		part := strconv.Itoa(list[i])
		if j > i {
			part += "-" + strconv.Itoa(list[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, ",")
}
