package compare

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"gemm"
	"gemm/compare/note"
	"gemm/internal/output"
	"gemm/parallel/timeline"
)

// ErrExists: records exist already and neither resuming nor replacing them
// was asked for.
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
	doc     Document
	encoded [][]byte         // of doc.Records, so that a row is encoded once
	index   map[identity]int // of doc.Records by identity
	traced  [][]byte         // of doc.Traces
	traces  map[identity]int // of doc.Traces by identity
}

// OpenStore opens the records at path and writes them back at once: if the folder is not writable,
// that is found before any measurement. If another process has the file open, the error wraps
// output.ErrInUse. Close the store after use.
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

// Close lets other processes open the records. What was put is on disk already. Nothing more
// can be put.
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

// Load reads the document at path, a regular file of JSON or of JSON in gzip's format. The error is one line that names
// the file; a document of a newer schema is refused.
func Load(path string) (Document, error) {
	info, err := os.Stat(path) // before it is opened: to open a pipe blocks until somebody writes to it
	if errors.Is(err, fs.ErrNotExist) {
		return Document{}, fmt.Errorf("%s: %w; gemm compare writes records, and so does --json of other commands",
			path, fs.ErrNotExist)
	}
	if err != nil {
		return Document{}, err
	}
	if !info.Mode().IsRegular() {
		return Document{}, fmt.Errorf("%s: is not a regular file; save the records in one first", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return Document{}, err
	}
	if data, err = unpacked(data, mostUnpacked); err != nil {
		return Document{}, fmt.Errorf("%s: %w", path, err)
	}
	doc, err := Parse(data)
	if err != nil {
		return Document{}, fmt.Errorf("%s: %w", path, err)
	}
	return doc, nil
}

// mostUnpacked limits the bytes of records that gzip has made small.
const mostUnpacked = 1 << 30

// unpacked returns data, decompressed to at most most bytes if they are in gzip's format.
func unpacked(data []byte, most int64) ([]byte, error) {
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(r, most+1))
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("no records: gzip: %w; the file was damaged or cut off", err)
	case int64(len(data)) > most:
		return nil, fmt.Errorf("no records: more than %d bytes when decompressed", most)
	}
	return data, nil
}

// Packed returns data in gzip's format, which are always the same bytes. Level is one of package gzip.
func Packed(data []byte, level int) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, level)
	if err == nil {
		_, err = w.Write(data)
		err = errors.Join(err, w.Close())
	}
	return b.Bytes(), err
}

// Parse reads a document.
func Parse(data []byte) (Document, error) {
	var head struct {
		Schema  *int            `json:"schema"`
		Records json.RawMessage `json:"records"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return Document{}, fmt.Errorf("no records: %w", plain(err))
	}
	switch {
	case head.Schema == nil:
		return Document{}, errors.New("no records: it has no schema")
	case *head.Schema > Schema:
		return Document{}, fmt.Errorf("its schema is %d, this program reads up to %d: use a newer gemm", *head.Schema, Schema)
	case *head.Schema < 1:
		return Document{}, fmt.Errorf("no records: its schema is %d", *head.Schema)
	case head.Records == nil || string(head.Records) == "null": // what list, info or rs verify have written
		return Document{}, errors.New("no records: it has a schema and no list of them")
	}
	var doc Document
	if err := json.Unmarshal(data, &doc); err != nil {
		return Document{}, fmt.Errorf("no records: %w", plain(err))
	}
	if *head.Schema == 1 {
		doc.named()
	}
	if err := doc.check(); err != nil {
		return Document{}, fmt.Errorf("%w; the file was damaged or changed", err)
	}
	if err := doc.whole(); err != nil {
		return Document{}, err
	}
	return doc.Settled(), nil
}

// named gives codes to the notes of a document of schema 1, which has their texts alone.
func (d *Document) named() {
	for i := range d.Records {
		r := &d.Records[i]
		r.Reason = note.Read(r.Reason.Text)
		for j, w := range r.Warnings {
			r.Warnings[j] = note.Read(w.Text)
		}
	}
}

// whole makes integers of the numbers among the parameters, which have been read as JSON.
func (d *Document) whole() error {
	var all []gemm.Params
	for _, r := range d.Records {
		all = append(all, r.Params, r.Resolved)
	}
	for _, m := range d.Measurements {
		all = append(all, m.Params)
	}
	for _, t := range d.Traces {
		all = append(all, t.Params, t.Resolved)
	}
	for _, p := range all {
		if err := p.Whole(); err != nil {
			return fmt.Errorf("no records: %w", err)
		}
	}
	return nil
}

// Merge concatenates documents. If a host or run (by id) or a row (by identity) is in several documents, it
// is kept once; of two rows with one identity from different runs the later one is kept. A host with other
// GPUs is another host, although its processors give it the same id. Turns with the same name in different
// documents stay separate, unless the documents have a row of that turn in common.
func Merge(docs ...Document) (Document, error) {
	var s Store
	for _, doc := range docs {
		doc = s.apart(doc)
		doc.Records = s.renamed(doc.Records)
		if err := s.adopt(doc); err != nil {
			return Document{}, err
		}
	}
	return s.Document(), nil
}

// apart returns doc with new ids for hosts whose id is that of a host in s with other GPUs.
func (s *Store) apart(doc Document) Document {
	names := func(h Host) []string { return slices.Compact(slices.Sorted(slices.Values(h.GPUs))) }
	ids := map[string]string{}
	doc.Hosts = slices.Clone(doc.Hosts)
	for i, h := range doc.Hosts {
		if slices.ContainsFunc(s.doc.Hosts, func(old Host) bool {
			return old.ID == h.ID && len(old.GPUs) > 0 && len(h.GPUs) > 0 && !slices.Equal(names(old), names(h))
		}) {
			sum := sha256.Sum256(fmt.Append(nil, names(h)))
			ids[h.ID] = fmt.Sprintf("%s-%x", h.ID, sum[:2])
			doc.Hosts[i].ID = ids[h.ID]
		}
	}
	if len(ids) == 0 {
		return doc
	}
	doc.Runs, doc.Records = slices.Clone(doc.Runs), slices.Clone(doc.Records)
	doc.Measurements, doc.Traces = slices.Clone(doc.Measurements), slices.Clone(doc.Traces)
	rename := func(id *string) { *id = cmp.Or(ids[*id], *id) }
	for i := range doc.Runs {
		rename(&doc.Runs[i].Host)
	}
	for i := range doc.Records {
		rename(&doc.Records[i].Host)
	}
	for i := range doc.Measurements {
		rename(&doc.Measurements[i].Host)
	}
	for i := range doc.Traces {
		rename(&doc.Traces[i].Host)
	}
	return doc
}

// renamed returns the records with new names for turns whose name is used in s by rows that were
// not sampled with them.
func (s *Store) renamed(records []Record) []Record {
	type turn struct{ host, name string }
	of := func(r Record) turn { return turn{r.Host, r.Turn} }
	taken, common := map[turn]bool{}, map[turn]bool{}
	for _, r := range s.doc.Records {
		taken[of(r)] = r.Turn != "" && r.Speed() || taken[of(r)]
	}
	used := map[turn]bool{}
	for _, r := range records {
		used[of(r)] = true
		old, ok := s.find(r.identity())
		common[of(r)] = ok && r.Speed() && old.Turn == r.Turn && slices.Equal(old.Samples, r.Samples) || common[of(r)]
	}
	names := map[turn]string{}
	out := slices.Clone(records)
	for i, r := range out {
		t := of(r)
		if !taken[t] || common[t] {
			continue
		}
		if names[t] == "" {
			names[t] = freePart(r.Turn, func(name string) bool { return taken[turn{r.Host, name}] || used[turn{r.Host, name}] })
			used[turn{r.Host, names[t]}] = true
		}
		out[i].Turn = names[t]
	}
	return out
}

// freePart returns the turn's name. If it is taken, it returns the name of the first part that is free.
func freePart(turn string, taken func(name string) bool) string {
	name := turn
	for part := 2; taken(name); part++ {
		name = fmt.Sprintf("%s, part %d", turn, part)
	}
	return name
}

// Encode returns the document as JSON, a line a record.
func (d Document) Encode() ([]byte, error) {
	var s Store
	if err := s.adopt(d); err != nil {
		return nil, err
	}
	return s.Encode()
}

// adopt adds all of doc.
func (s *Store) adopt(doc Document) error {
	s.declare(doc.Variants)
	for _, h := range doc.Hosts {
		s.putHost(h)
	}
	for _, r := range doc.Runs {
		s.putRun(r)
	}
	for _, r := range doc.Records {
		if err := s.put(r); err != nil {
			return err
		}
	}
	s.putMeasurements(doc.Measurements)
	for _, t := range doc.Traces {
		if err := s.putTrace(t); err != nil {
			return err
		}
	}
	return nil
}

// Declare adds what variants declare of which the document says nothing. Those with rows are written with them.
func (s *Store) Declare(variants []gemm.Variant) {
	var all []Variant
	for _, v := range variants {
		all = append(all, Of(v))
	}
	s.declare(all)
}

// declare adds those that are not there yet, each behind the one that it follows.
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
	for _, r := range s.doc.Records {
		has[r.Variant] = true
	}
	for _, t := range s.doc.Traces {
		has[t.Variant] = true
	}
	return slices.DeleteFunc(slices.Clone(s.doc.Variants), func(v Variant) bool { return !has[v.Name] })
}

// Document returns what the store holds, settled. The caller must not change it.
func (s *Store) Document() Document {
	doc := s.doc.Settled()
	doc.Schema, doc.Variants = Schema, s.measured()
	return doc
}

// Rows returns the rows as they are in the store, if they are, since later peaks settle them.
func (s *Store) Rows(rows []Record) []Record {
	out, settled := slices.Clone(rows), s.Document().Records
	for i, r := range rows {
		if at, ok := s.index[r.identity()]; ok {
			out[i] = settled[at]
		}
	}
	return out
}

// find returns the row with the identity key.
func (s *Store) find(key identity) (Record, bool) {
	i, ok := s.index[key]
	if !ok {
		return Record{}, false
	}
	return s.doc.Records[i], true
}

// PutHost adds h and writes the file. If the host is there already, h replaces its description, but
// keeps ceilings, bandwidths, GPUs, MPI and topology that h does not have.
func (s *Store) PutHost(h Host) error {
	s.putHost(h)
	return s.write()
}

func (s *Store) putHost(h Host) {
	i := slices.IndexFunc(s.doc.Hosts, func(old Host) bool { return old.ID == h.ID })
	if i < 0 {
		s.doc.Hosts = append(s.doc.Hosts, h)
		return
	}
	old := s.doc.Hosts[i]
	if len(h.GPUs) == 0 {
		h.copyGPUs(old)
	}
	h.MPI = cmp.Or(h.MPI, old.MPI)
	h.Topology = cmp.Or(h.Topology, old.Topology)
	for _, c := range s.doc.Hosts[i].Ceilings {
		if !slices.ContainsFunc(h.Ceilings, func(n Ceiling) bool {
			return n.Run == c.Run && n.Unit == c.Unit && n.Device == c.Device && n.Pipe == c.Pipe && n.Threads == c.Threads
		}) {
			h.Ceilings = append(h.Ceilings, c)
		}
	}
	for _, b := range s.doc.Hosts[i].Bandwidths {
		if !slices.ContainsFunc(h.Bandwidths, func(n Bandwidth) bool {
			return n.Run == b.Run && n.Unit == b.Unit && n.Device == b.Device && n.Name == b.Name && n.Threads == b.Threads
		}) {
			h.Bandwidths = append(h.Bandwidths, b)
		}
	}
	s.doc.Hosts[i] = h
}

// PutRun adds r, or replaces the run with its id, and writes the file.
func (s *Store) PutRun(r RunInfo) error {
	s.putRun(r)
	return s.write()
}

func (s *Store) putRun(r RunInfo) {
	i := slices.IndexFunc(s.doc.Runs, func(old RunInfo) bool { return old.ID == r.ID })
	if i < 0 {
		s.doc.Runs = append(s.doc.Runs, r)
		return
	}
	s.doc.Runs[i] = r
}

// PutMeasurements adds measurements and writes the file. They replace measurements with the same
// run, name and parameters.
func (s *Store) PutMeasurements(measurements ...Measurement) error {
	s.putMeasurements(measurements)
	return s.write()
}

func (s *Store) putMeasurements(measurements []Measurement) {
	for _, m := range measurements {
		m.Samples = finite(m.Samples)
		i := slices.IndexFunc(s.doc.Measurements, func(old Measurement) bool {
			return old.Run == m.Run && old.Name == m.Name && old.Params.String() == m.Params.String()
		})
		if i < 0 {
			s.doc.Measurements = append(s.doc.Measurements, m)
			continue
		}
		s.doc.Measurements[i] = m
	}
}

// finite returns the finite numbers in xs. JSON has no others, and one of them would make the file
// unreadable.
func finite(xs []float64) []float64 {
	out := []float64{}
	for _, x := range xs {
		if Number(x).Known() {
			out = append(out, x)
		}
	}
	return out
}

// PutTraces adds traces and writes the file. They replace traces of the same rows. Spans without a
// beginning or an end are dropped.
func (s *Store) PutTraces(traces ...Trace) error {
	for _, t := range traces {
		if err := s.putTrace(t); err != nil {
			return err
		}
	}
	return s.write()
}

func (s *Store) putTrace(t Trace) error {
	t.Spans = slices.DeleteFunc(slices.Clone(t.Spans), func(p timeline.Span) bool {
		return !Number(p.Begin).Known() || !Number(p.End).Known()
	})
	data, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("timeline of %s: %w", t.Variant, err)
	}
	if s.traces == nil {
		s.traces = map[identity]int{}
	}
	key := t.identity()
	if i, ok := s.traces[key]; ok {
		s.doc.Traces[i], s.traced[i] = t, data
		return nil
	}
	s.traces[key] = len(s.doc.Traces)
	s.doc.Traces = append(s.doc.Traces, t)
	s.traced = append(s.traced, data)
	return nil
}

// Traced reports whether there is a trace of the row.
func (s *Store) Traced(r Record) bool {
	_, ok := s.traces[r.identity()]
	return ok
}

// drop removes the trace with the identity, if there is one.
func (s *Store) drop(key identity) {
	at, ok := s.traces[key]
	if !ok {
		return
	}
	s.doc.Traces = slices.Delete(slices.Clone(s.doc.Traces), at, at+1)
	s.traced = slices.Delete(s.traced, at, at+1)
	delete(s.traces, key)
	for other, i := range s.traces {
		if i > at {
			s.traces[other] = i - 1
		}
	}
}

// Put adds rows, or replaces those with their identities, whose traces go with them,
// and writes the file. Traces of the rows are put after them.
func (s *Store) Put(records ...Record) error {
	for _, r := range records {
		if err := s.put(r); err != nil {
			return err
		}
	}
	return s.write()
}

func (s *Store) put(r Record) error {
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("record of %s: %w", r.Variant, err)
	}
	if s.index == nil {
		s.index = map[identity]int{}
	}
	key := r.identity()
	if i, ok := s.index[key]; ok {
		s.doc.Records[i], s.encoded[i] = r, data
		s.drop(key)
		return nil
	}
	s.index[key] = len(s.doc.Records)
	s.doc.Records = append(s.doc.Records, r)
	s.encoded = append(s.encoded, data)
	return nil
}

// settle settles the rows, and encodes those again that it changes.
func (s *Store) settle() error {
	for i, r := range s.doc.Settled().Records {
		old := s.doc.Records[i].PercentPeak
		if old == r.PercentPeak || !old.Known() && !r.PercentPeak.Known() {
			continue
		}
		data, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("record of %s: %w", r.Variant, err)
		}
		s.doc.Records[i], s.encoded[i] = r, data
	}
	return nil
}

// Encode returns the document as JSON, a line a record.
func (s *Store) Encode() ([]byte, error) {
	if err := s.settle(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\"schema\":%d", Schema)
	section := func(name string, n int, item func(i int) ([]byte, error)) error {
		fmt.Fprintf(&b, ",\n%q:[", name)
		for i := range n {
			data, err := item(i)
			if err != nil {
				return err
			}
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteByte('\n')
			b.Write(data)
		}
		b.WriteByte(']')
		return nil
	}
	variants := s.measured()
	err := errors.Join(
		section("variants", len(variants), func(i int) ([]byte, error) { return json.Marshal(variants[i]) }),
		section("hosts", len(s.doc.Hosts), func(i int) ([]byte, error) { return json.Marshal(s.doc.Hosts[i]) }),
		section("runs", len(s.doc.Runs), func(i int) ([]byte, error) { return json.Marshal(s.doc.Runs[i]) }),
		section("records", len(s.encoded), func(i int) ([]byte, error) { return s.encoded[i], nil }),
		section("measurements", len(s.doc.Measurements),
			func(i int) ([]byte, error) { return json.Marshal(s.doc.Measurements[i]) }),
		section("traces", len(s.traced), func(i int) ([]byte, error) { return s.traced[i], nil }),
	)
	b.WriteString("}\n")
	return b.Bytes(), err
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
	p, err := output.Create(s.path, output.Permissions, s.force)
	if err != nil {
		return err
	}
	defer p.Discard()
	if _, err := p.Write(data); err != nil {
		return err
	}
	return p.Commit()
}
