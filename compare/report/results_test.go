package report

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gemm/compare"
	"gemm/compare/report/document"
	"gemm/compare/report/reporttest"
)

// TestResultsGolden renders every file of results/ in Markdown and CSV, and compares checksums with
// those in testdata: a change of structure must not change a rendering. A rendering that differs is
// written to a folder. Run the test at another revision too, and compare the two folders. -update
// writes the checksums.
func TestResultsGolden(t *testing.T) {
	if testing.Short() {
		t.Skip("it renders all results")
	}
	files, err := filepath.Glob("../../results/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no results: %v", err)
	}
	var sums strings.Builder
	renderings := map[string][]byte{}
	for _, file := range files {
		doc, err := compare.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		for _, lang := range []string{"en", "zh"} {
			var text bytes.Buffer
			if err := document.Markdown(&text, Appendix(doc, Options{Lang: lang})); err != nil {
				t.Fatal(err)
			}
			renderings[name+"."+lang+".md"] = text.Bytes()
			if i := bytes.Index(text.Bytes(), []byte(`\*\*`)); i >= 0 {
				t.Errorf("%s.%s: markup is shown as text: %.80s", name, lang, text.Bytes()[i:])
			}
		}
		var cells bytes.Buffer
		if err := CSV(&cells, doc); err != nil {
			t.Fatal(err)
		}
		renderings[name+".csv"] = cells.Bytes()
		for _, kind := range []string{".csv", ".en.md", ".zh.md"} {
			data := renderings[name+kind]
			fmt.Fprintf(&sums, "%x %d %s\n", sha256.Sum256(data), len(data), name+kind)
		}
	}
	const kept = "testdata/results.sums"
	if *reporttest.Update {
		if err := os.WriteFile(kept, []byte(sums.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	var folder string
	for line := range strings.Lines(sums.String()) {
		if strings.Contains(string(want), line) {
			continue
		}
		if folder == "" {
			if folder, err = os.MkdirTemp("", "gemm-results-"); err != nil {
				t.Fatal(err)
			}
		}
		name := strings.TrimSpace(line[strings.LastIndex(line, " "):])
		if err := os.WriteFile(filepath.Join(folder, name), renderings[name], 0o644); err != nil {
			t.Fatal(err)
		}
		t.Errorf("%s is rendered otherwise than before: see %s", name, folder)
	}
	if got, lines := strings.Count(sums.String(), "\n"), strings.Count(string(want), "\n"); got != lines {
		t.Errorf("%d renderings, and sums of %d", got, lines)
	}
}
