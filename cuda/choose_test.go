package cuda

import (
	"errors"
	"maps"
	"math"
	"math/bits"
	"strings"
	"testing"

	"gemm"
	"gemm/cuda/nvrtc"
	"gemm/gemmtest"
)

func packed(ld int) Operand { return Operand{Address: 1 << 20, LD: ld} }

// TestChoice compares the chosen tile and tail with a table, for shapes that fill the multiprocessors in
// different ways: whole waves of the largest tile, less than one wave, and a few rows more.
func TestChoice(t *testing.T) {
	for _, c := range []struct {
		typ, name string
		s         gemm.Shape
		tile      string
		split     int
		cut       string
	}{
		{"f32", "tuned", gemm.Cube(4096), "128x256x16/64x64/8x16", 1, "248 of 512 tiles over 132 blocks"},
		{"f32", "tuned", gemm.Cube(2048), "128x256x16/64x64/8x16", 1, ""},
		{"f32", "tuned", gemm.Cube(3072), "128x256x16/64x64/8x16", 1, "156 of 288 tiles over 132 blocks"},
		{"f32", "tuned", gemm.Cube(2049), "64x128x16/32x64/8x8", 1, "33 of 561 tiles over 129 blocks"},
		{"f32", "tuned", gemm.Cube(1024), "64x128x16/32x64/8x8", 1, ""},
		{"f32", "tuned", gemm.Cube(1000), "64x128x16/32x64/8x8", 4, ""},
		{"f64", "tuned", gemm.Cube(3072), "128x128x16/64x32", 1, "48 of 576 tiles over 132 blocks"},
		{"f64", "tuned", gemm.Cube(4096), "128x128x16/64x32", 1, ""},
		{"f64", "tuned", gemm.Cube(8192), "128x128x16/64x32", 1, "4 of 4096 tiles over 128 blocks"},
		{"f64", "tuned", gemm.Cube(2049), "128x128x16/64x32", 1, "25 of 289 tiles over 129 blocks"},
		{"f32", "tuned-tf32", gemm.Cube(256), "64x128x32", 1, ""},
		{"f32", "tuned-tf32", gemm.Cube(1024), "64x128x32", 1, ""},
		{"f32", "tuned-tf32", gemm.Shape{M: 4096, N: 512, K: 4096}, "128x256x32", 2, ""},
		{"f32", "tuned-tf32", gemm.Shape{M: 64, N: 4096, K: 1 << 16}, "64x128x32", 4, ""},
		{"f32", "tuned-tf32", gemm.Shape{M: 8192, N: 64, K: 8192}, "128x64x32", 2, ""},
		{"f32", "tuned-tf32", gemm.Cube(2049), "256x128x32", 1, "30 of 162 tiles over 120 blocks"},
		{"f32", "tuned-tf32", gemm.Cube(3072), "256x128x32", 1, "24 of 288 tiles over 96 blocks"},
		{"f32", "tuned-tf32", gemm.Cube(4096), "256x128x32", 1, ""},
		{"f32", "tuned-tf32", gemm.Cube(8192), "256x128x32", 1, "68 of 2048 tiles over 204 blocks"},
		{"f32", F16x3, gemm.Cube(1024), "128x128x64", 2, ""},
		{"f32", F16x3, gemm.Cube(4096), "128x128x64", 1, ""},
		{"f32", "doublebuffer", gemm.Cube(2049), "128x128x8/8x8", 1, ""},
	} {
		r := rung(t, c.typ, c.name)
		p, err := r.Plan(h200, c.s, packed(c.s.K), packed(c.s.N), packed(c.s.N),
			gemm.Params{"tile": Auto, "split": 0, "stages": 0})
		gemmtest.Must(t, err)
		cut, _ := p.Resolved(nil)["cut"].(string)
		if p.Tile.Name() != c.tile || p.Split != c.split || cut != c.cut {
			t.Errorf("%s %s %v: tile %s in %d parts, cut %q, want %s in %d, cut %q", c.typ, c.name, c.s,
				p.Tile.Name(), p.Split, cut, c.tile, c.split, c.cut)
		}
	}
}

// TestFitted checks that tiles of bytes have no more rows and k indices than the product. If a product
// has several tiles or slices, they are about equal.
func TestFitted(t *testing.T) {
	for _, c := range []struct {
		name  string
		s     gemm.Shape
		tile  string // requested
		want  string
		bytes int // of dynamic shared memory
	}{
		{"tiled", gemm.Shape{M: 4, N: 1 << 24, K: 10}, Auto, "4x64x10", 10 * (4 + 64)},
		{"tiled", gemm.Shape{M: 4, N: 1 << 24, K: 10}, "4x256x8", "4x256x5", 5 * (4 + 256)},
		{"tiled", gemm.Shape{M: 17, N: 100, K: 33}, Auto, "9x64x17", 17 * (9 + 64)},
		{"tiled", gemm.Shape{M: 0, N: 5, K: 0}, Auto, "1x64x1", 65},
		{"word", gemm.Shape{M: 3, N: 1 << 24, K: 7}, Auto, "3x1024x7/1x16", 32 + 7*1024},
		{"word", gemm.Shape{M: 4, N: 1 << 24, K: 10}, "16x256x32/1x4", "4x256x10/1x4", 48 + 10*256},
		{"tuned", gemm.Shape{M: 4, N: 1 << 28, K: 10}, Auto, "4x2048x12/4x16", 0},
		{"tuned", gemm.Shape{M: 20, N: 1 << 20, K: 50}, Auto, "10x2048x27/10x16", 0}, // of a multiple of three
		{"tuned", gemm.Shape{M: 1, N: math.MaxInt32, K: 1}, "8x8192x48/8x16", "1x8192x3/1x16", 0},
		{"square-tiled", gemm.Shape{M: 4, N: 1 << 24, K: 10}, Auto, "16x16x16", 0},
		{"macros", gemm.Shape{M: 4, N: 1 << 24, K: 10}, "16x256x10", "4x256x10", 0},
	} {
		r := rung(t, "gf256", c.name)
		p, err := r.Plan(h200, c.s, packed(max(1, c.s.K)), packed(c.s.N), packed(c.s.N), gemm.Params{"tile": c.tile})
		gemmtest.Must(t, err)
		if got := p.Tile.Name(); got != c.want || r.Shared(p.Tile) != c.bytes {
			t.Errorf("%s %v with the tile %s: %s and %d bytes, want %s and %d", c.name, c.s, c.tile, got, r.Shared(p.Tile),
				c.want, c.bytes)
		}
	}
	for _, v := range Variants(nil) {
		p, err := v.Resolve(gemm.Params{"stages": 1 << (bits.UintSize - 2)})
		if !errors.Is(err, gemm.ErrParam) {
			t.Errorf("%s has %v stages, and no error", v.Name, p["stages"])
		}
	}
	columns := math.MaxInt32
	if columns++; columns > 0 { // an int has 64 bits
		if _, err := rung(t, "gf256", "tuned").Plan(h200, gemm.Shape{M: 1, N: columns, K: 1}, packed(1), packed(1), packed(1),
			gemm.Params{}); err == nil {
			t.Error("more columns than are counted: no error")
		}
	}
}

// TestByteWidths checks that as many bytes are copied at once as address and leading dimension
// allow.
func TestByteWidths(t *testing.T) {
	r := rung(t, "gf256", "tuned")
	for _, c := range []struct{ address, ld, want int }{{1 << 20, 4096, 16}, {1 << 20, 4088, 8}, {1<<20 + 4, 4096, 4},
		{1 << 20, 4098, 2}, {1 << 20, 4095, 1}} {
		o := Operand{uintptr(c.address), c.ld}
		p, err := r.Plan(h200, gemm.Shape{M: 4, N: 4000, K: 10}, packed(10), o, o, gemm.Params{})
		gemmtest.Must(t, err)
		if want := (Widths{A: 1, B: c.want, C: c.want}); p.Widths != want {
			t.Errorf("at %#x with rows %d apart: %v, want %v", c.address, c.ld, p.Widths, want)
		}
	}
}

// TestParts checks that equal parts of k are whole slices that cover it, and that none is empty.
func TestParts(t *testing.T) {
	r := rung(t, "f32", "tuned")
	for _, k := range []int{0, 1, 15, 16, 17, 1000, 4096} {
		for n := 1; n <= 9; n++ {
			p := Plan{Rung: r, Tile: r.Tiles[0], Shape: gemm.Shape{M: 64, N: 64, K: k}}.inParts(n)
			depth := p.Tail.Each * p.Tile.BK
			if p.Split > n || p.Split > 1 && (p.Split*depth < k || (p.Split-1)*depth >= k ||
				p.Tail.Span != p.Split*p.Tail.Each) {
				t.Errorf("k = %d in %d: %d parts, %+v", k, n, p.Split, p.Tail)
			}
		}
	}
}

// TestLayouts checks which operands are copied to a new layout, because their strides forbid copies of
// 16 bytes, if the product is long enough. In the new layout no block of the kernel has an edge.
func TestLayouts(t *testing.T) {
	r := rung(t, "f32", "tuned")
	auto := gemm.Params{"tile": Auto, "split": 0, "stages": 0}
	plan := func(n int) Plan {
		p, err := r.Plan(h200, gemm.Cube(n), packed(n), packed(n), packed(n), auto)
		gemmtest.Must(t, err)
		return p
	}
	p := plan(4095)
	if p.LayA.Rows%p.Tile.BM != 0 || p.LayA.Rows < 4095 || p.LayA.LD < 4095 || p.LayB.LD%p.Tile.BN != 0 ||
		p.LayB.LD < 4095 || p.LayB.Rows != 4095 {
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

// TestPlanErrors has products that no launch computes.
func TestPlanErrors(t *testing.T) {
	for s, want := range map[gemm.Shape]error{
		{M: math.MaxInt32, N: 1, K: 1}: errShapeLimit,
		{M: 1 << 29, N: 1 << 29, K: 1}: gemm.ErrUnavailable, // more blocks than a GPU counts
	} {
		o := packed(s.N)
		if _, err := rung(t, "f32", "naive").Plan(h200, s, packed(1), o, o, nil); !errors.Is(err, want) {
			t.Errorf("%v: %v, want %v", s, err, want)
		}
	}
	small, o := h200, packed(64)
	small.BlockSharedOptIn = 32 << 10
	if _, err := rung(t, "f32", "tuned").Plan(small, gemm.Cube(64), o, o, o,
		gemm.Params{"tile": "128x256x16/64x64/8x16"}); !errors.Is(err, gemm.ErrUnavailable) {
		t.Errorf("too much shared memory: %v", err)
	}
}

// TestShortMemory plans products on a GPU with little memory. Extra buffers are dropped if they do not
// fit; parameters that the user set are kept.
func TestShortMemory(t *testing.T) {
	r, short := rung(t, "f32", "tuned"), h200
	short.Free = 1 << 20
	plan := func(g GPU, n, split int) Plan {
		p, err := r.Plan(g, gemm.Cube(n), packed(n), packed(n), packed(n),
			gemm.Params{"tile": Auto, "split": split, "stages": 0})
		gemmtest.Must(t, err)
		return p
	}
	if p := plan(h200, 1000, 0); p.Tail.Blocks == 0 ||
		p.PartialBytes() != int64(4*p.Tail.places()*p.Tile.BM*p.Tile.BN) {
		t.Errorf("the tail is %+v, whose sums have %d bytes", p.Tail, p.PartialBytes())
	}
	if p := plan(short, 1000, 0); p.Tail.Blocks != 0 || p.PartialBytes() != 0 {
		t.Errorf("short of memory k is cut into %d, whose sums have %d bytes", p.Split, p.PartialBytes())
	}
	if p := plan(short, 1000, 4); p.Split != 4 {
		t.Errorf("with 4 parts requested, k is cut into %d", p.Split)
	}
	if p := plan(short, 4095, 0); p.LayA != (Layout{}) || p.LayB != (Layout{}) || p.Widths.B != 1 {
		t.Errorf("short of memory A is laid out as %+v, B as %+v, copied by %v", p.LayA, p.LayB, p.Widths)
	}
}

// TestEmpty checks that every rung plans products without elements.
func TestEmpty(t *testing.T) {
	for _, r := range rungs {
		for _, s := range []gemm.Shape{{M: 0, N: 0, K: 0}, {M: 0, N: 5, K: 7}, {M: 5, N: 0, K: 7}, {M: 5, N: 7, K: 0}} {
			p, err := r.Plan(h200, s, packed(max(1, s.K)), packed(max(1, s.N)), packed(max(1, s.N)), gemm.Params{})
			if err != nil {
				t.Errorf("%s %s %v: %v", r.Type, r.Name, s, err)
			}
			if blocks := p.Blocks(); (blocks == 0) != (s.M*s.N == 0) {
				t.Errorf("%s %s %v has %d blocks", r.Type, r.Name, s, blocks)
			}
		}
	}
}

// TestCheckSettings checks that exactly the settings that no kernel of an algorithm can have are
// refused.
func TestCheckSettings(t *testing.T) {
	for _, r := range rungs {
		for _, tile := range r.Tiles {
			if err := CheckSettings(Family+"/"+r.Name, r.Type,
				gemm.Params{"tile": tile.Name(), "stages": tile.Stages}); err != nil {
				t.Error(err)
			}
		}
	}
	for _, c := range []struct {
		name, typ string
		p         gemm.Params
		says      string // empty: no error
	}{
		{"tuned", "f32", gemm.Params{}, ""},
		{"tuned", "f32", gemm.Params{"tile": Auto, "stages": 4, "split": 0, "maxregs": 128}, ""},
		{"tuned", "f32", gemm.Params{"stages": 1},
			"one slice is copied while another is multiplied: STAGES >= 2, STAGES = 1"},
		{"tuned", "f32", gemm.Params{"tile": "96x96x16/64x32/8x8"},
			"BM % WM == 0 && BN % WN == 0, BM = 96, WM = 64, BN = 96, WN = 32"},
		{"doublebuffer", "f32", gemm.Params{"block": 8, "bk": 16}, ""},
		{"doublebuffer", "f32", gemm.Params{"block": 12}, "it has 128x128x8/8x8"},
		{"tuned", "f32", gemm.Params{"bk": 7}, "it has 128x256x16/64x64/8x16, 128x128x16"},
		{"tuned", "f32", gemm.Params{"tile": "big"}, `tile is "big", must be BMxBNxBK/WMxWN/TMxTN of tuned`},
		{"tuned", "f32", gemm.Params{"tile": "128x128x8/8x8"}, "must be BMxBNxBK/WMxWN/TMxTN of tuned"},
		{"blocktile2d", "f32", gemm.Params{"tile": "512x512x8/8x8"}, "at most 1024 threads: THREADS <= 1024, THREADS = 4096"},
		{"conflictfree", "f32", gemm.Params{"maxregs": 64}, ""},
		{"conflictfree", "f64", gemm.Params{"maxregs": 64}, "cannot be limited"},
		{CuBLAS, "f32", gemm.Params{}, ""},
	} {
		err := CheckSettings(Family+"/"+c.name, c.typ, c.p)
		if c.says == "" && err != nil {
			t.Error(err)
		}
		if c.says != "" && (!errors.Is(err, gemm.ErrParam) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s %s %v: %v, want an error that says %q", c.name, c.typ, c.p, err, c.says)
		}
	}
}

// TestResolved checks that every parameter with an automatic choice is resolved to what was chosen.
func TestResolved(t *testing.T) {
	for _, c := range []struct {
		typ, name string
		n         int
		p, want   gemm.Params
	}{
		{"f32", "doublebuffer", 64, gemm.Params{"tile": Auto, "block": 0, "bk": 0, "maxregs": 0},
			gemm.Params{"tile": "128x128x8/8x8", "block": 16, "bk": 8}},
		{"f32", "doublebuffer", 64, gemm.Params{"tile": Auto, "block": 8, "bk": 0, "maxregs": 0},
			gemm.Params{"tile": "64x64x8/8x8", "block": 8, "bk": 8}},
		{"f64", "tuned", 3072, gemm.Params{"tile": "128x128x16/64x32", "stages": 0, "split": 0},
			gemm.Params{"tile": "128x128x16/64x32", "stages": 3, "split": 1, "cut": "48 of 576 tiles over 132 blocks"}},
		{"f32", "tuned", 4095, gemm.Params{"tile": "128x128x16/64x32/8x8", "stages": 0, "split": 1},
			gemm.Params{"tile": "128x128x16/64x32/8x8", "stages": 3, "split": 1, "anew": "A, B"}},
	} {
		p, err := rung(t, c.typ, c.name).Plan(h200, gemm.Cube(c.n), packed(c.n), packed(c.n), packed(c.n), c.p)
		gemmtest.Must(t, err)
		if got := p.Resolved(c.p); !maps.Equal(got, c.want) {
			t.Errorf("%s %s %v: %v, want %v", c.typ, c.name, c.p, got, c.want)
		}
	}
}

// TestCheckRegisters checks that a register limit that the compiler ignores is an error: a limit below
// the registers of each thread if a multiprocessor holds 2048.
func TestCheckRegisters(t *testing.T) {
	l, err := nvrtc.Find()
	gemmtest.Require(t, "nvrtc", err)
	r := rung(t, "f32", "blocktile2d")
	for _, c := range []struct {
		limit int
		kept  bool
	}{{0, true}, {64, true}, {24, false}} {
		e, err := Explain(l, r, r.Tiles[2], c.limit, hopper)
		gemmtest.Must(t, err)
		err = (Plan{Rung: r, Tile: r.Tiles[2], MaxReg: c.limit}).CheckRegisters(e.Kernel.Registers)
		if c.kept != (err == nil) || err != nil && !errors.Is(err, gemm.ErrParam) {
			t.Errorf("%d registers, at most %d: %v", e.Kernel.Registers, c.limit, err)
		}
	}
}

// TestOffers checks what requests for accuracy take at n = 4096 on 9.0 and on 8.0, of operands in f64 and f32.
func TestOffers(t *testing.T) {
	old := h200
	old.Capability = "8.0"
	all := func(g GPU, operands string, types ...string) (out []gemm.Offer) {
		for _, typ := range types {
			offers, err := Offers(g, gemm.TypeNamed(typ), gemm.TypeNamed(operands), gemm.Cube(4096), true)
			gemmtest.Must(t, err)
			out = append(out, offers...)
		}
		return out
	}
	for name, c := range map[string]struct {
		offers []gemm.Offer
		want   map[float64]string
	}{
		"f64 on 9.0": {all(h200, "f64", "f64", "f32", "f16", "bf16"), map[float64]string{
			1e-2: "cuda/tuned", 1e-3: "cuda/f16x3", 1e-4: "cuda/f16x3", 1e-5: "cuda/ozaki-wgmma moduli=7",
			1e-9: "cuda/ozaki-wgmma moduli=10", 1e-12: "cuda/ozaki-wgmma moduli=12",
			1e-15: "cuda/ozaki-wgmma moduli=15"}},
		"f32 on 9.0": {all(h200, "f32", "f32"), map[float64]string{1e-2: "cuda/tuned-tf32", 1e-3: "cuda/f16x3"}},
		"f64 on 8.0": {all(old, "f64", "f64", "f32"), map[float64]string{
			1e-2: "cuda/tuned-tf32-mma", 1e-3: "cuda/ozaki-mma moduli=7", 1e-12: "cuda/ozaki-mma moduli=12"}},
	} {
		for accuracy, want := range c.want {
			i, err := gemm.Fastest(c.offers, accuracy)
			if err != nil {
				t.Errorf("%s, %g: %v", name, accuracy, err)
			} else if got := c.offers[i]; got.String() != want {
				t.Errorf("%s, %g: %v with %.2g, want %s", name, accuracy, got, got.Bound, want)
			}
		}
		if small, err := Offers(h200, gemm.TypeNamed("f64"), gemm.TypeNamed("f64"), gemm.Cube(1024), true); err != nil {
			t.Error(err)
		} else if i, err := gemm.Fastest(small, 1e-12); err != nil || small[i].Variant != "cuda/tuned" {
			t.Errorf("small products are by %v (%v)", small, err)
		}
		if _, err := gemm.Fastest(c.offers, 1e-17); err == nil {
			t.Errorf("%s: 1e-17 is promised", name)
		}
	}
}
