package report

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"

	"gemm"
	"gemm/compare"
	"gemm/compare/note"
	"gemm/compare/report/figures"
	"gemm/compare/report/reporttest"
)

// small is a few rows with all that a row can have or lack.
func small() compare.Document {
	full := reporttest.Row("serial/strassen", 64, 1.25e-3, param("cutoff", 16), reporttest.Experiment("cutoff"))
	full.Samples = []float64{1.25e-3, 1.3e-3, 1.2e-3}
	full.Inner, full.Turn, full.Warnings = 4, "t1", []note.Note{note.Read("spread 12 %"), note.Read("a, \"b\"")}
	full.Resolved = gemm.Params{"cutoff": 16, "leaf": "packed"}
	full.CI = &[2]float64{1.2e-3, 1.3e-3}
	full.Phases = map[string]float64{"pack": 1e-4, "compute": 1e-3}
	bytewise := reporttest.Row("serial/naive", 8, 1e-6, field)
	bytewise.Samples = []float64{1e-6}
	bytewise.CI = nil
	none := compare.Record{
		Key: compare.Key{
			Host: "h1", Experiment: compare.MainLadder, Variant: "reference/blis",
			Problem: compare.Problem{Type: "f64", Op: "nn", Alpha: 1, LDA: 7, LDB: 5, LDC: 5,
				Shape: gemm.Shape{M: 3, N: 5, K: 7}},
		},
		Run: "r1", Compute: "f64", Threads: 1, Status: compare.Unavailable,
		Reason: note.Note{Text: "no library; install it,\nor not"}, Median: compare.None(), Gflops: compare.None(),
		Rate: compare.None(), DataGBps: compare.None(), PercentPeak: compare.None(), Residual: compare.None(),
		Bound: compare.None(), BoundKind: gemm.Componentwise,
	}
	wrong := reporttest.Row("serial/ikj", 64, 1e-3, reporttest.Came(compare.Wrong, "residual is NaN"))
	wrong.Residual = compare.Number(math.Inf(1))
	shared := reporttest.Row("mpi/summa", 64, 1e-3, reporttest.OnRanks("ladder", 2))
	return reporttest.Planted(full, bytewise, none, wrong, shared)
}

func TestCSVGolden(t *testing.T) {
	var buf bytes.Buffer
	if err := CSV(&buf, small()); err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "results.csv.golden", buf.Bytes())
}

// TestCSV reads numbers back as they were.
func TestCSV(t *testing.T) {
	doc := realistic()
	var buf bytes.Buffer
	if err := CSV(&buf, doc); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&buf).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1+len(doc.Records) {
		t.Fatalf("%d rows for %d records", len(rows), len(doc.Records))
	}
	for i, r := range doc.Records {
		cell := func(name string) string { return rows[i+1][slices.Index(rows[0], name)] }
		for name, want := range map[string]compare.Number{"median_s": r.Median, "gflops": r.Gflops, "residual": r.Residual,
			"bound": r.Bound} {
			got := compare.None()
			if s := cell(name); s != "" {
				x, err := strconv.ParseFloat(s, 64)
				if err != nil {
					t.Fatal(err)
				}
				got = compare.Number(x)
			}
			if got != want && (got.Known() || want.Known()) {
				t.Errorf("row %d: %s is %v, want %v", i, name, got, want)
			}
		}
		if cell("variant") != r.Variant || cell("status") != string(r.Status) || cell("reason") != r.Reason.Text ||
			cell("params") != r.Params.String() {
			t.Errorf("row %d is %v", i, rows[i+1])
		}
	}
}

func TestBenchGolden(t *testing.T) {
	var buf bytes.Buffer
	if err := Bench(&buf, small()); err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "results.bench.golden", buf.Bytes())
}

// TestBench reads the text as benchstat does: a result a sample, with the row's
// keys in its name and its time.
func TestBench(t *testing.T) {
	doc := realistic()
	var buf bytes.Buffer
	if err := Bench(&buf, doc); err != nil {
		t.Fatal(err)
	}
	var want []float64
	for _, r := range doc.Records {
		if r.Speed() {
			want = append(want, r.Samples...)
		}
	}
	reader := benchfmt.NewReader(&buf, "results.bench.txt")
	i := 0
	names := map[string]bool{}
	for reader.Scan() {
		switch r := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Fatal(r)
		case *benchfmt.Result:
			base, parts := r.Name.Parts()
			if string(base) != "Multiply" || len(parts) < 6 {
				t.Fatalf("name %s", r.Name)
			}
			names[string(r.Name)] = true
			if got, ok := r.Value("sec/op"); !ok || math.Abs(got/want[i]-1) > 1e-6 {
				t.Fatalf("%s: sample %d is %v, want %v", r.Name, i, got, want[i])
			}
			if r.GetConfig("host") != doc.Hosts[0].ID || r.GetConfig("goamd64") != "v1" {
				t.Fatalf("configuration %v", r.Config)
			}
			i++
		}
	}
	if reader.Err() != nil || i != len(want) {
		t.Fatalf("%d results of %d samples, %v", i, len(want), reader.Err())
	}
	units := reader.Units()
	if units.GetBetter("GFLOP/s") != 1 || units.GetBetter("sec/op") != -1 {
		t.Error("benchstat does not know which way is better")
	}
	speeds := 0
	for _, r := range doc.Records {
		if r.Speed() {
			speeds++
		}
	}
	if len(names) != speeds {
		t.Errorf("%d names for %d rows", len(names), speeds)
	}
	if !names["Multiply/family=serial/algorithm=ikj/type=f64/op=nn/experiment=compiler/build=v1_-B/size=512-1"] {
		t.Error("no name of a child build")
	}
}

func TestJSON(t *testing.T) {
	var first, second bytes.Buffer
	if err := JSON(&first, realistic()); err != nil {
		t.Fatal(err)
	}
	doc, err := compare.Parse(first.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if err := JSON(&second, doc); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) || len(doc.Records) != len(realistic().Records) {
		t.Error("what is read back is not what was written")
	}
}

// drawable returns small with rows for two figures.
func drawable() compare.Document {
	doc := small()
	doc.Records = append(doc.Records, reporttest.Row("serial/naive", 64, 1e-3), reporttest.Row("serial/naive", 128, 9e-3),
		reporttest.Row("serial/packed", 128, 1e-3))
	return doc
}

// tree returns the files below dir with their contents.
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
	if _, err := Write(t.Context(), b, drawable(), WriteOptions{Lang: "en", Command: "gemm"}); err != nil {
		t.Fatal(err)
	}
	first, second := tree(t, a), tree(t, b)
	var named []string
	for _, path := range paths {
		name, err := filepath.Rel(a, path)
		if err != nil {
			t.Fatal(err)
		}
		named = append(named, name)
	}
	want := []string{"report.html", "report.md", "report.tex", "report-appendix.html", "report-appendix.md",
		"report-appendix.tex",
		"results.bench.txt", "results.csv", "results.json"}
	for _, d := range figures.Drawings(drawable(), "en") {
		for _, ext := range []string{".svg", ".png", ".pdf"} {
			want = append(want, filepath.Join("figures", d.ID+ext))
		}
	}
	slices.Sort(named)
	slices.Sort(want)
	if !slices.Equal(named, want) || len(first) != len(want) {
		t.Errorf("wrote %v, %d files; want %v", named, len(first), want)
	}
	for name, data := range first {
		if second[name] != data {
			t.Errorf("%s is not the same twice", name)
		}
	}
	if info, err := os.Stat(filepath.Join(a, "report.html")); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("report.html: %v, %v", info.Mode(), err)
	}
}

func TestWriteFormats(t *testing.T) {
	for _, test := range []struct {
		format string
		file   string
		ext    string // of figures
	}{
		{"html", "report.html", ".svg"}, {"md", "report.md", ".svg"}, {"tex", "report.tex", ".pdf"},
		{"csv", "results.csv", ""}, {"json", "results.json", ""}, {"bench", "results.bench.txt", ""},
	} {
		dir := t.TempDir()
		if _, err := Write(t.Context(), dir, drawable(), WriteOptions{Formats: []string{test.format}, Lang: "zh"}); err != nil {
			t.Fatal(err)
		}
		files := tree(t, dir)
		if files[test.file] == "" {
			t.Errorf("%s: no %s", test.format, test.file)
		}
		if test.ext != "" && files[filepath.Join("figures", "gflops-serial-f64"+test.ext)] == "" {
			t.Errorf("%s: no figures", test.format)
		}
		if test.ext == "" && len(files) != 1 {
			t.Errorf("%s: wrote %d files", test.format, len(files))
		}
	}
	if got := strings.Join(Formats(), " "); got != "html md tex pdf csv json bench" {
		t.Errorf("formats are %s", got)
	}
}

// TestWriteErrors checks that an error is one line that names the value, and that nothing is half
// written.
func TestWriteErrors(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "report.md"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, dir, format, want string
	}{
		{"unknown format", dir, "docx", `no format "docx"`},
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

// TestNoTeX checks that the error names the package to install, before anything is written.
func TestNoTeX(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	dir := t.TempDir()
	_, err := Write(t.Context(), dir, small(), WriteOptions{Formats: []string{"html", "pdf"}})
	if err == nil || !strings.Contains(err.Error(), "texlive-xetex") {
		t.Errorf("got %v", err)
	}
	if files := tree(t, dir); len(files) != 0 {
		t.Errorf("wrote %d files", len(files))
	}
}

// TestTeXFails checks that the error has TeX's message on one line, and that the old PDF is intact.
func TestTeXFails(t *testing.T) {
	bin, dir := t.TempDir(), t.TempDir()
	script := "#!/bin/sh\necho 'This is a TeX'\necho '! Undefined control sequence.'\nexit 1\n"
	if err := os.WriteFile(filepath.Join(bin, "xelatex"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "report.pdf"), []byte("former"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	_, err := Write(t.Context(), dir, small(), WriteOptions{Formats: []string{"pdf"}})
	if err == nil || !strings.Contains(err.Error(), "Undefined control sequence") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
	if got := tree(t, dir)["report.pdf"]; got != "former" {
		t.Errorf("report.pdf is now %q", got)
	}
	script = "#!/bin/sh\necho '(./report.aux)'\nkill -9 $$\n"
	if err := os.WriteFile(filepath.Join(bin, "xelatex"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = Write(t.Context(), dir, small(), WriteOptions{Formats: []string{"pdf"}})
	if err == nil || !strings.Contains(err.Error(), `xelatex: after "(./report.aux)": signal: killed`) {
		t.Errorf("killed: %v", err)
	}
}

// TestPDF checks that the report is the same PDF twice, and that no files of TeX are left in the folder.
func TestPDF(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs xelatex for seconds")
	}
	if _, err := exec.LookPath("xelatex"); err != nil {
		t.Skip("no xelatex; install texlive-xetex")
	}
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
	if err := typeset(t.Context(), &again, Build(small(), Options{}), figures.Drawings(small(), "en"), latest(small())); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(first, "%PDF-") || first != again.String() {
		t.Errorf("no PDF, or not the same twice (%d and %d bytes)", len(first), again.Len())
	}
}

// BenchmarkWrite renders a report in all formats that need no other program.
func BenchmarkWrite(b *testing.B) {
	doc := realistic()
	for i := 0; b.Loop(); i++ {
		if _, err := Write(b.Context(), b.TempDir(), doc, WriteOptions{}); err != nil {
			b.Fatal(errors.Join(err, fmt.Errorf("after %d", i)))
		}
	}
}

// TestAuthor: the author of a report is the name on its cover.
func TestAuthor(t *testing.T) {
	for _, lang := range []string{"en", "zh"} {
		cover := Cover(lang, []string{"course=Parallel", "name=Li Si"})
		if got := Build(small(), Options{Lang: lang, Suite: Suite{Cover: cover}}).Author; got != "Li Si" {
			t.Errorf("%s: the author is %q", lang, got)
		}
		if got := Build(small(), Options{Lang: lang}).Author; got != "" {
			t.Errorf("%s: without a cover the author is %q", lang, got)
		}
	}
}
