package report

import (
	"bytes"
	"encoding/csv"
	"slices"
	"testing"

	"gemm/compare"
	"gemm/compare/note"
)

// TestCSVHasNoFormulas has texts that a spreadsheet would compute, and numbers that it should
// read.
func TestCSVHasNoFormulas(t *testing.T) {
	cell := func(column string, r compare.Record) string {
		var out bytes.Buffer
		if err := CSV(&out, compare.Document{Records: []compare.Record{r}}); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(&out).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return rows[1][slices.Index(rows[0], column)]
	}
	for text, want := range map[string]string{
		"=1+2": "'=1+2", "+1+2": "'+1+2", "-1+2": "'-1+2", "@SUM(1)": "'@SUM(1)",
		"\t=1": "'=1", "\r=1": "'=1", "=HYPERLINK(\"x\",\"y\")": "'=HYPERLINK(\"x\",\"y\")",
		"too slow": "too slow", "a=1": "a=1", "": "", "-1": "-1",
	} {
		if got := cell("reason", compare.Record{Reason: note.Note{Text: text}}); got != want {
			t.Errorf("the reason %q is the cell %q, want %q", text, got, want)
		}
		if got := cell("host", compare.Record{Key: compare.Key{Host: text}}); got != want {
			t.Errorf("the host %q is the cell %q, want %q", text, got, want)
		}
	}
	if got := cell("warnings", compare.Record{Warnings: []note.Note{note.Read("=1"), note.Read("b")}}); got != "'=1; b" {
		t.Errorf("the warnings are %q", got)
	}
	if got := cell("alpha", compare.Record{Key: compare.Key{Problem: compare.Problem{Alpha: -2.5e-7}}}); got != "-2.5e-07" {
		t.Errorf("a negative number is %q", got)
	}
}
