package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gemm/compare/record"
	"gemm/gemmtest"
)

// lane is a thread of a trace: a process is a row.
type lane struct{ process, thread int }

// laneOf returns the thread of a worker or rank of the i-th row.
func laneOf(i, worker int) lane {
	process := 1000 * (i + 1)
	return lane{process, process + 1 + worker}
}

// totals returns the time of each phase, or of chunks, on each thread of a trace, in seconds; calls within
// phases are left out. The test fails unless the trace is one of the format.
func totals(t *testing.T, data string) map[lane]map[string]float64 {
	t.Helper()
	out := map[lane]map[string]float64{}
	for _, e := range gemmtest.TraceEvents(t, []byte(data)) {
		if e.Kind != "X" || e.Category == "call" || e.Category == "product" {
			continue
		}
		at := lane{e.Process, e.Thread}
		if out[at] == nil {
			out[at] = map[string]float64{}
		}
		out[at][e.Name] += float64(e.End-e.Begin) / 1e9
	}
	return out
}

// TestTraceOfWorkers reads the trace of gemm parallel back, and compares the time of each worker with the
// records, which are written too.
func TestTraceOfWorkers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := []string{"parallel", "--variants", "parallel/rows,parallel/tiles", "--threads", "2", "--schedule",
		"dynamic",
		"--sizes", "40", "--time", "1ms", "--trace", "t.json"}
	if r := start(t, dir, nil, append(args, "--json", "r.json")...); r.status != 0 ||
		!strings.Contains(r.stdout, "parallel/tiles") {
		t.Fatalf("status %d, %s%s", r.status, r.stdout, r.stderr)
	}
	doc, err := record.Load(filepath.Join(dir, "r.json"))
	if err != nil || len(doc.Traces) != 2 {
		t.Fatalf("%v, %d timelines", err, len(doc.Traces))
	}
	data := read(t, filepath.Join(dir, "t.json"))
	got := totals(t, data)
	for i, trace := range doc.Traces {
		want := map[int]float64{}
		for _, s := range trace.Spans {
			want[s.Worker] += s.End - s.Begin
		}
		for worker, busy := range want {
			if sum := got[laneOf(i, worker)]["chunk"]; !(math.Abs(sum-busy) < 1e-9*float64(len(trace.Spans)+1)) {
				t.Errorf("%s: worker %d is busy for %v s in the trace, %v s in the records", trace.Variant, worker,
					sum, busy)
			}
		}
	}
	fail(t, dir, 1, "t.json exists already: replace it with --force, or name another", args...)
	report := start(t, dir, nil, "report", "--in", "r.json", "--trace", "-")
	if report.status != 0 || report.stdout != data {
		t.Errorf("status %d: the trace of the records differs from that of the run: %.200s%s", report.status,
			report.stdout,
			report.stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "report")); err == nil {
		t.Error("a report is written that nobody asked for")
	}
}

// TestTraceOfOtherRecords: gemm report replaces no records by timelines, and wants rows that have some.
func TestTraceOfOtherRecords(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	small := []string{"parallel", "--variants", "parallel/rows", "--sizes", "8", "--time", "1ms"}
	succeed(t, dir, append(small, "--json", "r.json")...)
	fail(t, dir, 2, "--trace r.json: has the records", "report", "--in", "r.json", "--trace", "r.json", "--force")
	fail(t, dir, 1, "--trace t.json: no row has a timeline: measure them with --timeline", "report", "--in", "r.json",
		"--trace", "t.json")
	if exists(filepath.Join(dir, "*t.json*"))() {
		t.Errorf("left behind: %q", entries(t, dir))
	}
}

// TestTraceOfSlices reads the timeline of gemm rs back: every slice is read, multiplied and written.
func TestTraceOfSlices(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	archive(t, dir, 20<<20)
	succeed(t, dir, encoding("--variant", "serial/packed", "--trace", "made.json")...)
	gemmtest.Must(t, os.Remove(filepath.Join(dir, "shards", "001.shard")))
	succeed(t, dir, rs("reconstruct", "--in", "shards", "--out", "again", "--trace", "again.json")...)
	for name, phases := range map[string][]string{
		"made.json": {"code", "sync"}, "again.json": {"verify", "code", "sync"},
	} {
		data := read(t, filepath.Join(dir, name))
		all := totals(t, data)
		for _, phase := range phases {
			if _, ok := all[laneOf(0, 0)][phase]; !ok {
				t.Errorf("%s: the files have no phase %s: %v", name, phase, all[laneOf(0, 0)])
			}
		}
		delete(all, laneOf(0, 0))
		if len(all) < 2 {
			t.Errorf("%s has %d slices", name, len(all))
		}
		for slice, phases := range all {
			for _, phase := range []string{"read", "multiply", "write"} {
				if !(phases[phase] > 0) {
					t.Errorf("%s: slice %v has no phase %s: %v", name, slice, phase, phases)
				}
			}
		}
	}
	if r := start(t, dir, nil, encoding("--trace", "made.json", "--out", "other")...); r.status == 0 ||
		!strings.Contains(r.stderr, "made.json") {
		t.Errorf("status %d, %q", r.status, r.stderr)
	}
}
