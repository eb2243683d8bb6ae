package cuda

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"gemm/gemmtest"
	"gemm/internal/occupancy"
)

// TestFeasible checks that exactly the blocks of the report are feasible: 16×16 and 8×8 threads with
// slices of 8 and 16, and the small block also with slices of 32.
func TestFeasible(t *testing.T) {
	for _, c := range occupancy.Capabilities() {
		tiles, err := FeasibleTiles(c)
		gemmtest.Must(t, err)
		var edges []string
		for _, f := range tiles {
			if len(f.Fails) == 0 {
				edges = append(edges, fmt.Sprintf("%d by %d", f.Edge, f.Slice))
			}
		}
		if want := []string{"8 by 8", "8 by 16", "8 by 32", "16 by 8", "16 by 16"}; !slices.Equal(edges, want) {
			t.Errorf("%v: feasible are %q, want %q", c, edges, want)
		}
	}
	if _, err := FeasibleTiles(occupancy.Capability{Major: 99}); !errors.Is(err, occupancy.ErrCapability) {
		t.Errorf("the error is %v", err)
	}
}

// TestFeasibleFigures has the report's figures of its blocks, and why 32×32 threads are too
// many, 4×4 too few and 12×12 do not share evenly.
func TestFeasibleFigures(t *testing.T) {
	for _, test := range []struct {
		c                     occupancy.Capability
		edge, slice           int
		threads, shared, sums int
		copies                float64
		fails                 []string
		blocks                int
		share                 float64
	}{
		{occupancy.Capability{Major: 8, Minor: 6}, 16, 16, 256, 32768, 16384, 8, nil, 2, 1. / 3},
		{occupancy.Capability{Major: 7, Minor: 5}, 16, 16, 256, 32768, 16384, 8, nil, 2, 0.5},
		{occupancy.Capability{Major: 8, Minor: 6}, 8, 8, 64, 8192, 4096, 8, nil, 8, 1. / 3},
		{occupancy.Capability{Major: 8, Minor: 9}, 4, 8, 16, 4096, 1024, 16, []string{"22"}, 16, 1. / 3},
		{occupancy.Capability{Major: 8, Minor: 9}, 12, 8, 144, 12288, 9216, 64. / 12, []string{"even"}, 3, 0.3125},
		{occupancy.Capability{Major: 8, Minor: 9}, 32, 8, 1024, 32768, 65536, 2,
			[]string{"18", "registers"}, 0, 0},
		{occupancy.Capability{Major: 8, Minor: 9}, 16, 32, 256, 65536, 16384, 16, []string{"17"}, 2, 1. / 3},
	} {
		tiles, err := FeasibleTiles(test.c)
		gemmtest.Must(t, err)
		i := slices.IndexFunc(tiles, func(f Feasible) bool { return f.Edge == test.edge && f.Slice == test.slice })
		f := tiles[i]
		if f.Threads != test.threads || f.Shared != test.shared || f.Sums != test.sums || f.Copies != test.copies ||
			!slices.Equal(f.Fails, test.fails) || f.Blocks != test.blocks || f.Occupancy != test.share {
			t.Errorf("%v: %+v", test.c, f)
		}
	}
}
