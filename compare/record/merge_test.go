package record

import (
	"maps"
	"slices"
	"testing"

	"gemm/internal/cpu"
)

func TestMergeKeepsEveryRowOnce(t *testing.T) {
	row := func(host string, n int) Record {
		r := rowAt("test/x", n)
		r.Host = host
		return r
	}
	one := Document{Schema: 1, Records: []Record{row("a", 1), row("a", 2)},
		Hosts: []Host{{ID: "a", MPI: "Open MPI", Topology: &cpu.Topology{Processors: "0-3"}}}}
	two := Document{Schema: 1, Hosts: []Host{{ID: "b"}, {ID: "a"}}, Records: []Record{row("b", 1), row("a", 2)}}
	doc, err := Merge(one, two)
	if err != nil || len(doc.Hosts) != 2 || len(doc.Records) != 3 || doc.Hosts[0].MPI != "Open MPI" ||
		doc.Hosts[0].Topology == nil {
		t.Errorf("%+v, %d rows, %v; want 2 hosts with what one of the documents says of them, and 3 rows", doc.Hosts,
			len(doc.Records), err)
	}
}

// TestMergeKeepsTurnsApart checks that a merged document has one turn for rows that were sampled
// interleaved, and another turn for all others.
func TestMergeKeepsTurnsApart(t *testing.T) {
	doc := func(second float64, names ...string) Document {
		d := Document{Schema: 1}
		for _, name := range names {
			r := rowAt(name, 8)
			r.Turn, r.Host, r.Status, r.Samples, r.Median = "t", "a", OK, []float64{second}, Number(second)
			if name == "test/slow" {
				r.Status, r.Samples, r.Median = Timeout, nil, 0
			}
			d.Records = append(d.Records, r)
		}
		return d
	}
	// resumed has the last row in a part of its own.
	resumed := func(d Document) Document {
		d.Records[len(d.Records)-1].Turn = "t, part 2"
		return d
	}
	for _, test := range []struct {
		docs []Document
		want map[string]string
	}{
		{[]Document{doc(1, "test/x", "test/y"), doc(1, "test/x", "test/y", "test/z")},
			map[string]string{"test/x": "t", "test/y": "t", "test/z": "t"}},
		{[]Document{doc(1, "test/x"), doc(2, "test/y", "test/z"), doc(3, "test/u")},
			map[string]string{"test/x": "t", "test/y": "t, part 2", "test/z": "t, part 2", "test/u": "t, part 3"}},
		{[]Document{doc(1, "test/x", "test/y"), doc(2, "test/x")}, map[string]string{"test/x": "t, part 2", "test/y": "t"}},
		{[]Document{doc(1, "test/x"), resumed(doc(2, "test/y", "test/z"))},
			map[string]string{"test/x": "t", "test/y": "t, part 3", "test/z": "t, part 2"}},
		{[]Document{doc(1, "test/x", "test/slow"), doc(2, "test/y", "test/slow")},
			map[string]string{"test/x": "t", "test/y": "t, part 2", "test/slow": "t, part 2"}},
	} {
		merged, err := Merge(test.docs...)
		must(t, err)
		got := map[string]string{}
		for _, r := range merged.Records {
			got[r.Variant] = r.Turn
		}
		if !maps.Equal(got, test.want) {
			t.Errorf("turns are %v, want %v", got, test.want)
		}
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
	check := func(what, run, host string) {
		if host != want[run] {
			t.Errorf("%s of run %s has the host %s, want %s", what, run, host, want[run])
		}
	}
	for _, r := range merged.Runs {
		check("the description", r.ID, r.Host)
	}
	for _, m := range merged.Measurements {
		check("a measurement", m.Run, m.Host)
	}
	for _, r := range merged.Records {
		check("a row", r.Run, r.Host)
	}
	for _, l := range merged.Traces {
		check("a timeline", l.Run, l.Host)
	}
}
