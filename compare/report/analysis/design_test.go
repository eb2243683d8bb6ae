package analysis

import (
	"testing"

	"gemm/cuda"
	"gemm/internal/occupancy"
)

// TestDesignsAgree compares the square tiles with cuda.FeasibleTiles, which does not choose shapes or threads.
func TestDesignsAgree(t *testing.T) {
	tiles, err := cuda.FeasibleTiles(occupancy.Capability{Major: 8, Minor: 6})
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, f := range tiles {
		d := NewDesign(Tile{BM: 8 * f.Edge, BN: 8 * f.Edge, BK: f.Slice, TM: 8, TN: 8})
		if d.Threads != f.Threads || 2*d.Slices != f.Shared || d.Sums != f.Sums ||
			d.Feasible() != (len(f.Fails) == 0) {
			t.Errorf("%+v, package cuda says %+v", d, f)
		}
		compared++
	}
	if compared == 0 {
		t.Error("nothing compared")
	}
}
