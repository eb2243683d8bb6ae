package analysis

import (
	"slices"
	"testing"

	"gemm/cuda"
	"gemm/cuda/occupancy"
)

// TestDesigns checks the settings of the 2024 report: its tiles are feasible and fill a third of a
// multiprocessor of 8.6 and half of one of 7.5, and its reasons forbid the others.
func TestDesigns(t *testing.T) {
	for _, test := range []struct {
		tile                  cuda.Tile
		threads, slices, sums int
		copies                float64
		fails                 Condition
		turing, ampere        float64
	}{
		{cuda.Tile{BM: 128, BN: 128, BK: 8, TM: 8, TN: 8}, 256, 8192, 16384, 4, "", 1. / 2, 1. / 3},
		{cuda.Tile{BM: 128, BN: 128, BK: 16, TM: 8, TN: 8}, 256, 16384, 16384, 8, "", 1. / 2, 1. / 3},
		{cuda.Tile{BM: 64, BN: 64, BK: 8, TM: 8, TN: 8}, 64, 4096, 4096, 8, "", 1. / 2, 1. / 3},
		{cuda.Tile{BM: 64, BN: 64, BK: 16, TM: 8, TN: 8}, 64, 8192, 4096, 16, "", 1. / 4, 5. / 24},
		{cuda.Tile{BM: 128, BN: 256, BK: 8, TM: 4, TN: 4}, 2048, 12288, 32768, .5, BlockThreads, 0, 0},
		{cuda.Tile{BM: 128, BN: 128, BK: 32, TM: 8, TN: 8}, 256, 32768, 16384, 16, HalfShared, 1. / 4, 1. / 6},
		{cuda.Tile{BM: 256, BN: 256, BK: 8, TM: 8, TN: 8}, 1024, 16384, 65536, 2, HalfRegisters, 0, 0},
		{cuda.Tile{BM: 32, BN: 32, BK: 8, TM: 8, TN: 8}, 16, 2048, 1024, 16, RowOfSlice, 1. / 2, 1. / 3},
	} {
		d := NewDesign(test.tile)
		if d.Threads != test.threads || d.Slices != test.slices || d.Sums != test.sums || d.Copies != test.copies ||
			d.Fails != test.fails || d.Occupancy[0] != test.turing || d.Occupancy[1] != test.ampere {
			t.Errorf("%+v, want %+v", d, test)
		}
	}
	all := Designs()
	if len(all) != 96 {
		t.Errorf("%d designs, want 96", len(all))
	}
	for _, d := range all {
		if d.Feasible() && (d.Threads*d.Registers > 65536 || slices.Min(d.Occupancy) == 0) {
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
		d := NewDesign(cuda.Tile{BM: 8 * f.Edge, BN: 8 * f.Edge, BK: f.Slice, TM: 8, TN: 8})
		if d.Threads != f.Threads || 2*d.Slices != f.Shared || d.Sums != f.Sums || d.Copies != f.Copies ||
			d.Feasible() != (len(f.Fails) == 0) {
			t.Errorf("%+v, package cuda says %+v", d, f)
		}
		compared++
	}
	if compared == 0 {
		t.Error("nothing compared")
	}
}

// TestDesignReads checks the reads of the first rungs: 2·n³ from global memory without tiles, and a
// 32nd of it with tiles of 32×32.
func TestDesignReads(t *testing.T) {
	const all = 2.0 * DesignSize * DesignSize * DesignSize
	want := map[string][2]float64{"naive": {all, 0}, "coalesced": {all, 0}, "smem": {all / 32, all},
		"blocktile1d": {all / 64, all * 9 / 16}, "blocktile2d": {all / 128, all / 8}}
	reads := DesignReads()
	for _, r := range reads {
		if w, ok := want[r.Rung.Name]; ok && (r.GlobalReads != w[0] || r.SharedReads != w[1]) {
			t.Errorf("%s reads %v and %v elements, want %v", r.Rung.Name, r.GlobalReads, r.SharedReads, w)
		}
	}
	if len(reads) != len(cuda.Ladder("f32")) {
		t.Errorf("%d rungs", len(reads))
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
