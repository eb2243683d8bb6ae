package analysis

import (
	"slices"
	"testing"

	"gemm/compare"
	"gemm/compare/report/reporttest"
)

// TestPeersOf wants the peers in the order of tables, and none that is nowhere available.
func TestPeersOf(t *testing.T) {
	row := func(variant string, status compare.Status) compare.Record {
		return compare.Record{Key: compare.Key{Variant: variant}, Status: status}
	}
	matches := []Match{
		{Peers: []compare.Record{row("user/mine", compare.Failed), row("reference/numpy", compare.Unavailable),
			row("reference/torch", compare.OK), row("reference/mkl", compare.Unavailable)}},
		{Peers: []compare.Record{row("reference/numpy", compare.OK), row("serial/gonum", compare.OK),
			row("reference/mkl", compare.Unavailable)}},
	}
	v := View{Variants: reporttest.Variants()}
	want := []string{"serial/gonum", "reference/numpy", "reference/torch", "user/mine"}
	if got := v.PeersOf(matches); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
