package cuda

import (
	"testing"

	"gemm"
)

func packed(ld int) Operand { return Operand{Address: 1 << 20, LD: ld} }

// TestChoice pins what is chosen for shapes that fill the multiprocessors in different ways:
// whole waves of the largest tile, less than one, and a few rows too many.
func TestChoice(t *testing.T) {
	for _, c := range []struct {
		typ, name string
		s         Shape
		tile      string
		split     int
	}{
		{"f32", "warptile", Shape{4096, 4096, 4096}, "128x256x16/64x64/8x16", 1},
		{"f32", "warptile", Shape{2048, 2048, 2048}, "128x256x16/64x64/8x16", 1},
		{"f32", "warptile", Shape{3072, 3072, 3072}, "64x128x16/32x64/8x8", 1},
		{"f32", "warptile", Shape{1024, 1024, 1024}, "64x128x16/32x64/8x8", 1},
		{"f32", "warptile", Shape{1000, 1000, 1000}, "64x128x16/32x64/8x8", 4},
		{"f64", "dmma", Shape{4096, 4096, 4096}, "128x128x16/64x32", 1},
		{"f64", "dmma", Shape{2049, 2049, 2049}, "64x64x16/32x32", 1},
		{"f32", "doublebuffer", Shape{2049, 2049, 2049}, "128x128x8/8x8", 1},
	} {
		r := rung(t, c.typ, c.name)
		p, err := r.Plan(h200, c.s, packed(c.s.K), packed(c.s.N), packed(c.s.N), gemm.Params{"tile": Auto, "split": 0, "stages": 0})
		if err != nil {
			t.Fatal(err)
		}
		if p.Tile.Name() != c.tile || p.Split != c.split {
			t.Errorf("%s %s %v: tile %s in %d parts, want %s in %d", c.typ, c.name, c.s, p.Tile.Name(), p.Split, c.tile, c.split)
		}
	}
}

// TestParts wants the parts of k to be whole slices that cover it.
func TestParts(t *testing.T) {
	r := rung(t, "f32", "warptile")
	for _, k := range []int{0, 1, 15, 16, 17, 1000, 4096} {
		for n := 1; n <= 9; n++ {
			p := Plan{Rung: r, Tile: r.Tiles[0], Shape: Shape{64, 64, k}}
			p.split(n)
			if p.Depth%p.Tile.BK != 0 || p.Split > n || p.Split*p.Depth < k || p.Split > 1 && (p.Split-1)*p.Depth >= k {
				t.Errorf("k = %d in %d: %d parts of %d", k, n, p.Split, p.Depth)
			}
		}
	}
}

// TestLayouts wants operands laid out anew where their rows forbid copies of 16 bytes and the
// product is long enough, and then so that no block of the kernel has an edge.
func TestLayouts(t *testing.T) {
	r := rung(t, "f32", "warptile")
	auto := gemm.Params{"tile": Auto, "split": 0, "stages": 0}
	plan := func(n int) Plan {
		p, err := r.Plan(h200, Shape{n, n, n}, packed(n), packed(n), packed(n), auto)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := plan(4095)
	if p.LayA.Rows%p.Tile.BM != 0 || p.LayA.Rows < 4095 || p.LayA.LD < 4095 || p.LayB.LD%p.Tile.BN != 0 || p.LayB.LD < 4095 || p.LayB.Rows != 4095 {
		t.Errorf("4095: A %+v, B %+v with tile %v", p.LayA, p.LayB, p.Tile)
	}
	if p.Widths.B != 4 {
		t.Errorf("4095: B is copied %d at a time", p.Widths.B)
	}
	for _, n := range []int{4096, 33} {
		if p := plan(n); p.LayA != (Layout{}) || p.LayB != (Layout{}) {
			t.Errorf("%d: A %+v, B %+v", n, p.LayA, p.LayB)
		}
	}
}

// TestPlanErrors wants parameters that do not fit refused, with what there is.
func TestPlanErrors(t *testing.T) {
	r := rung(t, "f32", "warptile")
	o := packed(64)
	for name, p := range map[string]gemm.Params{
		"a tile in words": {"tile": "big"}, "a tile without warps": {"tile": "128x128x8/8x8"}, "bk that is not offered": {"bk": 7},
	} {
		if _, err := r.Plan(h200, Shape{64, 64, 64}, o, o, o, p); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := r.Plan(h200, Shape{1 << 31, 1, 1}, o, o, o, gemm.Params{}); err == nil {
		t.Error("a shape beyond 32 bits: no error")
	}
	small := h200
	small.BlockSharedOptIn = 32 << 10
	if _, err := r.Plan(small, Shape{64, 64, 64}, o, o, o, gemm.Params{"tile": "128x256x16/64x64/8x16"}); err == nil {
		t.Error("too much shared memory: no error")
	}
}
