package cuda

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gemm"
	"gemm/cuda/kernels"
	"gemm/cuda/nvrtc"
	"gemm/gemmtest"
)

var update = flag.Bool("update", false, "write the table of registers of this host's NVRTC")

// archs are the compute capabilities that every kernel is compiled for, if the compiler knows them.
var archs = []int{75, 80, 86, 89, 90}

// TestLadder checks that every folder has a source for each of its rungs, that a rung changes one before it, and that
// its settings fit in a block and in the registers of any GPU.
func TestLadder(t *testing.T) {
	files := map[string]bool{}
	for _, typ := range gemm.TypeNames() {
		before := map[string]bool{"": true}
		for _, r := range Ladder(typ) {
			file, _, err := kernels.Source(typ, r.Name)
			if err != nil || before[r.Name] || !before[r.Parent] && !strings.Contains(r.Parent, "/") {
				t.Errorf("%s: %s after %v: %v", typ, r.Name, before, err)
			}
			files[file], before[r.Name] = true, true
			if len(r.Tiles) == 0 || r.Reads == nil {
				t.Errorf("%s: %s has no settings, or reads nothing", typ, r.Name)
			}
			for _, tile := range r.Tiles {
				if n := r.Threads(tile); n < 32 || n > 1024 || n%32 != 0 {
					t.Errorf("%s: %s %v has %d threads", typ, r.Name, tile, n)
				}
			}
		}
	}
	have, err := filepath.Glob(filepath.Join("kernels", "*", "*.cu"))
	if err != nil || len(have) != len(files) {
		t.Errorf("%d rungs have files of %v, %v", len(files), have, err)
	}
}

// caching returns the NVRTC of this host. What it has compiled is kept where gemm-cuda keeps it.
func caching(t *testing.T) *nvrtc.Cache {
	t.Helper()
	l, err := nvrtc.Find()
	gemmtest.Require(t, "nvrtc", err)
	folder, err := nvrtc.Folder()
	if err != nil {
		folder = t.TempDir()
	}
	return &nvrtc.Cache{Compiler: l, Folder: folder}
}

// everything says whether all settings of all rungs are compiled, which takes minutes.
var everything = os.Getenv("GEMM_TEST_KERNELS") == "all"

// TestKernels compiles every rung: its first settings for one architecture, which changes from rung to rung, and its
// last settings, which are small, for other operands. With GEMM_TEST_KERNELS=all, which make slow-tests sets, it
// compiles them for every architecture, and all settings for two. There must be no warning, and no more shared memory
// than a block may have. Registers and spills are compared with the table of this version of NVRTC.
func TestKernels(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long, and nothing here runs at the same time")
	}
	l := caching(t)
	all := everything || *update
	got := map[string]string{}
	for _, typ := range gemm.TypeNames() {
		for at, r := range Ladder(typ) {
			mine := slices.DeleteFunc(slices.Clone(archs), func(arch int) bool {
				return arch < r.Least || typ == "bf16" && arch != 90
			})
			last := len(r.Tiles) - 1
			if typ == "bf16" {
				last = 0
			}
			for i, tile := range r.Tiles[:last+1] {
				for _, arch := range mine {
					if i > 0 && arch != 80 && arch != 90 {
						continue
					}
					if all || i == 0 && arch == mine[at%len(mine)] {
						compile(t, l, r, tile, r.Widest(), arch, got)
					}
					if !all && i < last {
						continue
					}
					if r.Copies && arch == 80 {
						compile(t, l, r, tile, Widths{A: 1, B: 1, C: 1}, arch, got)
					}
					if r.Batches && arch == 90 {
						batch := Plan{Rung: r, Tile: tile, Widths: r.Widest(), Batch: 2}
						compilePlan(t, l, batch, fmt.Sprintf("%s/%s %v batch sm_%d", r.Type, r.Name, tile, arch), arch,
							got)
					}
					if r.Splits && arch == 90 {
						cut := Plan{Rung: r, Tile: tile, Widths: r.Widest(), Tail: Tail{Blocks: 1}}
						compilePlan(t, l, cut, fmt.Sprintf("%s/%s %v cut sm_%d", r.Type, r.Name, tile, arch), arch, got)
						if r.Turns {
							cut.Shape = gemm.Shape{M: 2, N: 1, K: 1}
							compilePlan(t, l, cut, fmt.Sprintf("%s/%s %v tall sm_%d", r.Type, r.Name, tile, arch), arch, got)
						}
						if three := r.three("tuned"); r.Turns && i > 0 && i <= len(three.Tiles) {
							cut.Rung, cut.Tile = three, three.Tiles[i-1]
							compilePlan(t, l, cut, fmt.Sprintf("%s/%s %v three sm_%d", r.Type, r.Name, cut.Tile, arch), arch,
								got)
						}
					}
				}
			}
		}
	}
	for _, rows := range []int{1, 4} { // parities of codes
		r := rung(t, "gf256", "tuned")
		compile(t, l, r, r.Fit(r.Tiles[0], gemm.Shape{M: rows, N: 1 << 24, K: 10}), r.Widest(), 90, got)
	}
	file := filepath.Join("testdata", "registers-"+l.Version()+".txt")
	if *update {
		var lines []string
		for _, key := range slices.Sorted(maps.Keys(got)) {
			lines = append(lines, key+": "+got[key]+"\n")
		}
		gemmtest.Must(t, os.WriteFile(file, []byte(strings.Join(lines, "")), 0o600))
	}
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		t.Logf("there is no table of NVRTC %s", l.Version())
		return
	}
	gemmtest.Must(t, err)
	want := map[string]string{}
	for line := range strings.Lines(string(data)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		want[key] = value
	}
	tabled := map[string]bool{} // rungs; one that the table lacks is new
	of := func(key string) string { name, _, _ := strings.Cut(key, " "); return name }
	for key := range want {
		tabled[of(key)] = true
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if tabled[of(key)] && !alike(got[key], want[key]) {
			t.Errorf("%s: %s, the table has %q (-update writes it)", key, got[key], want[key])
		}
		delete(want, key)
	}
	if !all {
		return
	}
	for key := range want {
		t.Errorf("%s is in the table and no longer compiled", key)
	}
}

// oldest is the oldest version of NVRTC that is supported.
const oldest = "11.8"

// fewMore is the tolerance of the register count. ptxas may choose differently, by up to six, and
// registers are allocated in units of eight.
const fewMore = 8

// alike compares two lines of the table.
func alike(got, want string) bool {
	const format = "%d registers, %d bytes spilled, %d bytes shared"
	var a, b nvrtc.Kernel
	_, errA := fmt.Sscanf(got, format, &a.Registers, &a.Spills, &a.Shared)
	_, errB := fmt.Sscanf(want, format, &b.Registers, &b.Spills, &b.Shared)
	return errA == nil && errB == nil && max(a.Registers-b.Registers, b.Registers-a.Registers) <= fewMore &&
		a.Spills == b.Spills && a.Shared == b.Shared
}

func TestAlike(t *testing.T) {
	const line = "100 registers, 0 bytes spilled, 8192 bytes shared"
	for other, want := range map[string]bool{
		line: true,
		"108 registers, 0 bytes spilled, 8192 bytes shared": true,
		"92 registers, 0 bytes spilled, 8192 bytes shared":  true,
		"109 registers, 0 bytes spilled, 8192 bytes shared": false,
		"100 registers, 4 bytes spilled, 8192 bytes shared": false,
		"100 registers, 0 bytes spilled, 8448 bytes shared": false,
		"": false,
	} {
		if got := alike(other, line); got != want {
			t.Errorf("%q is alike: %v, want %v", other, got, want)
		}
	}
}

// compile compiles one kernel and stores the resources that it needs.
func compile(t *testing.T, l *nvrtc.Cache, r Rung, tile Tile, w Widths, arch int, to map[string]string) {
	t.Helper()
	what := fmt.Sprintf("%s/%s %v by %d sm_%d", r.Type, r.Name, tile, w.A, arch)
	compilePlan(t, l, Plan{Rung: r, Tile: tile, Widths: w}, what, arch, to)
}

// compilePlan compiles the kernel of a plan and stores what it needs under a name.
func compilePlan(t *testing.T, l *nvrtc.Cache, plan Plan, what string, arch int, to map[string]string) {
	t.Helper()
	r, tile := plan.Rung, plan.Tile
	image, err := l.Compile(plan.Program(arch))
	if errors.Is(err, gemm.ErrUnavailable) {
		t.Logf("%s: %v", what, err)
		return
	}
	if err != nil {
		t.Error(err)
		return
	}
	if image.Warnings != "" {
		t.Errorf("%s: %s", what, image.Warnings)
	}
	k, ok := image.Kernels["gemm"]
	if !ok {
		t.Errorf("%s: there is no kernel gemm among %v", what, slices.Collect(maps.Keys(image.Kernels)))
		return
	}
	if threads := r.Threads(tile); k.Registers > 255 || (k.Registers+7)/8*8*threads > 1<<16 {
		t.Errorf("%s: %d registers of %d threads are more than there are", what, k.Registers, threads)
	}
	if k.Shared > 48<<10 {
		t.Errorf("%s: %d bytes of shared memory", what, k.Shared)
	}
	if tile == r.Tiles[0] && k.Spills > 0 && l.Version() != oldest { // its table says what it spills
		t.Errorf("%s: %d bytes are spilled", what, k.Spills)
	}
	to[what] = fmt.Sprintf("%d registers, %d bytes spilled, %d bytes shared", k.Registers, k.Spills,
		k.Shared+r.Shared(tile))
}
