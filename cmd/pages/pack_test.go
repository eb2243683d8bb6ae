package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"gemm"
	"gemm/compare/record"
	"gemm/gemmtest"
	"gemm/internal/sample"
	"gemm/internal/timeline"
)

// timed returns a row of n samples 1, 2, … s.
func timed(run string, size, n int, middle float64) record.Record {
	r := record.Record{Key: record.Key{Host: "h", Experiment: record.MainLadder, Variant: "serial/packed",
		Problem: record.Problem{Type: "f64", Op: "nn", Shape: gemm.Cube(size)}}, Run: run, Threads: 1,
		Status: record.OK, Median: record.Number(middle), Gflops: 1, Bound: 1}
	for i := range n {
		r.Samples = append(r.Samples, float64(1+i*37%n))
	}
	return r
}

// TestPack packs a record and a repetition of it, and packs the result again.
func TestPack(t *testing.T) {
	trace := func(variant, schedule string) record.Trace {
		return record.Trace{Key: record.Key{Host: "h", Variant: variant, Problem: record.Problem{Type: "f64"}},
			Params: gemm.Params{"schedule": schedule}, Spans: []timeline.Span{}}
	}
	main := record.Document{Schema: record.Schema, Hosts: []record.Host{{ID: "h"}},
		Runs:    []record.RunInfo{{ID: "a", Host: "h"}},
		Records: []record.Record{timed("a", 8, 200, 100.5), timed("a", 16, 3, 2)},
		Measurements: []record.Measurement{{Run: "a", Name: "long", Samples: timed("a", 8, 57, 0).Samples},
			{Run: "a", Name: "short", Samples: []float64{1, 2}}},
		Traces: []record.Trace{trace("mpi/summa", ""), trace("mpi/cannon", ""), trace("parallel/rows", "static"),
			trace("parallel/rows", "dynamic")}}
	again := record.Document{Schema: record.Schema,
		Hosts: []record.Host{{ID: "h", Ceilings: []record.Ceiling{{Run: "b", Gflops: 1}}}},
		Runs:  []record.RunInfo{{ID: "b", Host: "h"}}, Records: []record.Record{timed("b", 8, 200, 90)},
		Measurements: []record.Measurement{{Run: "b", Name: "long", Samples: []float64{1}}}}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, doc := range map[string]record.Document{"a.json": main, "b.json": again} {
		data, err := doc.Encode()
		gemmtest.Must(t, err)
		gemmtest.Must(t, write(at(name), data))
	}
	if err := pack(at("x.json"), at("a.json")); err == nil {
		t.Error("a name without .json.gz is no error")
	}
	gemmtest.Must(t, pack(at("x.json.gz"), at("a.json"), at("b.json")))
	doc, err := record.Load(at("x.json.gz"))
	gemmtest.Must(t, err)
	long, short := doc.Records[0], doc.Records[1]
	if len(doc.Records) != 2 || len(doc.Runs) != 2 || len(doc.Hosts) != 1 || len(doc.Hosts[0].Ceilings) != 0 {
		t.Errorf("%d rows, %d runs, hosts %+v; want 2, 2, and the first document's", len(doc.Records), len(doc.Runs),
			doc.Hosts)
	}
	if !reflect.DeepEqual(long.Again, []record.Again{{Run: "b", Median: 90}}) || short.Again != nil {
		t.Errorf("further medians %v and %v, want that of run b and none", long.Again, short.Again)
	}
	if want := (record.Sampled{Count: 200, Quartiles: [2]float64{51, 151}}); long.Median != 100.5 ||
		long.Sampled == nil || *long.Sampled != want {
		t.Errorf("median %v of %+v, want 100.5 of %+v", long.Median, long.Sampled, want)
	}
	s := long.Samples
	if len(s) != mostSamples || s[0] != 1 || s[7] != 50 || s[mostSamples/2] != 100.5 || s[mostSamples-1] != 200 {
		t.Errorf("samples %v, want quantiles from 1 over 100.5 to 200", s)
	}
	if short.Sampled != nil || !reflect.DeepEqual(short.Samples, timed("a", 16, 3, 2).Samples) {
		t.Errorf("three samples became %v, %+v", short.Samples, short.Sampled)
	}
	m, sum := doc.Measurements, sample.Summarize(main.Measurements[0].Samples)
	if len(m) != 2 || m[0].Count() != 57 || m[0].Samples[mostSamples/2] != 29 || m[0].Sampled.CI == nil ||
		*m[0].Sampled.CI != [2]float64{sum.Lo, sum.Hi} || m[1].Sampled != nil || m[1].Count() != 2 {
		t.Errorf("measurements %+v", m)
	}
	if tr := doc.Traces; len(tr) != 3 || tr[0].Variant != "mpi/cannon" || tr[1].Params["schedule"] != "static" {
		t.Errorf("timelines %+v, want one of ranks and one a schedule", tr)
	}
	first, err := os.ReadFile(at("x.json.gz"))
	gemmtest.Must(t, err)
	gemmtest.Must(t, pack(at("x.json.gz"), at("x.json.gz")))
	if second, err := os.ReadFile(at("x.json.gz")); err != nil || !bytes.Equal(first, second) {
		t.Errorf("packed again, it is another file (%v)", err)
	}
}

// TestJoined rounds coordinates, and joins lines of one style and not filled areas.
func TestJoined(t *testing.T) {
	const line, area = ` style="fill:none;stroke:#000" />`, ` style="fill:#000" />`
	got := joined(`<path d="M1.26,2L3,2"` + line + "\n" + `<path d="M3.04,2L3,4.56Z"` + line + "\n" +
		`<path d="M1,1A2.95,2 0 1 1 3,1Z"` + area + "\n" + `<path d="M5,1L6,2"` + area + "\n<text x=\"1.250\">0.75</text>\n")
	want := `<path d="M1.3,2L3,2M3,2L3,4.6Z"` + line + "\n" + `<path d="M1,1A3,2 0 1 1 3,1Z"` + area + "\n" +
		`<path d="M5,1L6,2"` + area + "\n<text x=\"1.2\">0.75</text>\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
