package compare

import (
	"encoding/json"
	"math"
	"path/filepath"
	"testing"

	"gemm"
)

// traceOf returns a trace of a row with threads, of as many spans.
func traceOf(threads, spans int) Trace {
	r := Case{
		Experiment: "load", Variant: variant("parallel/rows", nil), Type: "f64", Shape: Cube(8), Op: "nn",
		Params: gemm.Params{"threads": threads},
	}.record()
	r.Host = "a"
	t := r.trace()
	for i := range spans {
		t.Spans = append(t.Spans, gemm.Span{Worker: i, From: i, To: i + 1, Begin: 1, End: 2})
	}
	return t
}

// TestTracesAreKeptOnce puts the trace of one row twice and that of another, resumes,
// and merges.
func TestTracesAreKeptOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	store, err := OpenStore(path, Create)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.PutTraces(traceOf(1, 1), traceOf(2, 2)); err != nil {
		t.Fatal(err)
	}
	store, err = OpenStore(path, Resume)
	if err != nil {
		t.Fatal(err)
	}
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
	if r := (Record{Host: "a", Experiment: "load", Variant: "parallel/rows", Type: "f64", Op: "nn", M: 8, N: 8, K: 8, Params: gemm.Params{"threads": 2}}); !store.Traced(r) {
		t.Error("the trace of a row is not found")
	} else if r.Op = "tn"; store.Traced(r) {
		t.Error("a row has the trace of another")
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
