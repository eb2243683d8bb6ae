package record

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"gemm"
	"gemm/internal/output"
	"gemm/internal/timeline"
)

// ErrExists: records exist already, and neither resuming nor replacing them was requested.
var ErrExists = errors.New("records exist already")

// Mode says what to do with records that are there already.
type Mode int

// The modes of Open.
const (
	Create  Mode = iota // there must be none
	Resume              // keep them and add to them
	Replace             // drop them
)

// Store keeps a document on disk, in gzip's format if its name ends in .gz. After every change it writes the whole
// document to a temporary file, which is synced and renamed. So whatever happens, the file holds every row that was
// stored. One process at a time has the file open. The zero Store keeps its document in memory only.
type Store struct {
	path    string
	force   bool // replace a file that is write-protected
	lock    *output.Lock
	doc     Document // without records and traces
	records lines[Record]
	traces  lines[Trace]
}

// lines are items by their identity. Each is encoded once.
type lines[T any] struct {
	items   []T
	encoded [][]byte
	at      map[ID]int
}

// put adds x, or replaces the item with the identity.
func (l *lines[T]) put(key ID, x T) error {
	data, err := json.Marshal(x)
	if err != nil {
		return err
	}
	if l.at == nil {
		l.at = map[ID]int{}
	}
	if i, ok := l.at[key]; ok {
		l.items[i], l.encoded[i] = x, data
		return nil
	}
	l.at[key] = len(l.items)
	l.items, l.encoded = append(l.items, x), append(l.encoded, data)
	return nil
}

// drop removes the item with the identity, if there is one. Earlier documents of the store keep it.
func (l *lines[T]) drop(key ID) {
	at, ok := l.at[key]
	if !ok {
		return
	}
	l.items = slices.Delete(slices.Clone(l.items), at, at+1)
	l.encoded = slices.Delete(l.encoded, at, at+1)
	delete(l.at, key)
	for other, i := range l.at {
		if i > at {
			l.at[other] = i - 1
		}
	}
}

// OpenStore opens the records at path and writes them back at once: if the folder is not writable, that is found before
// any measurement. If another process has the file open, the error wraps output.ErrInUse. Close the store after use.
func OpenStore(path string, mode Mode) (*Store, error) {
	lock, err := output.NewLock(path)
	if err != nil {
		return nil, err
	}
	s := &Store{path: path, force: mode == Replace, lock: lock}
	if err := s.open(mode); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close releases the lock of the file. All rows are on disk already. Nothing more can be put.
func (s *Store) Close() { s.lock.Release() }

// open reads the records that are there, if the mode keeps them, and writes them back.
func (s *Store) open(mode Mode) error {
	switch _, err := os.Stat(s.path); {
	case err == nil && mode == Create:
		return fmt.Errorf("%w: %s (continue with --resume or replace them with --force)", ErrExists, s.path)
	case err == nil && mode == Resume:
		doc, err := Load(s.path)
		if err != nil {
			return err
		}
		if err := s.adopt(doc); err != nil {
			return err
		}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	output.Sweep(s.path)
	return s.write()
}

// Encode returns the document as JSON, a line a record.
func (d Document) Encode() ([]byte, error) {
	var s Store
	if err := s.adopt(d); err != nil {
		return nil, err
	}
	return s.Encode()
}

// adopt adds all of doc, in place of what has the same identities.
func (s *Store) adopt(doc Document) error {
	s.declare(doc.Variants)
	for _, h := range doc.Hosts {
		s.putHost(h)
	}
	for _, r := range doc.Runs {
		s.doc.Runs = replaced(s.doc.Runs, r, func(old RunInfo) bool { return old.ID == r.ID })
	}
	for _, r := range doc.Records {
		key := r.ID()
		_, again := s.Find(key)
		if err := s.records.put(key, r); err != nil {
			return fmt.Errorf("record of %s: %w", r.Variant, err)
		}
		if again {
			s.traces.drop(key)
		}
	}
	for _, m := range doc.Measurements {
		m.Samples = finite(m.Samples)
		s.doc.Measurements = replaced(s.doc.Measurements, m, func(old Measurement) bool {
			return old.Run == m.Run && old.Name == m.Name && old.Params.String() == m.Params.String()
		})
	}
	for _, t := range doc.Traces {
		t.Spans = slices.DeleteFunc(slices.Clone(t.Spans), func(p timeline.Span) bool {
			return !Number(p.Begin).Known() || !Number(p.End).Known()
		})
		if err := s.traces.put(t.ID(), t); err != nil {
			return fmt.Errorf("timeline of %s: %w", t.Variant, err)
		}
	}
	return nil
}

// replaced returns items with x in place of the one that is the same, or at the end.
func replaced[T any](items []T, x T, same func(T) bool) []T {
	i := slices.IndexFunc(items, same)
	if i < 0 {
		return append(items, x)
	}
	items[i] = x
	return items
}

// Declare adds what variants declare of which the document says nothing. Those with rows are written with them.
func (s *Store) Declare(variants []gemm.Variant) {
	var all []Variant
	for _, v := range variants {
		all = append(all, Of(v))
	}
	s.declare(all)
}

// declare adds missing variants, each behind the one that it follows.
func (s *Store) declare(variants []Variant) {
	at := 0
	for _, v := range variants {
		i := slices.IndexFunc(s.doc.Variants, func(old Variant) bool { return old.Name == v.Name })
		if i < 0 {
			i = at
			s.doc.Variants = slices.Insert(s.doc.Variants, i, v)
		}
		at = i + 1
	}
}

// measured returns what is declared of the variants with rows.
func (s *Store) measured() []Variant {
	has := map[string]bool{}
	for _, r := range s.records.items {
		has[r.Variant] = true
	}
	for _, t := range s.traces.items {
		has[t.Variant] = true
	}
	return slices.DeleteFunc(slices.Clone(s.doc.Variants), func(v Variant) bool { return !has[v.Name] })
}

// Document returns what the store holds. The caller must not change it.
func (s *Store) Document() Document {
	doc := s.doc
	doc.Schema, doc.Variants, doc.Records, doc.Traces = Schema, s.measured(), s.records.items, s.traces.items
	return doc.WithPeaks()
}

// Rows returns rows as the store has them now: later peaks change their percentages.
func (s *Store) Rows(rows []Record) []Record {
	out, stored := slices.Clone(rows), s.Document().Records
	for i, r := range rows {
		if at, ok := s.records.at[r.ID()]; ok {
			out[i] = stored[at]
		}
	}
	return out
}

// Find returns the row with the identity key.
func (s *Store) Find(key ID) (Record, bool) {
	i, ok := s.records.at[key]
	if !ok {
		return Record{}, false
	}
	return s.records.items[i], true
}

// Traced reports whether there is a trace of the row.
func (s *Store) Traced(r Record) bool {
	_, ok := s.traces.at[r.ID()]
	return ok
}

// putHost adds h as Put says.
func (s *Store) putHost(h Host) {
	i := slices.IndexFunc(s.doc.Hosts, func(old Host) bool { return old.ID == h.ID })
	if i < 0 {
		s.doc.Hosts = append(s.doc.Hosts, h)
		return
	}
	old := s.doc.Hosts[i]
	if len(h.GPUs) == 0 {
		h.CopyGPUs(old)
	}
	h.MPI = cmp.Or(h.MPI, old.MPI)
	h.Topology = cmp.Or(h.Topology, old.Topology)
	h.Ceilings, h.Bandwidths = slices.Clip(h.Ceilings), slices.Clip(h.Bandwidths) // the caller adds to its own
	h.AddPeaks(old.Ceilings, old.Bandwidths)
	s.doc.Hosts[i] = h
}

// Put adds all of doc and writes the file. What has the same identity is replaced: a row with its trace; a measurement
// by its run, name and parameters. A host keeps ceilings, bandwidths, GPUs, MPI and topology that its new description
// does not have. Spans of traces without a beginning or an end are dropped.
func (s *Store) Put(doc Document) error {
	if err := s.adopt(doc); err != nil {
		return err
	}
	return s.write()
}

// finite returns the finite numbers in xs. JSON has no others, and one of them would make the file unreadable.
func finite(xs []float64) []float64 {
	return slices.DeleteFunc(append([]float64{}, xs...), func(x float64) bool { return !Number(x).Known() })
}

// updatePeaks encodes the rows again whose percentage of the peak has changed.
func (s *Store) updatePeaks() error {
	for i, r := range s.Document().Records {
		old := s.records.items[i].PercentPeak
		if old == r.PercentPeak || !old.Known() && !r.PercentPeak.Known() {
			continue
		}
		if err := s.records.put(r.ID(), r); err != nil {
			return fmt.Errorf("record of %s: %w", r.Variant, err)
		}
	}
	return nil
}

// Encode returns the document as JSON, a line a record.
func (s *Store) Encode() ([]byte, error) {
	if err := s.updatePeaks(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\"schema\":%d", Schema)
	err := errors.Join(
		section(&b, "variants", s.measured()),
		section(&b, "hosts", s.doc.Hosts),
		section(&b, "runs", s.doc.Runs),
		section(&b, "records", s.records.encoded),
		section(&b, "measurements", s.doc.Measurements),
		section(&b, "traces", s.traces.encoded),
	)
	b.WriteString("}\n")
	return b.Bytes(), err
}

// section writes a member with the items, which may be encoded already.
func section[T any](b *bytes.Buffer, name string, items []T) error {
	fmt.Fprintf(b, ",\n%q:[", name)
	separator := "\n"
	for _, x := range items {
		data, ok := any(x).([]byte)
		if !ok {
			var err error
			if data, err = json.Marshal(x); err != nil {
				return err
			}
		}
		b.WriteString(separator)
		b.Write(data)
		separator = ",\n"
	}
	b.WriteByte(']')
	return nil
}

// write replaces the file, if there is one.
func (s *Store) write() error {
	if s.path == "" {
		return nil
	}
	data, err := s.Encode()
	if err != nil {
		return err
	}
	if strings.HasSuffix(s.path, ".gz") {
		if data, err = Packed(data, gzip.BestSpeed); err != nil {
			return err
		}
	}
	return output.Replace(s.path, data, output.Permissions, s.force)
}
