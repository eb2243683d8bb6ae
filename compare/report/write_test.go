package report

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"

	"gemm"
	"gemm/compare/record"
	"gemm/compare/report/analysis"
	"gemm/gemmtest/reporttest"
	"gemm/internal/note"
)

func bytes256(r *record.Record) {
	r.Type, r.Compute, r.Unit, r.BoundKind = "gf256", "gf256", "Gmul/s", gemm.Exact
	r.Rate, r.Gflops, r.DataGBps, r.PercentPeak, r.Residual, r.Bound = r.Gflops/2, record.None(), 3, record.None(), 0, 0
}

// small is a few rows with all that a row can have or lack.
func small() record.Document {
	full := reporttest.Row("serial/strassen", 64, 1.25e-3, reporttest.Experiment("cutoff"))
	full.Params, full.CI = gemm.Params{"cutoff": 16}, &[2]float64{1.2e-3, 1.3e-3}
	full.Samples = []float64{1.25e-3, 1.3e-3, 1.2e-3}
	full.Inner, full.Turn, full.Warnings = 4, "t1", []note.Note{note.Read("spread 12 %"), note.Read("a, \"b\"")}
	full.Resolved = gemm.Params{"cutoff": 16, "leaf": "packed"}
	full.Phases = map[string]float64{"pack": 1e-4, "compute": 1e-3}
	bytewise := reporttest.Row("serial/naive", 8, 1e-6, bytes256)
	bytewise.Samples, bytewise.CI = []float64{1e-6}, nil
	none := reporttest.Row("reference/blis", 5, 1, reporttest.Unpredicted, func(r *record.Record) {
		r.Shape, r.LDA, r.Inner, r.Unit = gemm.Shape{M: 3, N: 5, K: 7}, 7, 0, ""
	}, reporttest.WithStatus(record.Unavailable, "no library; install it,\nor not"))
	wrong := reporttest.Row("serial/ikj", 64, 1e-3, reporttest.WithStatus(record.Wrong, "residual is NaN"))
	wrong.Residual = record.Number(math.Inf(1))
	shared := reporttest.Row("mpi/summa", 64, 1e-3, reporttest.OnRanks("ladder", 2))
	return reporttest.Planted(full, bytewise, none, wrong, shared)
}

// TestRecords compares the rows in every format of records with a file.
func TestRecords(t *testing.T) {
	for name, write := range map[string]func(io.Writer, record.Document) error{"csv": CSV, "bench": Bench} {
		var buf bytes.Buffer
		if err := write(&buf, small()); err != nil {
			t.Fatal(err)
		}
		reporttest.Golden(t, "results."+name+".golden", buf.Bytes())
	}
	doc := load(t, "serial")
	if rows, cell := table(t, doc); len(rows) != len(doc.Records) || cell(7, "median_s") !=
		strconv.FormatFloat(float64(doc.Records[7].Median), 'g', -1, 64) {
		t.Errorf("%d rows for %d records, the last %v", len(rows), len(doc.Records), rows[len(rows)-1])
	}
	var first, second bytes.Buffer
	if err := JSON(&first, doc); err != nil {
		t.Fatal(err)
	}
	read, err := record.Parse(first.Bytes())
	if err = errors.Join(err, JSON(&second, read)); err != nil || len(read.Records) != len(doc.Records) ||
		!bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Errorf("what is read back is not what was written: %v", err)
	}
}

// TestBench reads the text as benchstat does: a result a sample, in the order of the rows.
func TestBench(t *testing.T) {
	doc := load(t, "serial")
	var buf bytes.Buffer
	if err := Bench(&buf, doc); err != nil {
		t.Fatal(err)
	}
	var want, got []float64
	names, timed := map[string]bool{}, analysis.Timed(doc.Records)
	for _, r := range timed {
		want = append(want, r.Samples...)
	}
	reader := benchfmt.NewReader(&buf, "results.bench.txt")
	for reader.Scan() {
		switch line := reader.Result().(type) {
		case *benchfmt.Result:
			seconds, _ := line.Value("sec/op")
			got, names[string(line.Name)] = append(got, seconds), true
		case *benchfmt.SyntaxError:
			t.Fatal(line)
		}
	}
	near := func(x, y float64) bool { return math.Abs(x/y-1) <= 1e-6 }
	if units := reader.Units(); !slices.EqualFunc(got, want, near) || len(names) != len(timed) ||
		units.GetBetter("GFLOP/s") != 1 ||
		units.GetBetter("sec/op") != -1 {
		t.Errorf("%d times for %d samples, %d names for %d rows; units %v", len(got), len(want), len(names), len(timed),
			units)
	}
}

// drawable returns small with rows for two figures.
func drawable() record.Document {
	doc := small()
	doc.Records = append(doc.Records, reporttest.Row("serial/naive", 64, 1e-3), reporttest.Row("serial/naive", 128, 9e-3),
		reporttest.Row("serial/packed", 128, 1e-3))
	return doc
}

func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestWrite checks that the files of all formats except PDF are written and named, and that a
// second run writes the same bytes.
func TestWrite(t *testing.T) {
	a, b := filepath.Join(t.TempDir(), "new", "folder"), t.TempDir()
	paths, err := Write(t.Context(), a, drawable(), WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	english := Options{Lang: "en", Command: "gemm"}
	if _, err := Write(t.Context(), b, drawable(), WriteOptions{Options: english}); err != nil {
		t.Fatal(err)
	}
	_, _, drawings, err := Build(drawable(), Options{})
	first := tree(t, a)
	if want := 9 + 3*len(drawings); err != nil || len(drawings) < 2 || len(paths) != want || len(first) != want {
		t.Errorf("%d paths and %d files, want %d; %v", len(paths), len(first), want, err)
	}
	for _, path := range paths {
		name, _ := filepath.Rel(a, path)
		if first[name] == "" {
			t.Errorf("%s is not written", name)
		}
	}
	if !maps.Equal(first, tree(t, b)) {
		t.Error("the files are not the same twice")
	}
	if info, err := os.Stat(filepath.Join(a, "report.html")); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("report.html: %v, %v", info.Mode(), err)
	}
}

// TestWriteErrors checks that an error is one line that names the value, and that nothing is half written.
func TestWriteErrors(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "file"), "x", 0o644)
	if err := os.Mkdir(filepath.Join(dir, "report.md"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, dir, format, want string
	}{
		{"a file in the way of the folder", filepath.Join(dir, "file"), "csv", "file"},
		{"a folder in the way of the file", dir, "md", "report.md"},
	} {
		_, err := Write(t.Context(), test.dir, small(), WriteOptions{Formats: []string{test.format}})
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	for name := range tree(t, dir) {
		if name != "file" && filepath.Dir(name) != "figures" {
			t.Errorf("%s is left", name)
		}
	}
}

func put(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// TestNoPDF checks that the error without TeX names the package to install, before anything is written; that an error
// of TeX is on one line; and that the old PDF is intact.
func TestNoPDF(t *testing.T) {
	bin, dir := t.TempDir(), t.TempDir()
	t.Setenv("PATH", bin)
	fails := func(want string) {
		t.Helper()
		_, err := Write(t.Context(), dir, small(), WriteOptions{Formats: []string{"html", "pdf"}})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	fails("texlive-xetex")
	if files := tree(t, dir); len(files) != 0 {
		t.Errorf("wrote %d files", len(files))
	}
	xelatex := filepath.Join(bin, "xelatex")
	put(t, xelatex, "#!/bin/sh\necho 'This is a TeX'\necho '! Undefined control sequence.'\nexit 1\n", 0o755)
	put(t, filepath.Join(dir, "report.pdf"), "former", 0o644)
	fails("Undefined control sequence")
	put(t, xelatex, "#!/bin/sh\necho '(./report.aux)'\nkill -9 $$\n", 0o755)
	fails(`xelatex: after "(./report.aux)": signal: killed`)
	if got := tree(t, dir)["report.pdf"]; got != "former" {
		t.Errorf("report.pdf is now %q", got)
	}
}

// TestPDF checks that the report is the same PDF twice, and that no files of TeX are left in the folder.
func TestPDF(t *testing.T) {
	t.Parallel()
	reporttest.NeedTeX(t)
	dir := t.TempDir()
	if _, err := Write(t.Context(), dir, small(), WriteOptions{Formats: []string{"pdf"}}); err != nil {
		t.Fatal(err)
	}
	files := tree(t, dir)
	for name := range files {
		if ext := filepath.Ext(name); ext != ".pdf" && ext != ".tex" {
			t.Errorf("%s is left", name)
		}
	}
	first := files["report.pdf"]
	var again bytes.Buffer
	report, _, drawings, err := Build(small(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := typeset(t.Context(), &again, report, drawings, latest(small())); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(first, "%PDF-") || first != again.String() {
		t.Errorf("no PDF, or not the same twice (%d and %d bytes)", len(first), again.Len())
	}
}
