package cuda

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gemm"
	"gemm/cuda/kernels"
	"gemm/cuda/nvrtc"
	"gemm/cuda/occupancy"
	"gemm/internal/gemmtest"
)

var hopper = occupancy.Capability{Major: 9}

// draw returns a setting for the rung of numbers that fit each other now and then.
func draw(r Rung, random *rand.Rand) Tile {
	t := Tile{BM: 16 << random.IntN(5), BN: 16 << random.IntN(5)}
	if random.IntN(4) == 0 {
		t.BM = t.BM * 3 / 2
	}
	own := r.Tiles[0]
	if own.BK != 0 {
		t.BK = 4 << random.IntN(4)
	}
	if own.TM != 0 {
		t.TM = 2 << random.IntN(4)
	}
	if own.TN != 0 {
		t.TN = 2 << random.IntN(4)
	}
	if own.WM != 0 {
		t.WM, t.WN = 8<<random.IntN(5), 8<<random.IntN(5)
		if own.TM != 0 { // 32 threads, mostly
			lanes := 1 << random.IntN(6)
			t.WM, t.WN = t.TM*lanes, t.TN*32/lanes
		}
	}
	if own.Stages != 0 {
		t.Stages = 1 + random.IntN(4)
	}
	switch {
	case r.Name == "square-tiled" && random.IntN(2) == 0:
		t.BN, t.BK = t.BM, t.BM
	case r.Name == "tuned":
		t.TM = t.BM >> random.IntN(2)
		t.BK, t.TN, t.BN = t.BK+t.BK/2*random.IntN(2), 8<<random.IntN(2), 512<<random.IntN(5)
	case r.Name == F16x3 || r.Size() == 2: // slices of halves are 64 deep
		t.BM, t.BN, t.BK = 64<<random.IntN(3), 64<<random.IntN(3), 32<<random.IntN(2)
	case r.Name == "dmma":
		t.MMAK = []int{0, 4, 8, 16}[random.IntN(4)]
	case (r.Name == "conflictfree" || r.Name == "doublebuffer") && random.IntN(3) == 0:
		t.Pad = 1 + random.IntN(8)
	}
	return t
}

// assertionsOf returns the source of the rung up to its last static_assert, with nothing to
// multiply: it compiles where the assertions hold.
func assertionsOf(t *testing.T, r Rung) string {
	t.Helper()
	source, err := kernels.Source(r.Type, r.File)
	if err != nil {
		t.Fatal(err)
	}
	last := strings.LastIndex(source, "\nstatic_assert")
	end := strings.Index(source[last:], ");\n")
	if last < 0 || end < 0 {
		t.Fatalf("%s has no assertions", r.File)
	}
	return source[:last+end+3] + "extern \"C\" __global__ void gemm() {}\n"
}

// TestCheck compares Check with the assertions in the source, for many settings; some hold and some
// do not.
func TestCheck(t *testing.T) {
	l, err := nvrtc.Find()
	gemmtest.Require(t, "nvrtc", err)
	random := rand.New(rand.NewPCG(6, 16))
	const each = 4
	for _, typ := range gemm.TypeNames() {
		for _, r := range Ladder(typ) {
			if r.AtLaunch { // what the compiler does not know it does not assert
				continue
			}
			source := assertionsOf(t, r)
			want := map[bool]int{true: each, false: each}
			for tries := 0; (want[true] > 0 || want[false] > 0) && tries < 100000; tries++ {
				tile, widths := draw(r, random), r.Widest()
				if r.Copies {
					widths = Widths{1 << random.IntN(3), 1 << random.IntN(3), 1}
					widths.A, widths.B = min(widths.A, r.Widest().A), min(widths.B, r.Widest().B)
				}
				err := r.Check(tile, widths)
				if want[err == nil] == 0 {
					continue
				}
				want[err == nil]--
				if err != nil && !errors.As(err, new(TileError)) {
					t.Fatal(err)
				}
				p, problem := r.Program(tile, widths, 90)
				if problem != nil {
					t.Fatal(problem)
				}
				p.Source = source
				if _, compiled := l.Compile(p); (compiled == nil) != (err == nil) {
					t.Errorf("%s/%s %v by %v: Check says %v, the compiler %v", typ, r.Name, tile, widths, err, compiled)
				}
			}
			if want[true] > 0 || want[false] > each-2 {
				t.Errorf("%s/%s: %d settings that hold and %d that do not are missing", typ, r.Name, want[true], want[false])
			}
		}
	}
}

// TestCheckEmpty checks that a setting without a number, or with a negative one, is refused.
// Otherwise a kernel's own default would be used.
func TestCheckEmpty(t *testing.T) {
	for _, typ := range gemm.TypeNames() {
		for _, r := range Ladder(typ) {
			for _, m := range r.macros() {
				if m.of(r.Tiles[0]) == 0 {
					t.Errorf("%s/%s: %s", typ, r.Name, m.name)
				}
			}
			if len(r.macros()) < 2 {
				t.Errorf("%s/%s has %d macros", typ, r.Name, len(r.macros()))
			}
			if err := r.Check(Tile{}, r.Widest()); !errors.As(err, new(TileError)) {
				t.Errorf("%s/%s without a tile: %v", typ, r.Name, err)
			}
			negative := r.Tiles[0]
			negative.BM, negative.BN = -negative.BM, -negative.BN
			if err := r.Check(negative, r.Widest()); !errors.As(err, new(TileError)) {
				t.Errorf("%s/%s %v: %v", typ, r.Name, negative, err)
			}
			for _, tile := range r.Tiles {
				if err := r.Check(tile, r.Widest()); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// TestCandidates checks that the settings of a search are within the limits, in a fixed order, not
// too many, and contain the rung's own.
func TestCandidates(t *testing.T) {
	for _, c := range occupancy.Capabilities() {
		limits, err := occupancy.LimitsOf(c)
		if err != nil {
			t.Fatal(err)
		}
		for _, typ := range gemm.TypeNames() {
			for _, r := range Ladder(typ) {
				tiles := r.Candidates(c)
				if len(tiles) == 0 != (r.Runs(10*c.Major+c.Minor) != nil) || len(tiles) > mostCandidates {
					t.Errorf("%v %s/%s has %d candidates", c, typ, r.Name, len(tiles))
				}
				if !slices.Equal(tiles, r.Candidates(c)) {
					t.Errorf("%v %s/%s: their order changes", c, typ, r.Name)
				}
				seen := map[Tile]bool{}
				for _, tile := range tiles {
					if seen[tile] {
						t.Errorf("%v %s/%s: %v is given twice", c, typ, r.Name, tile)
					}
					seen[tile] = true
					for _, w := range []Widths{r.Widest(), {1, 1, 1}} {
						if err := r.Check(tile, w); err != nil {
							t.Errorf("%v %s/%s: %v", c, typ, r.Name, err)
						}
					}
					if threads := r.Threads(tile); threads%32 != 0 || threads > limits.BlockThreads ||
						r.Shared(tile) > limits.BlockSharedOptIn {
						t.Errorf("%v %s/%s %v: %d threads, %d bytes", c, typ, r.Name, tile, threads, r.Shared(tile))
					}
				}
				if c == hopper && !slices.Equal(tiles[:len(r.Tiles)], r.Tiles) {
					t.Errorf("%s/%s: its own settings are not the first: %v", typ, r.Name, tiles)
				}
				if r.Tiles[0].BK != 0 && !r.Packs() && r.Name != "square-tiled" && !r.Mapped() &&
					len(tiles) > 0 && len(tiles) < 5 {
					t.Errorf("%v %s/%s has %d candidates", c, typ, r.Name, len(tiles))
				}
			}
		}
	}
	if tiles := Ladder("f32")[0].Candidates(occupancy.Capability{Major: 99}); tiles != nil {
		t.Errorf("an unknown capability has %v", tiles)
	}
}

// TestCandidatesCompile compiles a candidate of every rung. The estimate of registers, which leaves
// addresses out, must not be far above what the compiler takes.
func TestCandidatesCompile(t *testing.T) {
	if !everything {
		t.Skip("takes long: make kernels runs it")
	}
	l, err := nvrtc.Find()
	gemmtest.Require(t, "nvrtc", err)
	for _, typ := range gemm.TypeNames() {
		for _, r := range Ladder(typ) {
			tiles := r.Candidates(hopper)
			tile := tiles[len(tiles)/2]
			p, err := r.Program(tile, r.Widest(), 90)
			if err != nil {
				t.Fatal(err)
			}
			image, err := l.Compile(p)
			if err != nil || image.Warnings != "" {
				t.Errorf("%s/%s %v: %v %s", typ, r.Name, tile, err, image.Warnings)
				continue
			}
			if k := image.Kernels[entry]; k.Registers < r.registers(tile)*3/4 && k.Spills == 0 {
				t.Errorf("%s/%s %v takes %d registers, estimated are %d", typ, r.Name, tile, k.Registers, r.registers(tile))
			}
		}
	}
}
