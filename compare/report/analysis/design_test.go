package analysis

import (
	"slices"
	"testing"

	"gemm/cuda"
	"gemm/internal/occupancy"
)

// TestDesigns checks the settings of the 2024 report: its tiles are feasible, a block of each feasible one can be
// launched, and its reasons forbid the others.
func TestDesigns(t *testing.T) {
	for _, test := range []struct {
		tile                  Tile
		threads, slices, sums int
		fails                 Condition
	}{
		{Tile{BM: 128, BN: 128, BK: 8, TM: 8, TN: 8}, 256, 8192, 16384, ""},
		{Tile{BM: 128, BN: 128, BK: 16, TM: 8, TN: 8}, 256, 16384, 16384, ""},
		{Tile{BM: 64, BN: 64, BK: 8, TM: 8, TN: 8}, 64, 4096, 4096, ""},
		{Tile{BM: 64, BN: 64, BK: 16, TM: 8, TN: 8}, 64, 8192, 4096, ""},
		{Tile{BM: 128, BN: 256, BK: 8, TM: 4, TN: 4}, 2048, 12288, 32768, BlockThreads},
		{Tile{BM: 128, BN: 128, BK: 32, TM: 8, TN: 8}, 256, 32768, 16384, HalfShared},
		{Tile{BM: 256, BN: 256, BK: 8, TM: 8, TN: 8}, 1024, 16384, 65536, HalfRegisters},
		{Tile{BM: 32, BN: 32, BK: 8, TM: 8, TN: 8}, 16, 2048, 1024, RowOfSlice},
	} {
		d := NewDesign(test.tile)
		if d.Threads != test.threads || d.Slices != test.slices || d.Sums != test.sums ||
			d.Fails != test.fails {
			t.Errorf("%+v, want %+v", d, test)
		}
	}
	all := Designs()
	if len(all) != 96 {
		t.Errorf("%d designs, want 96", len(all))
	}
	for _, d := range all {
		launched := func(c occupancy.Capability) bool {
			o, err := occupancy.Of(c, occupancy.Kernel{Threads: d.Threads, Registers: d.Registers, Shared: 2 * d.Slices})
			return err == nil && o.Share > 0
		}
		if d.Feasible() && len(Pick(DesignCapabilities, launched)) < len(DesignCapabilities) {
			t.Errorf("%+v is feasible, and no block of it can be launched", d)
		}
	}
}

// TestDesignsAgree compares the square tiles with cuda.FeasibleTiles, which does not choose shapes
// or threads.
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

// TestOccupancyOver checks that each capability is in one line whose steps follow each other up to
// the limit.
func TestOccupancyOver(t *testing.T) {
	for over, last := range map[occupancy.Resource][]int{
		occupancy.Threads: {1024, 1024, 1024, 1024}, occupancy.Registers: {255, 255, 255, 255},
		occupancy.Shared: {64 << 10, 99 << 10, 99 << 10, 227 << 10},
	} {
		found := map[occupancy.Capability]int{}
		for _, line := range OccupancyOver(over) {
			for i, step := range line.Steps {
				if i == 0 && step.From != 1 || i > 0 && step.From != line.Steps[i-1].To+1 ||
					i > 0 && step.Share == line.Steps[i-1].Share {
					t.Errorf("over %s, %v: step %d is %+v", over, line.Capabilities, i, step)
				}
			}
			for _, c := range line.Capabilities {
				found[c] = line.Steps[len(line.Steps)-1].To
			}
		}
		for i, c := range DesignCapabilities {
			if found[c] != last[i] {
				t.Errorf("over %s, %v: the last step ends at %d, want %d", over, c, found[c], last[i])
			}
		}
	}
	lines := OccupancyOver(occupancy.Registers)
	at := slices.IndexFunc(lines[0].Steps, func(s OccupancyStep) bool { return s.From <= 128 && 128 <= s.To })
	if lines[0].Steps[at].Share != .5 {
		t.Errorf("128 registers: %+v, want half on 7.5", lines[0].Steps[at])
	}
}
