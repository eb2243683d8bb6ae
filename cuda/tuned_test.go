package cuda

import (
	"maps"
	"strings"
	"testing"

	"gemm"
	"gemm/gemmtest"
	"gemm/internal/occupancy"
	"gemm/internal/tuned"
)

// h200 is a GPU with the figures of an H200 that plans depend on.
var h200 = GPU{Name: "NVIDIA H200", Capability: "9.0", Multiprocessors: 132, Clock: 1980, BlockThreads: 1024,
	BlockSharedOptIn: 232448}

func TestClass(t *testing.T) {
	r := rung(t, "f32", "tuned")
	for _, c := range []struct {
		s    gemm.Shape
		want Class
	}{
		{gemm.Cube(256), Small}, {gemm.Cube(1024), Small}, {gemm.Cube(1408), Small}, // 121 tiles
		{gemm.Cube(1536), Medium}, {gemm.Cube(2048), Medium}, {gemm.Shape{M: 2816, N: 2816, K: 512}, Medium}, // 484
		{gemm.Cube(3072), Large}, {gemm.Cube(8192), Large}, {gemm.Shape{M: 4096, N: 4096, K: 16}, Large},
		{gemm.Shape{M: 8192, N: 64, K: 8192}, Tall}, {gemm.Shape{M: 1024, N: 128, K: 16}, Tall},
		{gemm.Shape{M: 1016, N: 128, K: 16}, Small},
		{gemm.Shape{M: 64, N: 1048576, K: 64}, Wide}, {gemm.Shape{M: 1, N: 8, K: 1}, Wide},
		{gemm.Shape{M: 512, N: 512, K: 4096}, Deep}, {gemm.Shape{M: 64, N: 64, K: 8192}, Deep},
		{gemm.Shape{M: 512, N: 512, K: 4095}, Small}, {gemm.Shape{M: 1, N: 1, K: 8}, Deep}, {gemm.Cube(1), Small},
		{gemm.Cube(0), Deep},
	} {
		if got := r.Class(h200, c.s, true); got != c.want {
			t.Errorf("%v is %s, want %s", c.s, got, c.want)
		}
		if got := r.Class(h200, c.s, false); got != c.want+Narrow {
			t.Errorf("%v is %s with narrow copies", c.s, got)
		}
	}
}

// Each class has a shape that falls into it, on GPUs of any size, by the operands that a
// product of that shape has.
func TestClasses(t *testing.T) {
	for _, multiprocessors := range []int{0, 1, 2, 6, 28, 72, 82, 108, 132, 160, 200} {
		g := GPU{Multiprocessors: multiprocessors}
		for _, r := range rungs {
			classes := r.Classes(g)
			for _, c := range classes {
				s := c.Shape(g)
				if got := r.Class(g, s, r.wide(packed(s.K), packed(s.N), packed(s.N))); got != c {
					t.Errorf("%d multiprocessors: %v stands for %s of %s in %s, and is %s", multiprocessors, s, c,
						r.Name, r.Type, got)
				}
			}
			want := 12
			if r.Type == "gf256" {
				want = 6
			}
			if !r.Copies {
				want /= 2
			}
			if multiprocessors > 1 && len(classes) != want {
				t.Errorf("%d multiprocessors: %s has the classes %v", multiprocessors, r.Name, classes)
			}
		}
	}
	for class, want := range map[Class]gemm.Shape{
		Small: {M: 1024, N: 1024, K: 1024}, Medium: {M: 2048, N: 2048, K: 2048}, Large: {M: 4096, N: 4096, K: 4096},
		Large + Narrow: {M: 4095, N: 4095, K: 4095},
		Rows4:          {M: 4, N: 1 << 24, K: 10}, Rows16: {M: 16, N: 1 << 24, K: 16}, Rows: {M: 64, N: 1 << 22, K: 64},
		Rows4 + Narrow: {M: 3, N: 1<<24 - 1, K: 9},
		Tall:           {M: 8192, N: 64, K: 8192}, Wide: {M: 64, N: 8192, K: 8192}, Deep: {M: 512, N: 512, K: 8192},
		Deep + Narrow: {M: 511, N: 511, K: 8191},
	} {
		if got := class.Shape(h200); got != want {
			t.Errorf("%s on an H200: %v, want %v", class, got, want)
		}
	}
}

// What a search can find can be written down and read again.
func TestCandidatesHaveNames(t *testing.T) {
	for _, r := range rungs {
		for _, tile := range r.Candidates(occupancy.Capability{Major: 9}) {
			k := tuned.Kernel{Tile: tile.Name(), Stages: tile.Stages}
			if got, err := r.setting(k, h200); err != nil || got != tile {
				t.Errorf("%s in %s: %+v is read as %+v, %v", r.Name, r.Type, tile, got, err)
			}
		}
	}
}

func TestTunedPlans(t *testing.T) {
	t.Cleanup(tuned.Disable)
	r := rung(t, "f32", "tuned")
	best := tuned.Kernel{GPU: h200.Name, Type: "f32", Rung: "tuned", Class: "large", Tile: "64x128x16/32x64/8x8",
		Stages: 3, Split: 1}
	deep := best
	deep.Class, deep.Tile, deep.Split = "deep", "128x128x8/32x64/8x8", 6
	tuned.Use(tuned.Settings{}.WithKernel(best).WithKernel(deep))
	plan := func(g GPU, s gemm.Shape, p gemm.Params) Plan {
		t.Helper()
		plan, err := r.Plan(g, s, packed(s.K), packed(s.N), packed(s.N), p)
		gemmtest.Must(t, err)
		return plan
	}
	open := gemm.Params{"device": 0, "l2": "cold", "stages": 0, "tile": "auto", "split": 0, "maxregs": 0}
	with := func(name string, value any) gemm.Params {
		p := maps.Clone(open)
		p[name] = value
		return p
	}
	large := gemm.Cube(4096)
	if got := plan(h200, large, open); got.Tile.Name() != best.Tile || got.Tile.Stages != 3 || got.Split != 1 ||
		got.Ignored != "" {
		t.Errorf("with an entry: %+v", got)
	}
	if got := plan(h200, large, gemm.Params{}); got.Tile.Name() != best.Tile {
		t.Errorf("without parameters: %s", got.Tile)
	}
	other := h200
	other.Name = "NVIDIA H100"
	for name, got := range map[string]Plan{
		"another GPU":   plan(other, large, open),
		"another class": plan(h200, gemm.Cube(4095), open),
		"a tile":        plan(h200, large, with("tile", "128x128x8/32x64/8x8")),
		"stages":        plan(h200, large, with("stages", 2)),
		"split":         plan(h200, large, with("split", 2)),
		"maxregs":       plan(h200, large, with("maxregs", 128)),
	} {
		if got.Tile.Name() == best.Tile {
			t.Errorf("%s: the tuned tile is used", name)
		}
	}
	// As many parts as were tuned, if there is work for them.
	for k, want := range map[int]int{8192: 6, 4096: 6, 320: 5, 64: 1} {
		if got := plan(h200, gemm.Shape{M: 8, N: 8, K: k}, open); got.Split != want || got.Tile.Name() != deep.Tile {
			t.Errorf("k = %d: %d parts of %s, want %d", k, got.Split, got.Tile, want)
		}
	}
	tuned.Disable()
	if got := plan(h200, large, open); got.Tile.Name() == best.Tile {
		t.Error("disabled: the tuned tile is used")
	}
}

// What the kernel cannot have is not used, and the plan says why.
func TestTunedSettingsThatAreNone(t *testing.T) {
	t.Cleanup(tuned.Disable)
	r := rung(t, "f64", "tuned")
	s, o := gemm.Cube(4096), packed(4096)
	for _, bad := range []struct {
		tile   string
		stages int
		want   string
	}{
		{"128x128", 3, "tile is"}, {"128x128x16/64x48", 3, "BN % WN == 0"},
		{"128x128x16/64x32", 1, "STAGES = 1"},
		{"128x128x16/64x32", 8, "bytes of shared memory a block, the GPU has 232448"},
		{"512x512x16/64x32", 2, "THREADS = 4096"},
	} {
		tuned.Use(tuned.Settings{}.WithKernel(tuned.Kernel{GPU: h200.Name, Type: "f64", Rung: "tuned", Class: "large",
			Tile: bad.tile, Stages: bad.stages, Split: 1}))
		plan, err := r.Plan(h200, s, o, o, o, gemm.Params{})
		if err != nil || plan.Tile != r.Tiles[0] && plan.Tile != r.Tiles[1] {
			t.Errorf("%s: %v, %v", bad.tile, plan.Tile, err)
		}
		if !strings.Contains(plan.Ignored, bad.want) || !strings.Contains(plan.Ignored, "gemm tune --families cuda") ||
			strings.Contains(plan.Ignored, "\n") {
			t.Errorf("%s, %d stages: %q, want %q", bad.tile, bad.stages, plan.Ignored, bad.want)
		}
	}
}
