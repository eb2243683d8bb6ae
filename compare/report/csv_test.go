package report

import (
	"bytes"
	"encoding/csv"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gemm/compare/record"
	"gemm/compare/report/number"
	"gemm/gemmtest/reporttest"
	"gemm/internal/note"
)

// table returns a document as rows of a CSV table, and the cell of a column in one of them.
func table(t *testing.T, doc record.Document) ([][]string, func(row int, column string) string) {
	t.Helper()
	var out bytes.Buffer
	if err := CSV(&out, doc); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows[1:], func(row int, column string) string { return rows[1+row][slices.Index(rows[0], column)] }
}

// TestCSVHasNoFormulas has texts that a spreadsheet would compute, and numbers that it should read.
func TestCSVHasNoFormulas(t *testing.T) {
	for text, want := range map[string]string{
		"=1+2": "'=1+2", "+1+2": "'+1+2", "-1+2": "'-1+2", "@SUM(1)": "'@SUM(1)",
		"\t=1": "'=1", "\r=1": "'=1", "=HYPERLINK(\"x\",\"y\")": "'=HYPERLINK(\"x\",\"y\")",
		"too slow": "too slow", "a=1": "a=1", "": "", "-1": "-1",
	} {
		r := record.Record{Reason: note.Note{Text: text}, Warnings: []note.Note{note.Read("=1"), note.Read("b")}}
		r.Host, r.Alpha = text, -2.5e-7
		_, cell := table(t, record.Document{Records: []record.Record{r}})
		got := []string{cell(0, "reason"), cell(0, "host"), cell(0, "warnings"), cell(0, "alpha")}
		if !slices.Equal(got, []string{want, want, "'=1; b", "-2.5e-07"}) {
			t.Errorf("%q: the cells are %q", text, got)
		}
	}
}

// TestSharesOfThePeak compares the shares of rows of every kind in records, in the CSV table and in the appendix,
// and looks for the warning of those above 100 %.
func TestSharesOfThePeak(t *testing.T) {
	doc, wants := reporttest.Shares()
	encoded, err := doc.Encode()
	if err != nil {
		t.Fatal(err)
	}
	read, err := record.Parse(encoded)
	if err != nil {
		t.Fatal(err)
	}
	_, appendix, _, err := Build(doc, Options{})
	if err != nil {
		t.Fatal(err)
	}
	listed := regexp.MustCompile(`(?m)^.*\| ladder \|.*$`).FindAllString(appendix.Source(), -1)
	_, cell := table(t, doc)
	for i, want := range wants {
		inTable, _ := strconv.ParseFloat(cell(i, "percent_peak"), 64)
		for _, got := range []float64{inTable, float64(read.Records[i].PercentPeak)} {
			if !(math.Abs(got-want) <= 1e-9*want) {
				t.Errorf("%s: %v %% of the peak, want %v", doc.Records[i].Variant, got, want)
			}
		}
		mark := map[bool]string{true: "†"}[want > 100]
		if marked := strings.Contains(cell(i, "warnings"), "above the measured peak"); marked != (want > 100) ||
			!strings.Contains(listed[i], "| "+number.Significant(want)+mark+" |") {
			t.Errorf("want %v %%, the warnings are %q, and the row is %s", want, cell(i, "warnings"), listed[i])
		}
	}
}
