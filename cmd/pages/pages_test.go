package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gemm"
	"gemm/compare/record"
	"gemm/compare/report/chapters"
	"gemm/compare/report/page"
	"gemm/gemmtest"
	"gemm/gemmtest/reporttest"
)

const root = "../.."

// TestPagesAreCurrent renders all pages into a copy, and compares it with the repository.
func TestPagesAreCurrent(t *testing.T) {
	if testing.Short() {
		t.Skip("it renders all pages")
	}
	dir := t.TempDir()
	for _, folder := range []string{"docs", "results"} {
		gemmtest.Must(t, os.CopyFS(filepath.Join(dir, folder), os.DirFS(filepath.Join(root, folder))))
	}
	for _, name := range []string{"README.md", "README.zh.md"} {
		data, err := os.ReadFile(filepath.Join(root, name))
		gemmtest.Must(t, err)
		gemmtest.Must(t, write(filepath.Join(dir, name), data))
	}
	gemmtest.Must(t, renderAll(dir))
	rendered, here := contents(t, dir), contents(t, root)
	for name, data := range here {
		if made, ok := rendered[name]; !ok || made != data {
			t.Errorf("%s is behind the records or the program: run make docs, and read the difference", name)
		}
	}
	for name := range rendered {
		if _, ok := here[name]; !ok {
			t.Errorf("%s is missing: run make docs", name)
		}
	}
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, top := range []string{"docs", "results", "README.md", "README.zh.md"} {
		err := filepath.WalkDir(filepath.Join(dir, top), func(name string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			data, err := os.ReadFile(name)
			files[strings.TrimPrefix(name, dir)] = string(data)
			return err
		})
		gemmtest.Must(t, err)
	}
	return files
}

// TestRecordsWantAPage checks that a record that no page shows is an error that names it.
func TestRecordsWantAPage(t *testing.T) {
	dir := t.TempDir()
	data, err := os.ReadFile(filepath.Join(root, "results", "mpi-xeon-16.json.gz"))
	gemmtest.Must(t, err)
	in := results{dir, map[string]*committed{}}
	for _, name := range []string{"mpi-xeon-16.json.gz", "stray.json.gz"} {
		gemmtest.Must(t, write(filepath.Join(dir, "results", name), data))
	}
	if _, err := in.records(); err == nil || !strings.Contains(err.Error(), "stray.json.gz") {
		t.Errorf("records with one that has no page: %v", err)
	}
}

// algorithm matches the title of an algorithm in Markdown.
var algorithm = regexp.MustCompile(`(?m)^\*\*(?:Algorithm|算法) \d+\.?\*\* .([\w/-]+)`)

// TestFull counts the words of docs/full, and looks for the chapters of gemm report in it, and for a timed row of each
// algorithm.
func TestFull(t *testing.T) {
	const most = 15000
	chapterFiles, err := filepath.Glob(filepath.Join(root, "compare", "report", "chapters", "en", "*.md"))
	if err != nil || len(chapterFiles) < 10 {
		t.Fatalf("%d chapters, %v", len(chapterFiles), err)
	}
	in := results{root, map[string]*committed{}}
	for _, d := range documents() {
		if path.Dir(d.file) != "docs/full" {
			continue
		}
		made, err := os.ReadFile(filepath.Join(root, d.file))
		gemmtest.Must(t, err)
		doc, err := in.merged(d.records())
		gemmtest.Must(t, err)
		if words := len(strings.Fields(string(made))); words > most {
			t.Errorf("%s has %d words, more than %d", d.file, words, most)
		}
		for _, file := range chapterFiles {
			name := chapters.Name(file)
			if name != "parts" && name != "appendix" && !strings.Contains(text(d.template), ` "`+name+`" `) {
				t.Errorf("%s has no chapter %s", d.template, name)
			}
		}
		printed := algorithm.FindAllStringSubmatch(string(made), -1)
		for _, m := range printed {
			if !slices.ContainsFunc(doc.Records, func(r record.Record) bool { return r.Variant == m[1] && r.Speed() }) {
				t.Errorf("%s has the algorithm %s, and no timed row of it", d.file, m[1])
			}
		}
		if len(printed) < 10 {
			t.Errorf("%s has %d algorithms", d.file, len(printed))
		}
	}
}

// TestHeadlines computes a row from two timed rows, and finds fault with a record without it.
func TestHeadlines(t *testing.T) {
	row := func(variant, turn string, n int, median float64) record.Record {
		r := timed("r", n, 0, median)
		r.Variant, r.Turn, r.Gflops, r.PercentPeak = variant, turn, 50, 90
		return r
	}
	doc := record.Document{
		Hosts: []record.Host{{ID: "h", CPU: "Some(R) Processor", ISA: "avx2"}},
		Runs:  []record.RunInfo{{ID: "r", Host: "h"}},
		Records: []record.Record{
			row("serial/packed", "a", 64, 1), row("reference/mkl", "a", 64, 2),
			row("serial/packed", "b", 128, 1), row("reference/mkl", "b", 128, 0.5),
			row("serial/packed", "d", 256, 1), row("reference/mkl", "e", 256, 100), // not in the same turn
			row("serial/packed", "c", 2048, 1), row("reference/mkl", "c", 2048, 1),
		},
	}
	h := headline{Text: map[string]string{"zh": "乘积"}, Record: "x.json", Shape: "2048", Over: [2]int{64, 4096},
		contender: contender{Variant: "serial/packed", Type: "f64", Threads: 1},
		Others:    []contender{{Name: "MKL", Zh: "库", Variant: "reference/mkl"}}}
	got, err := h.cells(doc, "zh")
	want := cells{Text: "乘积", Speed: "50.0 GFLOP/s", Share: "90 %", Hardware: "Some, avx2", Day: "0001-01-01",
		Record: "x.json", Ratios: []page.Text{"库 1.00 (0.50–2.00)"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	h.Others[0].Variant = "reference/blis"
	if _, err := h.cells(doc, "en"); err == nil {
		t.Error("a record without the peer is no error")
	}
	h.Type = "f32"
	if _, err := h.cells(doc, "en"); err == nil {
		t.Error("a record without the row is no error")
	}
}

// TestOnGPUs orders products from one GPU to several, and to ranks with one each. Efficiencies are relative to the kernel.
func TestOnGPUs(t *testing.T) {
	on := func(devices int, local string) func(*record.Record) {
		return func(r *record.Record) { r.Resolved = gemm.Params{"devices": devices, "local": local} }
	}
	ranks := reporttest.Kernel("summa", 64, 3, on(0, "cuda/tuned"))
	ranks.Variant, ranks.Ranks = "mpi/summa", make([]record.Rank, 4)
	r := committed{"x", record.Document{Records: []record.Record{ranks, reporttest.Kernel("multi", 64, 2, on(4, "cuda/tuned")),
		reporttest.Kernel("multi", 64, 4, on(2, "cuda/tuned")), reporttest.Kernel("multi", 64, 9, on(2, "cuda/naive")),
		reporttest.Kernel("multi", 64, 1, on(2, "cuda/tf32-mma")), reporttest.Kernel("tf32-mma", 64, 2),
		reporttest.Kernel("tuned", 64, 6), reporttest.Kernel("cublas", 64, 5)}}}
	var got []string
	for _, x := range r.OnGPUs() {
		got = append(got, fmt.Sprintf("%s %s %d %.2f", x.Kernel, x.By(), x.On(), x.Efficiency()))
	}
	if want := []string{"cuda/tuned cuda/tuned 1 1.00", "cuda/tuned cuda/cublas 1 1.20", "cuda/tuned cuda/multi 2 0.75",
		"cuda/tuned cuda/multi 4 0.75", "cuda/tuned mpi/summa 4 0.50", "cuda/tf32-mma cuda/tf32-mma 1 1.00",
		"cuda/tf32-mma cuda/multi 2 1.00"}; !slices.Equal(got, want) {
		t.Errorf("the ladder is %q, want %q", got, want)
	}
}

// TestRatios compares products with a library in each run that has both, and takes the mean of the medians.
func TestRatios(t *testing.T) {
	row := func(variant string, n, batch int, median, again float64) record.Record {
		r := timed("a", n, 0, median)
		r.Variant, r.Batch = variant, batch
		if again > 0 {
			r.Again = []record.Again{{Run: "b", Median: record.Number(again)}}
		}
		return r
	}
	r := committed{"x", record.Document{Runs: []record.RunInfo{{ID: "a"}, {ID: "b"}}, Records: []record.Record{
		row("serial/packed", 8, 0, 1, 2), row("reference/mkl", 8, 0, 4, 4), row("reference/blis", 8, 0, 3, 0),
		row("serial/packed", 16, 100, 2, 0), row("reference/mkl", 16, 100, 1, 0)}}}
	table, err := r.Ratios(1, "8 100*16")
	want := [][]page.Text{{"3.00 (2.00–4.00)", "3.00"}, {"**0.50**", ""}, {"1.22", ""}}
	for i, row := range table.Rows {
		for j, library := range table.Libraries {
			if got := ratio(row.Over(library)); got != want[i][j] {
				t.Errorf("%s, %s: %q, want %q", row.Text, library, got, want[i][j])
			}
		}
	}
	if err != nil || !slices.Equal(table.Libraries, []string{"MKL f64", "BLIS f64"}) || len(table.Rows) != 3 ||
		table.Rows[1].Text != "100 × 16³" {
		t.Errorf("%+v, %v", table, err)
	}
	if _, err := r.Ratios(1, "x*8"); err == nil {
		t.Error("a batch that is no number is no error")
	}
}

// TestSGEMM puts times next to the times of the collection of SGEMM kernels, and finds a row that is missing.
func TestSGEMM(t *testing.T) {
	r := committed{Name: "x"}
	header, shapes, _ := strings.Cut(text("sgemm.csv"), "\n")
	for line := range strings.Lines(shapes) {
		shape, _, _ := strings.Cut(line, ",")
		s, err := gemm.ParseShape(shape)
		gemmtest.Must(t, err)
		for i, label := range append(strings.Split(header, ",")[1:], "f32(tuned)") {
			r.Measurements = append(r.Measurements, record.Measurement{Name: "sgemm",
				Samples: []float64{float64(i+1) / 1000},
				Params:  gemm.Params{"label": label, "by": "kernel", "m": s.M, "n": s.N, "k": s.K}})
		}
	}
	all, err := r.SGEMM()
	gemmtest.Must(t, err)
	for i, want := range map[int]string{ // of 2048x2048x512
		0: "f32 kernel 1.000 1.297 6.00 0.13",
		6: "tf32(wmma+stage2) kernel 7.000 0.110 1.14 1.75",
		9: "f32(tuned) kernel 10.000 0.000 0.60 +Inf",
	} {
		x := all[0].Rows[i]
		got := fmt.Sprintf("%s %s %.3f %.3f %.2f %.2f", x.Label, x.By, x.Ours, x.Theirs, x.Ratio, x.TheirRatio)
		if len(all) != 8 || len(all[0].Rows) != 10 || got != want {
			t.Errorf("row %d of %d: %s, want %s", i, len(all), got, want)
		}
	}
	r.Measurements[3].Samples = nil
	if _, err := r.SGEMM(); err == nil {
		t.Error("a row without a time is no error")
	}
}
