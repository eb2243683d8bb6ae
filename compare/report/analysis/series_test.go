package analysis

import (
	"slices"
	"testing"

	"gemm/compare/record"
	"gemm/gemmtest/reporttest"
)

// TestMainSize checks that the size that most variants have is returned; if there are several, the largest.
func TestMainSize(t *testing.T) {
	at := func(n int, variants ...string) []record.Record {
		var rows []record.Record
		for _, v := range variants {
			for _, p := range []int{1, 2} {
				rows = append(rows, reporttest.Row("parallel/"+v, n, 1e-3/float64(p), reporttest.ThreadsOf("strong", p)))
			}
		}
		return rows
	}
	v := Views(reporttest.Many(slices.Concat(at(64, "rows", "tiles"), at(128, "rows", "tiles"), at(256, "rows"))...))[0]
	if p := MainSize(v.StrongSeries(OverThreads, "f64")); p.N != 128 {
		t.Errorf("it is %d, want 128", p.N)
	}
}

// TestVariations checks that a row that two experiments have appears once, in the experiment with
// more rows, and that a parameter that does not vary has no pair.
func TestVariations(t *testing.T) {
	rows := slices.Concat(
		reporttest.Swept("strong", "schedule", []any{"static", "dynamic"}, []float64{1, 2}),
		reporttest.Swept("chunk", "schedule", []any{"static", "dynamic", "guided"}, []float64{1, 2, 3}, "chunk", 0),
		reporttest.Swept("chunk", "schedule", []any{"static"}, []float64{1}, "chunk", 4))
	got := Variations(rows, "schedule")
	if len(got) != 1 || len(got[0].Rows) != 3 || got[0].Rows[0].Experiment != record.ChunkSizes {
		t.Errorf("%d variations: %+v", len(got), got)
	}
	if got := Variations(rows, "affinity"); len(got) != 0 {
		t.Errorf("%d variations of a parameter that no row has", len(got))
	}
}
