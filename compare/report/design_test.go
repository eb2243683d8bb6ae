package report

import (
	"slices"
	"strings"
	"testing"

	"gemm/compare"
	"gemm/compare/report/chart"
	"gemm/compare/report/figures"
	"gemm/compare/report/reporttest"
)

// TestDesignFigures checks that records of a GPU without a timed row have three figures of
// occupancy: steps that end at what a block can have.
func TestDesignFigures(t *testing.T) {
	doc := reporttest.Planted(reporttest.Kernel("naive", 64, 1, reporttest.Came(compare.Failed, "x")))
	want := []string{figures.OccupancyThreads, figures.OccupancyRegisters, figures.OccupancyMemory}
	if got := ids(figures.Drawings(doc, "en")); !slices.Equal(got, want) {
		t.Fatalf("drawings %v, want %v", got, want)
	}
	for i, id := range want {
		curve := drawingOf(t, doc, id).(chart.Curve)
		var labels []string
		for _, s := range curve.Series {
			labels = append(labels, s.Label)
			for j, pt := range s.Points[1:] {
				if before := s.Points[j]; pt.X < before.X || pt.X > before.X && pt.Y != before.Y {
					t.Errorf("%s, %s: %v follows %v, which is no step", id, s.Label, pt, before)
				}
			}
			if last := s.Points[len(s.Points)-1].X; s.Label == "9.0" && last != []float64{1024, 255, 227}[i] {
				t.Errorf("%s ends at %v", id, last)
			}
		}
		if got := strings.Join(labels, ", "); got != "7.5, 8.6, 8.9, 9.0" {
			t.Errorf("%s: lines of %s", id, got)
		}
	}
}
