package document

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"gemm/compare/report/reporttest"
)

// TestHTMLFolds checks that long tables are folded, that tables of medium length can be folded, and
// that short ones cannot.
func TestHTMLFolds(t *testing.T) {
	for rows, want := range map[int]string{40: "", 41: "<details open>\n<summary>表: 41 行</summary>",
		150: "<details open>",
		151: "<details>\n<summary>表: 151 行</summary>"} {
		table := Table{ID: "t", Caption: "表。说明。", Columns: []Column{{Title: "x"}}}
		for range rows {
			table.Rows = append(table.Rows, Row{Cells: []Text{"1"}})
		}
		var page bytes.Buffer
		r := Report{Lang: "zh", Sections: []Section{{ID: "s", Title: "s", Level: 1, Blocks: []Block{table}}}}
		r.Words.Rows = func(n int) string { return fmt.Sprintf("%d 行", n) }
		if err := HTML(&page, r, nil); err != nil {
			t.Fatal(err)
		}
		_, body, _ := strings.Cut(page.String(), "<main>")
		if !strings.Contains(body, want) || strings.Contains(body, "<details") != (want != "") ||
			strings.Count(body, "<tr") != rows+1 {
			t.Errorf("%d rows: no %q in\n%.300s", rows, want, body)
		}
		if err := reporttest.CheckHTML(page.String(), "zh"); err != nil {
			t.Errorf("%d rows: %v", rows, err)
		}
	}
}
