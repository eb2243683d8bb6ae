package figures

import (
	"testing"

	"gemm/compare"
	"gemm/compare/report/chart"
)

// TestRelative checks that the interval is as wide as both intervals allow.
func TestRelative(t *testing.T) {
	r := compare.Record{Median: 2, CI: &[2]float64{1, 4}}
	base := compare.Record{Median: 6, CI: &[2]float64{3, 12}}
	if got, want := relative(r, base, 5), (chart.Point{X: 5, Y: 3, Lo: 0.75, Hi: 12}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	r.CI, base.CI = nil, nil
	if got, want := relative(r, base, 5), (chart.Point{X: 5, Y: 3, Lo: 3, Hi: 3}); got != want {
		t.Errorf("without intervals: got %v, want %v", got, want)
	}
}
