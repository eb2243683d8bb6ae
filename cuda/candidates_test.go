package cuda

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gemm"
	"gemm/cuda/nvrtc"
	"gemm/gemmtest"
	"gemm/internal/occupancy"
)

var hopper = occupancy.Capability{Major: 9}

// draw returns one of the rung's settings with other numbers, some of which fit each other.
func draw(r Rung, random *rand.Rand) Tile {
	t := r.Tiles[random.IntN(len(r.Tiles))]
	for _, n := range []*int{&t.BM, &t.BN, &t.BK, &t.TM, &t.TN, &t.WM, &t.WN, &t.Stages} {
		switch random.IntN(8) {
		case 0:
			*n = (*n + 1) / 2
		case 1:
			*n *= 2
		case 2:
			*n += *n / 2
		case 3:
			*n *= 8
		}
	}
	if strings.Contains(r.source(), "#ifndef MMA_K") {
		t.MMAK = []int{0, 4, 8, 16}[random.IntN(4)]
	}
	if r.Padded() && random.IntN(3) == 0 {
		t.Pad = 1 + random.IntN(8)
	}
	return t
}

// assertion is a static_assert of a kernel's source, with its condition.
var assertion = regexp.MustCompile(`(?s)\nstatic_assert\((.*?),\s*"[^"]*"\);\n`)

// assertionsOf returns the source of the rung up to its last static_assert.
func assertionsOf(t *testing.T, r Rung) string {
	t.Helper()
	source := r.source()
	last := strings.LastIndex(source, "\nstatic_assert")
	end := strings.Index(source[last:], ");\n")
	if last < 0 || end < 0 {
		t.Fatalf("%s has no assertions", r.Name)
	}
	return source[:last+end+3]
}

// holding returns, for each of up to eight programs, whether the assertions in the source hold with its options. All
// are compiled at once: each in a namespace, with conditions in place of assertions. The shared memory of the kernel
// says which hold. Where a condition has no value, such as a division by zero, they are compiled one by one.
func holding(t *testing.T, l *nvrtc.Library, source string, programs []nvrtc.Program) []bool {
	t.Helper()
	var all, sum strings.Builder
	macro := regexp.MustCompile(`(?m)^\s*#\s*define (\w+)`)
	for at, p := range programs {
		names := map[string]bool{}
		for _, option := range p.Options {
			if text, ok := strings.CutPrefix(option, "-D"); ok {
				name, value, valued := strings.Cut(text, "=")
				if !valued {
					value = "1"
				}
				names[name] = true
				fmt.Fprintf(&all, "#define %s %s\n", name, value)
			}
		}
		for _, found := range macro.FindAllStringSubmatch(source, -1) {
			names[found[1]] = true
		}
		conditions := 0
		body := "\n" + strings.ReplaceAll(source, "\nstatic_assert", "\n\nstatic_assert")
		body = assertion.ReplaceAllStringFunc(body, func(text string) string {
			conditions++
			return fmt.Sprintf("\nconstexpr bool holds%d = (%s);\n", conditions, assertion.FindStringSubmatch(text)[1])
		})
		if conditions == 0 || strings.Contains(body, "static_assert(") {
			t.Fatalf("%s has assertions that are read otherwise", p.Name)
		}
		fmt.Fprintf(&all, "namespace setting%d {%s\nconstexpr int mask = ", at, body)
		for i := range conditions {
			fmt.Fprintf(&all, "holds%d && ", i+1)
		}
		fmt.Fprintf(&all, "true ? %d : 0;\n}\n", 1<<at)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			fmt.Fprintf(&all, "#undef %s\n", name)
		}
		fmt.Fprintf(&sum, " + setting%d::mask", at)
	}
	together := programs[0]
	together.Options = nil
	together.Source = all.String() + fmt.Sprintf(`extern "C" __global__ void gemm(volatile char *x) {
	__shared__ volatile char said[1%s];
	said[threadIdx.x] = x[0];
	x[1] = said[0];
}
`, sum.String())
	out := make([]bool, len(programs))
	image, err := l.Compile(together)
	for at, p := range programs {
		if err == nil {
			out[at] = (image.Kernels["gemm"].Shared-1)>>at&1 == 1
			continue
		}
		p.Source = source + "extern \"C\" __global__ void gemm() {}\n"
		_, err := l.Compile(p)
		out[at] = err == nil
	}
	return out
}

// TestCheck compares what Check reads in the source with what the compiler says, for many settings; some hold and some
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
			var programs []nvrtc.Program
			var checked []error
			for tries := 0; (want[true] > 0 || want[false] > 0) && tries < 100000; tries++ {
				tile, widths := draw(r, random), r.Widest()
				if r.Copies {
					widths = Widths{A: 1 << random.IntN(3), B: 1 << random.IntN(3), C: 1}
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
				checked = append(checked, err)
				programs = append(programs, r.Program(tile, widths, 90))
			}
			for at, holds := range holding(t, l, source, programs) {
				if holds != (checked[at] == nil) {
					t.Errorf("%s/%s %q: Check says %v, of the assertions it is %t that they hold", typ, r.Name,
						programs[at].Options, checked[at], holds)
				}
			}
			if want[true] > 0 || want[false] > each-2 {
				t.Errorf("%s/%s: %d settings that hold and %d that do not are missing", typ, r.Name, want[true], want[false])
			}
		}
	}
}

// TestCheckEmpty checks that a setting without a number, or with a negative one, is refused: a kernel's own default would
// be used. The threads of a rung's settings agree with its source.
func TestCheckEmpty(t *testing.T) {
	for _, typ := range gemm.TypeNames() {
		for _, r := range Ladder(typ) {
			if err := r.Check(Tile{}, r.Widest()); !errors.As(err, new(TileError)) {
				t.Errorf("%s/%s without a tile: %v", typ, r.Name, err)
			}
			negative := r.Tiles[0]
			negative.BM, negative.BN = -negative.BM, -negative.BN
			if err := r.Check(negative, r.Widest()); !errors.As(err, new(TileError)) {
				t.Errorf("%s/%s %v: %v", typ, r.Name, negative, err)
			}
			for _, tile := range append(r.Tiles, r.Small...) {
				if err := r.Check(tile, r.Widest()); err != nil {
					t.Error(err)
				}
				n, ok := r.values(tile, r.Widest()).Int("THREADS")
				if ok == r.AtLaunch || ok && n != r.Threads(tile) {
					t.Errorf("%s/%s %v has %d threads, its source %d", typ, r.Name, tile, r.Threads(tile), n)
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
		gemmtest.Must(t, err)
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
					for _, w := range []Widths{r.Widest(), {A: 1, B: 1, C: 1}} {
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
				if r.Tiles[0].BK != 0 && !r.Packs() && (r.Size() > 1 || r.Rows != nil) && !r.Mapped() &&
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
		t.Skip("takes long: make slow-tests ONLY=kernels runs it")
	}
	l := caching(t)
	for _, typ := range gemm.TypeNames() {
		for _, r := range Ladder(typ) {
			tiles := r.Candidates(hopper)
			tile := tiles[len(tiles)/2]
			image, err := l.Compile(r.Program(tile, r.Widest(), 90))
			if err != nil || image.Warnings != "" {
				t.Errorf("%s/%s %v: %v %s", typ, r.Name, tile, err, image.Warnings)
				continue
			}
			if k := image.Kernels[entry]; k.Registers < r.Registers(tile)*3/4 && k.Spills == 0 {
				t.Errorf("%s/%s %v takes %d registers, estimated are %d", typ, r.Name, tile, k.Registers, r.Registers(tile))
			}
		}
	}
}
