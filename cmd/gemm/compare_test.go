package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/urfave/cli/v2"

	"gemm"
	"gemm/cmd/catalog"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/gemmtest"
)

func TestNewerSchema(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "results.json")
	write(t, file, `{"schema":99}`)
	const want = "its schema is 99"
	fail(t, dir, 1, want, "serial", "--json", file, "--resume", "--sizes", "8")
	fail(t, dir, 1, want, "compare", "--out", dir, "--resume")
	fail(t, dir, 1, want, "report", "--in", file, "--out", filepath.Join(dir, "out"))
	if data, err := os.ReadFile(file); err != nil || string(data) != `{"schema":99}` {
		t.Errorf("%q, %v", data, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v, %v, want results.json alone", left, err)
	}
}

// TestReportIsInterrupted ends a report while it is made: at once, with whole files only.
func TestReportIsInterrupted(t *testing.T) {
	t.Parallel()
	records, err := filepath.Abs("../../results/cuda-h100.json.gz")
	gemmtest.Must(t, err)
	dir := t.TempDir()
	r, _ := interrupt(t, "", nil, exists(filepath.Join(dir, "figures", "*.svg")), "report", "--in", records, "--out", dir)
	if want := "interrupted; the report in " + dir + " is not complete"; !strings.Contains(r.stderr, want) {
		t.Errorf("%q, want %q", r.stderr, want)
	}
	if exists(filepath.Join(dir, "report.html"))() || exists(filepath.Join(dir, "figures", ".*"))() {
		t.Errorf("the report was written to its end, or temporary files are left: %q", entries(t, dir))
	}
}

func TestInterruptedComparisonHasAReport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	interrupt(t, "", nil, hasRows(filepath.Join(dir, "results.json"), 1), "compare", "--variants", "serial/naive",
		"--sizes", "16,900",
		"--type", "f64", "--time", "1ms", "--out", dir)
	if page, err := os.ReadFile(filepath.Join(dir, "report.html")); err != nil ||
		!strings.Contains(string(page), "serial/naive") {
		t.Errorf("no report of the row that was measured: %v", err)
	}
}

func TestCompareAndReport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	compared := succeed(t, dir, "compare", "--out", "d", "--sizes", "24", "--families", "serial", "--type",
		"f64,gf256").stdout
	for _, name := range []string{"results.json", "report.html", "report.md", "report.tex", "results.csv"} {
		if info, err := os.Stat(filepath.Join(dir, "d", name)); err != nil || info.Size() == 0 {
			t.Errorf("compare wrote no %s: %v", name, err)
		}
	}
	doc := records(t, filepath.Join(dir, "d", "results.json"))
	for _, v := range family("serial") {
		if v.Role == gemm.Study {
			continue // in no ladder
		}
		i := slices.IndexFunc(doc.Records, func(r record.Record) bool { return r.Variant == v.Name })
		if i < 0 || doc.Records[i].Status != record.OK {
			t.Errorf("compare has no row of %s that is ok", v.Name)
		}
		if !strings.Contains(compared, v.Name) {
			t.Errorf("compare's table lacks %s:\n%s", v.Name, compared)
		}
	}
	fail(t, dir, 1, "records exist already", "compare", "--out", "d", "--sizes", "24")
	succeed(t, dir, "compare", "--out", "d", "--sizes", "24", "--families", "serial", "--type", "f64,gf256", "--resume")
	if resumed := records(t, filepath.Join(dir, "d", "results.json")); len(resumed.Records) != len(doc.Records) {
		t.Errorf("resumed, %d rows are %d", len(doc.Records), len(resumed.Records))
	}
	succeed(t, dir, "report", "--in", "d/results.json", "--out", "same", "--format", "html,md,tex,csv")
	for _, name := range []string{"report.html", "report.md", "report.tex", "report-appendix.html", "report-appendix.md",
		"report-appendix.tex", "results.csv"} {
		first, err := os.ReadFile(filepath.Join(dir, "d", name))
		again, other := os.ReadFile(filepath.Join(dir, "same", name))
		if err != nil || other != nil || string(first) != string(again) {
			t.Errorf("%s differs when it is rendered again (%v, %v)", name, err, other)
		}
	}
	fail(t, dir, 1, "records exist already", "report", "--in", "d/results.json", "--out", "d", "--format", "json")

	r := succeed(t, dir, "report", "--in", "d/results.json", "--in", "d/results.json", "--out", "e", "--format",
		"md,csv,json", "--lang", "zh")
	for _, name := range []string{"report.md", "results.csv", "results.json"} {
		path := filepath.Join("e", name)
		if info, err := os.Stat(filepath.Join(dir, path)); err != nil || info.Size() == 0 ||
			!strings.Contains(r.stdout, path) {
			t.Errorf("report wrote no %s: %v, %q", name, err, r.stdout)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "e", "report.html")); err == nil {
		t.Error("report wrote a format that was not asked for")
	}
	if merged := records(t, filepath.Join(dir, "e", "results.json")); len(merged.Records) != len(doc.Records) {
		t.Errorf("%d records merged with themselves are %d", len(doc.Records), len(merged.Records))
	}
	succeed(t, dir, "report", "--in", "d/results.json", "--out", "e", "--format", "json", "--force")
	text, err := os.ReadFile(filepath.Join(dir, "e", "report.md"))
	if err != nil || !strings.ContainsFunc(string(text), func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
		t.Errorf("the report in Chinese has no Chinese: %v", err)
	}
}

// planned returns what gemm compare with the arguments requests, and the rows that it would measure.
func planned(t *testing.T, args ...string) (cases []plan.Case, requested plan.Comparison) {
	t.Helper()
	app := newApp(io.Discard, io.Discard)
	app.Command("compare").Action = func(c *cli.Context) (err error) {
		if requested, err = comparison(c); err == nil {
			cases, err = rowsOf(c, requested, nil)
		}
		return err
	}
	gemmtest.Must(t, app.Run(append([]string{"gemm", "compare"}, args...)))
	return cases, requested
}

// TestProfiles checks the names of variants in the built-in profiles, and plans a profile of the user's own.
func TestProfiles(t *testing.T) {
	var printed strings.Builder
	for i, p := range plan.Profiles(runtime.GOMAXPROCS(0)) {
		if _, err := plan.ReadProfile(p.Name, []byte(p.Text), catalog.Variants(), p.Processors); err != nil {
			t.Error(err)
		}
		if i > 0 {
			printed.WriteString("\n---\n")
		}
		fmt.Fprintf(&printed, "# profile %s\n%s", p.Name, p.Text)
	}
	dir := t.TempDir()
	if r := succeed(t, dir, "compare", "--profile", "print"); r.stdout != printed.String() {
		t.Errorf("the profiles are printed as %q", r.stdout)
	}
	file := filepath.Join(dir, "mine.yaml")
	write := func(text string) {
		write(t, file, text)
	}
	write("shapes: [8, 9x10x11]\ntypes: [f32]\nladder:\n- {variants: [serial/ikj], only: {cubes: true}}\n- " +
		"{never: true}\n" +
		"experiments:\n- {experiment: chunk, variants: [parallel/rows], shapes: [7], sweep: {threads: [1], chunk: [0, 4]}}")
	cases, _ := planned(t, "--profile", file, "--type", "f32,f64")
	var got []string
	for _, c := range cases {
		got = append(got, c.String())
	}
	if want := []string{"serial/ikj f32 8", "serial/ikj f64 8", "parallel/rows f64 7 chunk=0 threads=1",
		"parallel/rows f64 7 chunk=4 threads=1"}; !slices.Equal(got, want) {
		t.Errorf("a profile of the user's own plans %q, want %q", got, want)
	}
	write("ladder:\n- {variants: [serial/ikk]}")
	fail(t, dir, statusUsage, `mine.yaml: line 2: there is no variant "serial/ikk"; the nearest is "serial/ikj"`,
		"compare", "--profile", file)
}

func TestComparisonIsNarrowed(t *testing.T) {
	all, quick := planned(t)
	long, full := planned(t, "--profile", "full")
	if most, least := full.Budget().Time, quick.Budget().Time; most <= least || len(long) <= len(all) {
		t.Errorf("full has %d rows of %v, quick %d of %v", len(long), most, len(all), least)
	}
	experiments := func(cases []plan.Case) map[string]bool {
		found := map[string]bool{}
		for _, c := range cases {
			found[string(c.Experiment)] = true
		}
		return found
	}
	threads, parallel := planned(t, "--profile", "parallel")
	for _, plan := range []struct {
		cases []plan.Case
		want  string
	}{
		{all, "chunk compiler cutoff ladder load strong"},
		{long, "affinity block chain chunk compiler cutoff gomaxprocs ladder load panel stages strong tile weak"},
		{threads, "affinity chunk gomaxprocs load strong weak"},
	} {
		if got := strings.Join(slices.Sorted(maps.Keys(experiments(plan.cases))), " "); got != plan.want {
			t.Errorf("the experiments are %s, want %s", got, plan.want)
		}
	}
	if b := parallel.Budget(); b.Timeout <= 0 {
		t.Errorf("profile parallel: %+v", b)
	}
	fewer, _ := planned(t, "--profile", "parallel", "--sizes", "512", "--threads", "1")
	for _, c := range fewer {
		if c.Threads() != 1 || c.Base() != gemm.Cube(512) {
			t.Errorf("%v with %d threads is planned", c, c.Threads())
		}
	}
	if len(fewer) == 0 || len(fewer) >= len(threads) {
		t.Errorf("%d of %d rows have 1 thread and n = 512", len(fewer), len(threads))
	}
	for np, args := range map[int][]string{1: {"--profile", "mpi", "--np", "1"}, 3: {"--families", "mpi", "--np", "3"}} {
		ranks, _ := planned(t, args...)
		other := func(c plan.Case) bool { return c.Ranks() != np }
		if len(ranks) == 0 || slices.ContainsFunc(ranks, other) {
			t.Errorf("%q: %d rows, on %d ranks: %v", args, len(ranks), np, !slices.ContainsFunc(ranks, other))
		}
	}
	narrow, _ := planned(t, "--families", "serial", "--type", "f32", "--sizes", "64,3x4x5")
	for _, c := range narrow {
		if c.Variant.Family() != "serial" || c.Type != "f32" ||
			c.Shape != gemm.Cube(64) && c.Shape != (gemm.Shape{M: 3, N: 4, K: 5}) {
			t.Errorf("%v is planned", c)
		}
	}
	if one, _ := planned(t, "--variants", "serial/naive", "--sizes", "3,4", "--type", "f64"); len(one) != 2 {
		t.Errorf("%d rows of one variant, type and two sizes", len(one))
	}
}
