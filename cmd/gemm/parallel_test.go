package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/gemmtest"
)

// parallelRecords runs gemm parallel with the arguments on short products and returns
// its document and what it wrote to standard error.
func parallelRecords(t *testing.T, args ...string) (record.Document, string) {
	t.Helper()
	args = append([]string{"parallel", "--json", "-", "--sizes", "24", "--time", "1ms"}, args...)
	r := start(t, "", nil, args...)
	doc := parsed(t, r)
	for _, row := range doc.Records {
		if row.Status != record.OK {
			t.Errorf("gemm %v: %s %v: %s, %s", args, row.Variant, row.Params, row.Status, row.Reason)
		}
	}
	return doc, r.stderr
}

// planFamily returns the rows that the command of a family with the arguments would measure.
func planFamily(family string, args ...string) (cases []plan.Case, err error) {
	app := newApp(io.Discard, io.Discard)
	app.Command(family).Action = func(c *cli.Context) error {
		i := slices.IndexFunc(ladders, func(f ladder) bool { return f.family == family })
		cases, err = ladders[i].cases(c, nil)
		return err
	}
	err = app.Run(append([]string{"gemm", family, "--sizes", "24"}, args...))
	return cases, err
}

// swept is planFamily for arguments that are valid.
func swept(t *testing.T, family string, args ...string) []plan.Case {
	t.Helper()
	cases, err := planFamily(family, args...)
	gemmtest.Must(t, err)
	return cases
}

// TestParallelExperiments checks that the swept parameter names the experiment, and that its serial
// baselines are measured with it.
func TestParallelExperiments(t *testing.T) {
	for _, test := range []struct {
		args       string
		experiment record.Experiment
		rows       int // of the variants with threads
	}{
		{"--variants parallel/rows", "ladder", 1},
		{"--variants parallel/rows,parallel/packed --threads 2 --schedule dynamic --chunk 3", "ladder", 2},
		{"--variants parallel/rows,parallel/strassen --threads 1,2", "strong", 4},
		{"--variants parallel/rows,parallel/packed --threads 1,2 --schedule static,guided", "strong", 6},
		{"--variants parallel/rows --threads 1,2 --schedule static,guided --chunk 0,8", "chunk", 8},
		{"--variants parallel/rows --threads 2 --schedule static,guided", "chunk", 2},
		{"--variants parallel/rows --load 2 --threads 1,2 --schedule static,guided", "load", 4},
		{"--variants parallel/rows --load 0,2 --affinity none,close", "affinity", 4},
		{"--variants parallel/tiles --chunk 0,1 --tile 8,16", "chunk", 4},
		{"--variants parallel/rows --load 0,2 --chunk 0,1", "load", 4},
		{"--variants parallel/rows --load 0 --threads 1,2", "strong", 2},
		{"--variants parallel/rows --affinity none,close --load 2", "affinity", 2},
		{"--variants parallel/rows --gomaxprocs 1,2 --affinity none,spread", "gomaxprocs", 4},
		{"--variants parallel/rows --weak --threads 1,2 --gomaxprocs 1,2", "weak", 4},
		{"--variants parallel/packed --threads 1,2 --trans tn", "strong", 2},
		{"--variants parallel/packed --threads 1,2 --beta 1", "strong", 2},
	} {
		rows := 0
		var serial []string
		for _, c := range swept(t, "parallel", strings.Fields(test.args)...) {
			if c.Experiment != test.experiment || c.Timeline {
				t.Errorf("gemm parallel %s: the experiment is %s, want %s; with a timeline: %v", test.args, c.Experiment,
					test.experiment, c.Timeline)
			}
			if c.Variant.Family() == "serial" {
				serial = append(serial, c.Variant.Name)
			} else {
				rows++
			}
		}
		want := []string{"serial/ikj", "serial/packed"}
		if strings.Contains(test.args, "--trans") || strings.Contains(test.args, "--beta") {
			want = want[1:]
		}
		if test.experiment == record.MainLadder {
			want = nil
		}
		if rows != test.rows || !slices.Equal(serial, want) {
			t.Errorf("gemm parallel %s: %d rows, baselines %q; want %d, %q", test.args, rows, serial, test.rows, want)
		}
	}
	// The command that the handbook names.
	if n := len(swept(t, "parallel", "--threads", "1,2,4", "--schedule", "static,dynamic,guided,auto", "--chunk",
		"0,1,16,64",
		"--sizes", "128,256,512,1024")); n != 4*(3*(6*4*4+2)+2) {
		t.Errorf("%d rows of all variants", n)
	}
	shapes := map[gemm.Shape]int{}
	for _, c := range swept(t, "parallel", "--variants", "parallel/packed", "--weak", "--threads", "1,3", "--sizes",
		"10x11x12") {
		shapes[c.Shape] += c.Threads()
	}
	if len(shapes) != 2 || shapes[gemm.Shape{M: 30, N: 11, K: 12}] != 3 || shapes[gemm.Shape{M: 10, N: 11, K: 12}] != 3 {
		t.Errorf("weak scaling has the threads %v by shape, want 3, and 1 for each of two baselines", shapes)
	}
}

// Every option of gemm parallel changes what is measured.
func TestParallelOptions(t *testing.T) {
	t.Parallel()
	doc, _ := parallelRecords(t, "--variants", "parallel/rows,parallel/tiles", "--threads", "2", "--schedule", "dynamic",
		"--chunk", "3",
		"--local", "serial/blocked", "--load", "2", "--tile", "5", "--affinity", "close", "--gomaxprocs", "3", "--timeline")
	if len(doc.Records) < 2 || len(doc.Traces) != 2 {
		t.Fatalf("%d rows, %d timelines", len(doc.Records), len(doc.Traces))
	}
	for _, r := range doc.Records[:2] {
		for name, want := range map[string]any{
			"threads": 2, "schedule": "dynamic", "chunk": 3, "local": "serial/blocked", "load": 2, "affinity": "close",
			"gomaxprocs": 3,
		} {
			if r.Resolved[name] != want || r.Params[name] != want {
				t.Errorf("%s: %s is %v, was asked for as %v; want %v", r.Variant, name, r.Resolved[name], r.Params[name], want)
			}
		}
		if (r.Variant == "parallel/tiles") != (r.Resolved["tile"] == 5) || r.Resolved["placement"] == "" {
			t.Errorf("%s ran with %v", r.Variant, r.Resolved)
		}
	}
	for _, trace := range doc.Traces {
		indices := map[int]int{}
		for _, s := range trace.Spans {
			for i := s.From; i < s.To; i++ {
				indices[i]++
			}
			if s.Worker < 0 || s.Worker >= 2 || !(s.Begin >= 0 && s.End >= s.Begin && s.End <= trace.Seconds+1e-3) {
				t.Errorf("%s: the span %+v of %v s", trace.Variant, s, trace.Seconds)
			}
		}
		if len(indices) != 24 && trace.Variant == "parallel/rows" || len(indices) != 25 && trace.Variant == "parallel/tiles" {
			t.Errorf("%s: the timeline has %d indices", trace.Variant, len(indices))
		}
		for i, n := range indices {
			if n != 1 {
				t.Errorf("%s: the timeline has index %d %d times", trace.Variant, i, n)
			}
		}
	}
	for _, schedule := range []string{"auto", "default"} {
		doc, _ := parallelRecords(t, "--variants", "parallel/rows", "--schedule", schedule, "--threads", "2")
		if r := doc.Records[0]; r.Params["schedule"] != schedule || r.Resolved["schedule"] == schedule ||
			r.Resolved["schedule"] == nil {
			t.Errorf("asked for %v, ran with %v", r.Params, r.Resolved)
		}
	}
}

// TestCrowdedThreads asks for more threads than there are processors.
func TestCrowdedThreads(t *testing.T) {
	t.Parallel()
	many := runtime.NumCPU() + 1
	want := fmt.Sprintf("%d threads share ", many)
	doc, stderr := parallelRecords(t, "--variants", "parallel/rows", "--threads", fmt.Sprint(many))
	if !strings.HasPrefix(stderr, "gemm parallel: "+want) || strings.Count(stderr, "\n") != 1 {
		t.Errorf("standard error %q, want one line of warning", stderr)
	}
	if r := doc.Records[0]; r.Threads != many ||
		!slices.ContainsFunc(r.Warnings, func(w record.Note) bool { return strings.HasPrefix(w.Text, want) }) {
		t.Errorf("%d threads, warnings %q", r.Threads, r.Warnings)
	}
}

// TestResumedSweep measures a part of a sweep, and then the whole, which keeps it.
func TestResumedSweep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "r.json")
	sweep := func(schedules string, more ...string) record.Document {
		succeed(t, dir, append([]string{"parallel", "--variants", "parallel/rows,parallel/tiles", "--sizes", "16",
			"--threads", "1",
			"--schedule", schedules, "--chunk", "0,4", "--time", "1ms", "--json", file}, more...)...)
		return records(t, file)
	}
	part := sweep("static")
	whole := sweep("static,guided", "--resume")
	if len(part.Records) != 2*2+2 || len(whole.Records) != 2*2*2+2 || len(whole.Runs) != 1 {
		t.Fatalf("%d rows, then %d of %d runs", len(part.Records), len(whole.Records), len(whole.Runs))
	}
	for i, r := range part.Records {
		if !slices.Equal(r.Samples, whole.Records[i].Samples) {
			t.Errorf("%s %v was measured again", r.Variant, r.Params)
		}
	}
	before := read(t, file)
	fail(t, dir, 2, "threads is 0", "parallel", "--threads", "0", "--json", file, "--force")
	if after, err := os.ReadFile(file); err != nil || string(after) != before {
		t.Errorf("a usage error touched the records: %v", err)
	}
}

// TestManyRowsAreAnnounced interrupts a sweep of hundreds of rows as it begins.
func TestManyRowsAreAnnounced(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "r.json")
	r, _ := interrupt(t, "", nil, hasRows(file, 0), "parallel", "--variants", "parallel/rows", "--threads", "1,2",
		"--schedule",
		"static,dynamic,guided,auto",
		"--chunk", "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24", "--sizes", "16,24", "--json", file)
	if want := "gemm parallel: 404 rows take 7m0s and more: up to 990ms of samples each (--time), and at least 6 " +
		"samples"; !strings.HasPrefix(r.stderr, want) {
		t.Errorf("standard error %q, want it to begin with %q", r.stderr, want)
	}
}

// TestTimeOfManyRows checks that more rows get less time each, and slow rows fewer samples, unless
// the command line sets more.
func TestTimeOfManyRows(t *testing.T) {
	for _, test := range []struct {
		args     []string
		rows     int
		want     time.Duration
		patience time.Duration
	}{
		{nil, 1, maxRowTime, 0},
		{nil, manyRows, maxRowTime, 0},
		{nil, 2 * manyRows, maxRowTime / 2, patience},
		{nil, 1000 * manyRows, minRowTime, patience},
		{[]string{"--reps", "6"}, 2 * manyRows, maxRowTime / 2, 0},
		{[]string{"--time", "3s"}, 1000 * manyRows, 3 * time.Second, 0},
	} {
		app := newApp(io.Discard, io.Discard)
		var got plan.Budget
		app.Command("parallel").Action = func(c *cli.Context) error {
			got = budget(c, test.rows)
			return nil
		}
		if err := app.Run(append([]string{"gemm", "parallel"}, test.args...)); err != nil || got.Time != test.want ||
			got.Patience != test.patience {
			t.Errorf("%d rows with %q: %+v, %v; want %v each, patience %v", test.rows, test.args, got, err, test.want,
				test.patience)
		}
	}
}

func TestLinesOfProgress(t *testing.T) {
	var stderr strings.Builder
	p := newProgress(&stderr, 2)
	defer p.Close()
	row := record.Record{Key: record.Key{Variant: "parallel/rows",
		Problem: record.Problem{Type: "f64", Shape: gemm.Cube(8)}}, Status: record.OK}
	p.Done(row, false)
	if stderr.Len() > 0 {
		t.Errorf("a line within %v: %q", lineEvery, stderr.String())
	}
	p.last = p.last.Add(-lineEvery - time.Second)
	row.N = 9
	p.Done(row, true)
	p.Done(row, false) // measured again
	if len(p.rows) != 2 {
		t.Errorf("%d rows, of which one was measured again, want 2", len(p.rows))
	}
	if want := "2 of 2 rows, the last is parallel/rows f64 8×9×8: ok\n"; stderr.String() != want {
		t.Errorf("%q, want %q", stderr.String(), want)
	}
}
