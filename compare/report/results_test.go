package report

import (
	"bytes"
	"path/filepath"
	"testing"

	"gemm/compare"
	"gemm/compare/report/document"
	"gemm/compare/report/text"
)

// TestResults renders every file of results/ in every language, and wants no markup that is shown as text. The pages
// made from them are compared in internal/pages.
func TestResults(t *testing.T) {
	if testing.Short() {
		t.Skip("it renders all results")
	}
	files, err := filepath.Glob("../../results/*.json.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("no results: %v", err)
	}
	for _, file := range files {
		doc, err := compare.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, lang := range text.Languages {
			var page bytes.Buffer
			if err := document.Markdown(&page, Appendix(doc, Options{Lang: lang})); err != nil {
				t.Fatal(err)
			}
			if i := bytes.Index(page.Bytes(), []byte(`\*\*`)); i >= 0 {
				t.Errorf("%s, %s: markup is shown as text: %.80s", filepath.Base(file), lang, page.Bytes()[i:])
			}
			for _, bad := range []string{"NaN", "%!", "<nil>"} {
				if i := bytes.Index(page.Bytes(), []byte(bad)); i >= 0 {
					t.Errorf("%s, %s: the report says %s: %.80s", filepath.Base(file), lang, bad, page.Bytes()[max(0, i-40):])
				}
			}
		}
	}
}
