package compare

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gemm"
	"gemm/compare/topology"
	"gemm/internal/output"
	"gemm/parallel/timeline"
)

// rowOf returns a row with threads.
func rowOf(threads int) Record {
	r := Request{
		Experiment: ArtificialLoad, Variant: variant("parallel/rows", nil), Type: "f64", Shape: gemm.Cube(8),
		Op: "nn", Alpha: 1,
		Params: gemm.Params{"threads": threads},
	}.Case().record()
	r.Host, r.Status = "a", OK
	return r
}

// traceOf returns a trace of a row with threads, of as many spans.
func traceOf(threads, spans int) Trace {
	t := rowOf(threads).trace()
	for i := range spans {
		t.Spans = append(t.Spans, timeline.Span{Worker: i, From: i, To: i + 1, Begin: 1, End: 2})
	}
	return t
}

// TestStoreLeavesOtherFiles opens records in a folder with files of the user. Their names begin like
// temporary files, or match the name of the records if that is read as a pattern.
func TestStoreLeavesOtherFiles(t *testing.T) {
	dir := t.TempDir()
	others := []string{".bashrc", ".b.bak", ".env", ".gitignore", ".results.json.bak", "sweep/.q.json.old",
		"sw*/.q.json.old"}
	for _, name := range append(others, "sw*/.q.json.gemm-0123456789abcdef") {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"b", "env", "git", "results.json", "sw*/q.json"} {
		store, err := OpenStore(filepath.Join(dir, name), Create)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := OpenStore(filepath.Join(dir, name), Resume); !errors.Is(err, output.ErrInUse) {
			t.Errorf("%s is opened twice: %v", name, err)
		}
		store.Close()
	}
	for _, name := range others {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("a user's file was removed: %v", err)
		}
	}
	if left, err := os.ReadDir(filepath.Join(dir, "sw*")); err != nil || len(left) != 2 {
		t.Errorf("left are %v, %v, want the records and a user's file", left, err)
	}
}

// TestTracesAreKeptOnce stores the trace of one row twice and the trace of another once, resumes, and
// merges.
func TestTracesAreKeptOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	store, err := OpenStore(path, Create)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.PutTraces(traceOf(1, 1), traceOf(2, 2)); err != nil {
		t.Fatal(err)
	}
	store.Close()
	store, err = OpenStore(path, Resume)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := store.PutTraces(traceOf(2, 3)); err != nil {
		t.Fatal(err)
	}
	doc, err := Load(path)
	if err != nil || len(doc.Traces) != 2 || len(doc.Traces[0].Spans) != 1 || len(doc.Traces[1].Spans) != 3 {
		t.Fatalf("traces %+v, %v; want the one of a thread, and the later of two threads", doc.Traces, err)
	}
	other := traceOf(2, 1)
	other.Host = "b"
	merged, err := Merge(doc, doc, Document{Schema: 1, Traces: []Trace{other}})
	if err != nil || len(merged.Traces) != 3 {
		t.Errorf("%d traces merged, %v; want 3", len(merged.Traces), err)
	}
	r := rowOf(2)
	if !store.Traced(r) {
		t.Error("the trace of a row is not found")
	}
	for name, change := range map[string]func(r *Record){
		"op": func(r *Record) { r.Op = "tn" }, "alpha": func(r *Record) { r.Alpha = 2 },
		"beta": func(r *Record) { r.Beta = 1 },
		"lda":  func(r *Record) { r.LDA++ }, "ldb": func(r *Record) { r.LDB++ }, "ldc": func(r *Record) { r.LDC++ },
	} {
		other := r
		if change(&other); store.Traced(other) {
			t.Errorf("a row with another %s has the trace", name)
		}
	}
}

// TestTracesGoWithTheirRows stores a row again, and merges it with the old one.
func TestTracesGoWithTheirRows(t *testing.T) {
	var store Store
	for threads := 1; threads <= 3; threads++ {
		if err := errors.Join(store.Put(rowOf(threads)), store.PutTraces(traceOf(threads, threads))); err != nil {
			t.Fatal(err)
		}
	}
	before := store.Document()
	failed := rowOf(2)
	failed.Status = Failed
	if err := store.Put(failed); err != nil {
		t.Fatal(err)
	}
	if !store.Traced(rowOf(1)) || store.Traced(failed) || !store.Traced(rowOf(3)) {
		t.Errorf("there are traces of rows %v %v %v, want none of the second", store.Traced(rowOf(1)), store.Traced(failed),
			store.Traced(rowOf(3)))
	}
	// The places of the others are still known.
	if err := store.PutTraces(traceOf(3, 5)); err != nil {
		t.Fatal(err)
	}
	data, err := store.Encode()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := Parse(data)
	if err != nil || len(doc.Traces) != 2 || len(doc.Traces[0].Spans) != 1 || len(doc.Traces[1].Spans) != 5 {
		t.Errorf("traces %+v, %v; want those of one thread and of three", doc.Traces, err)
	}
	if len(before.Traces) != 3 || len(before.Traces[1].Spans) != 2 {
		t.Errorf("a document that was taken before has the traces %+v", before.Traces)
	}
	merged, err := Merge(before, Document{Schema: 1, Records: []Record{failed}})
	if err != nil || len(merged.Records) != 3 || len(merged.Traces) != 2 {
		t.Errorf("%d rows and %d traces merged, %v; want 3 and 2", len(merged.Records), len(merged.Traces), err)
	}
}

// TestTracesSurviveNumbersThatJSONHasNot has a span without an end.
func TestTracesSurviveNumbersThatJSONHasNot(t *testing.T) {
	trace := traceOf(2, 2)
	trace.Spans[0].End = math.NaN()
	var s Store
	if err := s.PutTraces(trace); err != nil {
		t.Fatal(err)
	}
	data, err := s.Encode()
	if err != nil || !json.Valid(data) {
		t.Fatalf("%s, %v", data, err)
	}
	doc, err := Parse(data)
	if err != nil || len(doc.Traces) != 1 || len(doc.Traces[0].Spans) != 1 || doc.Traces[0].Spans[0].Worker != 1 {
		t.Errorf("read back %+v, %v; want the span that has an end", doc.Traces, err)
	}
	if !math.IsNaN(trace.Spans[0].End) {
		t.Error("the caller's spans were changed")
	}
}

// TestMergeKeepsTopology merges a host with what an older file has of it, which has no topology.
func TestMergeKeepsTopology(t *testing.T) {
	of := func(h Host) Document { return Document{Schema: Schema, Hosts: []Host{h}} }
	merged, err := Merge(of(Host{ID: "a", Topology: &topology.Topology{Processors: "0-3"}}), of(Host{ID: "a"}))
	if err != nil {
		t.Fatal(err)
	}
	if got := merged.Hosts[0].Topology; got == nil || got.Processors != "0-3" {
		t.Errorf("topology is %v, want that of the first file", got)
	}
}

// TestMergeKeepsGPUsApart merges records of two GPUs that were in machines with the same processors, and so
// the same id.
func TestMergeKeepsGPUsApart(t *testing.T) {
	of := func(run string, gpus ...string) Document {
		r := rowOf(1)
		r.Host, r.Run = "a", run
		return Document{Schema: Schema, Hosts: []Host{{ID: "a", GPUs: gpus}}, Runs: []RunInfo{{ID: run, Host: "a"}},
			Records: []Record{r}, Measurements: []Measurement{{Host: "a", Run: run}}, Traces: []Trace{{Key: r.Key, Run: run}}}
	}
	docs := []Document{of("1", "H100"), of("2", "H200"), of("3", "H200", "H200"), of("4", "H100"), of("5")}
	merged, err := Merge(docs...)
	if err != nil || len(merged.Hosts) != 2 || len(merged.Records) != 2 || docs[1].Records[0].Host != "a" {
		t.Fatalf("%d hosts, %d rows, %v; want a host and a row for each kind of GPU", len(merged.Hosts),
			len(merged.Records), err)
	}
	second := merged.Hosts[1].ID
	if second == "a" || !slices.Contains(merged.Hosts[1].GPUs, "H200") {
		t.Errorf("the second host is %+v, want the H200 with an id of its own", merged.Hosts[1])
	}
	want := map[string]string{"1": "a", "2": second, "3": second, "4": "a", "5": "a"}
	for _, r := range merged.Runs {
		if r.Host != want[r.ID] {
			t.Errorf("run %s is of host %s, want %s", r.ID, r.Host, want[r.ID])
		}
	}
	for _, m := range merged.Measurements {
		if m.Host != want[m.Run] {
			t.Errorf("a measurement of run %s is of host %s, want %s", m.Run, m.Host, want[m.Run])
		}
	}
	for _, r := range merged.Records {
		if r.Host != want[r.Run] {
			t.Errorf("a row of run %s is of host %s, want %s", r.Run, r.Host, want[r.Run])
		}
	}
	for _, l := range merged.Traces {
		if l.Host != want[l.Run] {
			t.Errorf("a timeline of run %s is of host %s, want %s", l.Run, l.Host, want[l.Run])
		}
	}
}

// TestPacked stores records in gzip's format, resumes them, and reads damaged ones.
func TestPacked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json.gz")
	for i, mode := range []Mode{Create, Resume} {
		store, err := OpenStore(path, mode)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Put(rowOf(i + 1)); err != nil {
			t.Fatal(err)
		}
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
	if err != nil {
		t.Fatal(err)
	}
	if same, err := unpacked(plain, 1); err != nil || !bytes.Equal(same, plain) {
		t.Errorf("what is not compressed became %d bytes, %v", len(same), err)
	}
	if _, err := unpacked(data, int64(len(plain)-1)); err == nil || !strings.Contains(err.Error(), "when decompressed") {
		t.Errorf("%d bytes of at most %d: %v", len(plain), len(plain)-1, err)
	}
	if err := os.WriteFile(path, data[:len(data)/2], 0o600); err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	doc, err := Parse(data)
	if err != nil || doc.Records[0].Count() != 100 || doc.Records[0].Again[0].Median != 4 || rowOf(1).Count() != 0 {
		t.Errorf("read back %+v, %v", doc.Records, err)
	}
	_, err = Parse(bytes.Replace(data, []byte(`"count":100`), []byte(`"count":2`), 1))
	if err == nil || !strings.Contains(err.Error(), "3 samples, and sampled.count says 2") {
		t.Errorf("fewer samples than there are: %v", err)
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
