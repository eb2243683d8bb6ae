package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gemm/compare"
	"gemm/compare/report/chapters"
	"gemm/compare/report/reporttest"
)

// TestAdviceOfTheLargerStep changes the times, and with them which step item S9 calls the larger one.
func TestAdviceOfTheLargerStep(t *testing.T) {
	doc := func(n int, ikj, hinted, packed float64) compare.Document {
		return reporttest.Planted(reporttest.Row("serial/naive", n, 1), reporttest.Row("serial/ikj", n, 1/ikj),
			reporttest.Row("serial/hinted", n, 1/hinted), reporttest.Row("serial/packed", n, 1/hinted/packed))
	}
	packing, order := doc(64, 8.5, 10, 11.9), doc(128, 12, 13, 6)
	both := packing
	both.Records = append(both.Records, order.Records...)
	tests := []struct {
		doc  compare.Document
		want string
	}{
		{packing, "at n = 64 for f64, the step `hinted` → `packed` gains most, 11.9 times the speed; `naive` → `ikj` gains 8.50 times."},
		{order, "at n = 128 for f64, the step `naive` → `ikj` gains most, 12.0 times the speed; `hinted` → `packed` gains 6.00 times."},
		{both, "at n = 128 for f64, the step `naive` → `ikj` gains most, "},
		{lacking(order, "serial/hinted"), ""},
	}
	for _, test := range tests {
		got := allText(Appendix(test.doc, Options{}))
		if says := strings.Contains(got, "gains most, "); says != (test.want != "") || !strings.Contains(got, test.want) {
			t.Errorf("does not say %q", test.want)
		}
	}
}

func TestAdviceLinksToFilesThatExist(t *testing.T) {
	for _, a := range chapters.Items {
		for _, file := range a.Files {
			if _, err := os.Stat(filepath.Join("..", "..", file)); err != nil {
				t.Errorf("%s: %v", a.ID, err)
			}
		}
	}
}
