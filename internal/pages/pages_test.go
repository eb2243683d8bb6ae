package pages

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gemm"
	"gemm/compare"
	"gemm/compare/report/document"
	"gemm/compare/report/text"
)

// root is the folder of the repository.
const root = "../.."

// TestPagesAreCurrent renders all pages into a copy, and compares it with the repository.
func TestPagesAreCurrent(t *testing.T) {
	if testing.Short() {
		t.Skip("it renders all pages")
	}
	dir := t.TempDir()
	for _, folder := range []string{"docs", "results"} {
		if err := os.CopyFS(filepath.Join(dir, folder), os.DirFS(filepath.Join(root, folder))); err != nil {
			t.Fatal(err)
		}
	}
	for _, lang := range text.Languages {
		data, err := os.ReadFile(filepath.Join(root, readme(lang)))
		if err != nil {
			t.Fatal(err)
		}
		if err := write(filepath.Join(dir, readme(lang)), data); err != nil {
			t.Fatal(err)
		}
	}
	if err := Render(dir); err != nil {
		t.Fatal(err)
	}
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

// contents returns the files that pages are, by name.
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
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// TestIndexWantsAPage checks that a record that no page shows is an error that names it.
func TestIndexWantsAPage(t *testing.T) {
	dir := t.TempDir()
	data, err := os.ReadFile(filepath.Join(root, "results", "mpi-xeon-16.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"mpi-xeon-16.json.gz", "stray.json.gz"} {
		if err := write(filepath.Join(dir, "results", name), data); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := index(dir); err == nil || !strings.Contains(err.Error(), "stray.json.gz") {
		t.Errorf("index of a folder with a record without a page: %v", err)
	}
}

// TestCounterparts checks that the tables of counterparts name all that the report of 2024 has, and
// that both languages point to the same places.
func TestCounterparts(t *testing.T) {
	words := map[string][]string{
		"en": {"equations?", "algorithm", "figures?", "table", "listing"},
		"zh": {"公式", "算法", "图", "表", "代码"},
	}
	last := []int{22, 5, 41, 1, 1}
	for lang, kinds := range words {
		for i, kind := range kinds {
			named := map[int]bool{}
			row := regexp.MustCompile(`(?m)^(?:{{\w+ "|\| )` + kind + ` ([0-9][^"|]*?)(?:"| \|)`)
			for _, match := range row.FindAllStringSubmatch(texts.counterparts[lang], -1) {
				for _, part := range regexp.MustCompile(`[,、] ?`).Split(match[1], -1) {
					lo, hi, span := strings.Cut(part, "–")
					from, err := strconv.Atoi(lo)
					to := from
					if span && err == nil {
						to, err = strconv.Atoi(hi)
					}
					if err != nil {
						t.Errorf("%s: %q: %v", lang, match[0], err)
					}
					for n := from; n <= to; n++ {
						named[n] = true
					}
				}
			}
			for n := 1; n <= last[i]; n++ {
				if !named[n] {
					t.Errorf("%s: no row on %s %d", lang, kind, n)
				}
			}
		}
	}
	places := func(lang string) [][]string {
		var rows [][]string
		for _, row := range regexp.MustCompile(`(?m)^{{.*`).FindAllString(texts.counterparts[lang], -1) {
			quoted := regexp.MustCompile(`"[^"]*"`).FindAllString(row, -1)
			rows = append(rows, quoted[2:]) // behind the name and what it shows
		}
		return rows
	}
	if en, zh := places("en"), places("zh"); len(en) == 0 || !reflect.DeepEqual(en, zh) {
		t.Errorf("the languages differ: %q, %q", en, zh)
	}
}

// TestHeadlines computes a row from two timed rows, and finds fault with a record without it.
func TestHeadlines(t *testing.T) {
	row := func(variant, turn string, n int, median float64) compare.Record {
		return compare.Record{
			Key: compare.Key{
				Host: "h", Experiment: compare.MainLadder, Variant: variant,
				Problem: compare.Problem{Type: "f64", Op: "nn", Shape: gemm.Cube(n)},
			},
			Run: "r", Threads: 1, Status: compare.OK, Turn: turn, Median: compare.Number(median), Gflops: 50,
			Rate: 50, PercentPeak: 90,
		}
	}
	doc := compare.Document{
		Schema: compare.Schema, Hosts: []compare.Host{{ID: "h", CPU: "Some(R) Processor", ISA: "avx2", Ceilings: []compare.Ceiling{
			{Unit: "cpu", Pipe: "f64", Threads: 1, Gflops: 50 / 0.9, Run: "r"}}}},
		Runs: []compare.RunInfo{{ID: "r", Host: "h"}},
		Records: []compare.Record{
			row("serial/packed", "a", 64, 1), row("reference/mkl", "a", 64, 2),
			row("serial/packed", "b", 128, 1), row("reference/mkl", "b", 128, 0.5),
			row("serial/packed", "d", 256, 1), row("reference/mkl", "e", 256, 100), // not in the same turn
			row("serial/packed", "c", 2048, 1), row("reference/mkl", "c", 2048, 1),
		},
	}
	dir := t.TempDir()
	data, err := doc.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := write(filepath.Join(dir, "results", "x.json"), data); err != nil {
		t.Fatal(err)
	}
	got, err := onCore("x.json", "f64", "MKL").cells(dir)
	want := cells{
		Speed: "50.0 GFLOP/s", Share: "90 %", Ratios: "MKL 1.00 (0.50–2.00)",
		Hardware: "Some, avx2", Date: "0001-01-01", Record: "x.json",
	}
	if err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	if _, err := onCore("x.json", "f32", "MKL").cells(dir); err == nil {
		t.Error("a record without the row is no error")
	}
	if _, err := onCore("x.json", "f64", "BLIS").cells(dir); err == nil {
		t.Error("a record without the peer is no error")
	}
}

// TestDigest keeps the text and short tables of a section, and figures that are named.
func TestDigest(t *testing.T) {
	long := document.Table{ID: "long", Rows: make([]document.Row, longestTable+1)}
	r := document.Report{Sections: []document.Section{
		{ID: "kept-0123abcd", Level: 2, Blocks: []document.Block{
			document.Paragraph{Text: "see [this](#gone) and [that](#kept-0123abcd)"},
			document.Figure{ID: "curve-0123abcd", Command: "gemm serial"}, document.Figure{ID: "other"}, long,
			document.Table{ID: "short", Rows: make([]document.Row, 1), Command: "gemm serial"},
		}},
		{ID: "gone", Level: 1, Blocks: []document.Block{document.Paragraph{Text: "text"}}},
		{ID: "part", Level: 2, Blocks: []document.Block{document.Paragraph{Text: "text"}, document.Figure{ID: "curve"}}},
	}}
	got := digest{sections: []string{"kept"}, figures: []string{"curve"}}.of(r)
	want := []document.Section{
		{ID: "kept-0123abcd", Level: 1, Blocks: []document.Block{
			document.Paragraph{Text: "see this and [that](#kept-0123abcd)"},
			document.Figure{ID: "curve-0123abcd"}, document.Table{ID: "short", Rows: make([]document.Row, 1)},
		}},
		{ID: "part", Level: 1, Blocks: []document.Block{document.Figure{ID: "curve"}}},
	}
	if !reflect.DeepEqual(got.Sections, want) {
		t.Errorf("got  %+v\nwant %+v", got.Sections, want)
	}
}

// TestClasses names each style once.
func TestClasses(t *testing.T) {
	text, style := classes(`<a style="x:1"/><b style="y:2"/><c style="x:1"/>`)
	if want := `<a class="s0"/><b class="s1"/><c class="s0"/>`; text != want {
		t.Errorf("got %s, want %s", text, want)
	}
	if want := "<style>.s0{x:1}.s1{y:2}</style>\n"; style != want {
		t.Errorf("got %s, want %s", style, want)
	}
}
