package record

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gemm"
	"gemm/internal/note"
	"gemm/internal/timeline"
)

// rowAt returns a row of the variant at n that is not measured.
func rowAt(variant string, n int) Record {
	p := Problem{Type: "f64", Op: "nn", Shape: gemm.Cube(n), LDA: n, LDB: n, LDC: n}
	return Record{Key: Key{Variant: variant, Problem: p}, Median: None(), Gflops: None(), Rate: None(), Residual: None(),
		Bound: None()}
}

// rowOf returns a row with threads.
func rowOf(threads int) Record {
	r := rowAt("parallel/rows", 8)
	r.Host, r.Status, r.Experiment, r.Alpha, r.Params = "a", OK, ArtificialLoad, 1, gemm.Params{"threads": threads}
	return r
}

// traceOf returns a trace of a row with threads, of as many spans.
func traceOf(threads, spans int) Trace {
	r := rowOf(threads)
	t := Trace{Key: r.Key, Params: r.Params}
	for i := range spans {
		t.Spans = append(t.Spans, timeline.Span{Worker: i, From: i, To: i + 1, Begin: 1, End: 2})
	}
	return t
}

// must ends the test if there is an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// opened returns the store at path.
func opened(t *testing.T, path string, mode Mode) *Store {
	t.Helper()
	store, err := OpenStore(path, mode)
	must(t, err)
	return store
}

// reread returns what the store encodes, parsed again.
func reread(t *testing.T, store *Store) Document {
	t.Helper()
	data, err := store.Encode()
	must(t, err)
	doc, err := Parse(data)
	must(t, err)
	return doc
}

// TestTracesGoWithTheirRows stores a row again, and merges it with the old one.
func TestTracesGoWithTheirRows(t *testing.T) {
	var store Store
	for threads := 1; threads <= 3; threads++ {
		must(t, store.Put(Document{Records: []Record{rowOf(threads)}, Traces: []Trace{traceOf(threads, threads)}}))
	}
	before := store.Document()
	failed := rowOf(2)
	failed.Status = Failed
	must(t, store.Put(Document{Records: []Record{failed}}))
	if !store.Traced(rowOf(1)) || store.Traced(failed) || !store.Traced(rowOf(3)) {
		t.Errorf("there are traces of rows %v %v %v, want none of the second", store.Traced(rowOf(1)), store.Traced(failed),
			store.Traced(rowOf(3)))
	}
	// The places of the others are still known.
	must(t, store.Put(Document{Traces: []Trace{traceOf(3, 5)}}))
	doc := reread(t, &store)
	if len(doc.Traces) != 2 || len(doc.Traces[0].Spans) != 1 || len(doc.Traces[1].Spans) != 5 {
		t.Errorf("traces %+v; want those of one thread and of three", doc.Traces)
	}
	if len(before.Traces) != 3 || len(before.Traces[1].Spans) != 2 {
		t.Errorf("a document that was taken before has the traces %+v", before.Traces)
	}
	merged, err := Merge(before, Document{Schema: 1, Records: []Record{failed}})
	if err != nil || len(merged.Records) != 3 || len(merged.Traces) != 2 {
		t.Errorf("%d rows and %d traces merged, %v; want 3 and 2", len(merged.Records), len(merged.Traces), err)
	}
	other := traceOf(3, 1)
	other.Host = "b"
	if merged, err = Merge(doc, doc, Document{Schema: 1, Traces: []Trace{other}}); err != nil || len(merged.Traces) != 3 {
		t.Errorf("%d traces merged, %v; want 3, one of another host", len(merged.Traces), err)
	}
	// A trace that is stored after a restart replaces the old one.
	path := filepath.Join(t.TempDir(), "r.json")
	for i, mode := range []Mode{Create, Resume} {
		kept := opened(t, path, mode)
		err = errors.Join(err, kept.Put(Document{Traces: []Trace{traceOf(1, 1), traceOf(2, 2+i)}}))
		kept.Close()
	}
	if doc, loaded := Load(path); errors.Join(err, loaded) != nil || len(doc.Traces) != 2 ||
		len(doc.Traces[1].Spans) != 3 {
		t.Errorf("traces %+v, %v, %v; want two, the later of two threads", doc.Traces, err, loaded)
	}
}

// TestPacked stores records in gzip's format, resumes them, and reads damaged ones.
func TestPacked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json.gz")
	for i, mode := range []Mode{Create, Resume} {
		store := opened(t, path, mode)
		must(t, store.Put(Document{Records: []Record{rowOf(i + 1)}}))
		store.Close()
	}
	data, err := os.ReadFile(path)
	if err != nil || !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		t.Fatalf("the file begins with %x, %v; want gzip's magic", data[:2], err)
	}
	doc, err := Load(path)
	if err != nil || len(doc.Records) != 2 {
		t.Fatalf("%d rows, %v; want 2", len(doc.Records), err)
	}
	plain, err := unpacked(data, 1<<20)
	must(t, err)
	if same, err := unpacked(plain, 1); err != nil || !bytes.Equal(same, plain) {
		t.Errorf("what is not compressed became %d bytes, %v", len(same), err)
	}
	if _, err := unpacked(data, int64(len(plain)-1)); err == nil || !strings.Contains(err.Error(), "when decompressed") {
		t.Errorf("%d bytes of at most %d: %v", len(plain), len(plain)-1, err)
	}
	must(t, os.WriteFile(path, data[:len(data)/2], 0o600))
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), path+": no records: gzip: ") {
		t.Errorf("half a file: %v", err)
	}
}

// TestSampled counts the samples that a row had, and refuses a row that has more.
func TestSampled(t *testing.T) {
	r := rowOf(1)
	r.Samples, r.Sampled = []float64{1, 2, 3}, &Sampled{Count: 100, Quartiles: [2]float64{1, 3}}
	r.Status, r.Median, r.Gflops, r.Again = OK, 2, 1, []Again{{"b", 4}}
	data, err := Document{Schema: Schema, Records: []Record{r}}.Encode()
	must(t, err)
	doc, err := Parse(data)
	if err != nil || doc.Records[0].Count() != 100 || doc.Records[0].Again[0].Median != 4 || rowOf(1).Count() != 0 {
		t.Errorf("read back %+v, %v", doc.Records, err)
	}
	_, err = Parse(bytes.Replace(data, []byte(`"count":100`), []byte(`"count":2`), 1))
	if err == nil || !strings.Contains(err.Error(), "3 samples, and sampled.count says 2") {
		t.Errorf("fewer samples than there are: %v", err)
	}
}

// TestNotesOfTheFirstSchema reads a row whose notes are texts.
func TestNotesOfTheFirstSchema(t *testing.T) {
	doc, err := Parse([]byte(`{"schema":1,"records":[{"variant":"serial/ikj","type":"f64","status":"wrong",
		"reason":"row 1 is wrong","warnings":["wide spread: repeat on a quiet machine","it is asleep"]}]}`))
	must(t, err)
	r := doc.Records[0]
	if len(r.Warnings) != 2 || r.Warnings[0].Code != note.Spread || r.Warnings[1].Text != "it is asleep" ||
		r.Warnings[1].Code != "" || r.Reason.Text != "row 1 is wrong" {
		t.Errorf("read back %+v, %+v", r.Reason, r.Warnings)
	}
}

func TestAbsent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "absent.json")
	_, err := Load(path)
	if !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), path+": ") ||
		!strings.Contains(err.Error(), "gemm compare") {
		t.Errorf("%v; want the name of the file, that it is absent, and what writes one", err)
	}
}

// TestNonFiniteNumbers has a row with residuals of NaN, and a span without an end.
func TestNonFiniteNumbers(t *testing.T) {
	var s Store
	trace := traceOf(2, 2)
	trace.Spans[0].End = math.NaN()
	must(t, s.Put(Document{Traces: []Trace{trace}}))
	if doc := reread(t, &s); len(doc.Traces) != 1 || len(doc.Traces[0].Spans) != 1 || doc.Traces[0].Spans[0].Worker != 1 ||
		!math.IsNaN(trace.Spans[0].End) {
		t.Errorf("read back %+v; want the span that has an end, and the caller's spans unchanged", doc.Traces)
	}
	r := rowAt("test/nan", 2)
	r.Status, r.Reason.Text = Wrong, "NaN"
	must(t, s.Put(Document{Records: []Record{r}}))
	if got := reread(t, &s).Records[0]; got.Residual.Known() || got.Median.Known() || got.Variant != "test/nan" {
		t.Errorf("read back %+v", got)
	}
	data, err := s.Encode()
	if err != nil || !strings.Contains(string(data), `"residual":null`) {
		t.Errorf("residual is not null in %s (%v)", data, err)
	}
}
