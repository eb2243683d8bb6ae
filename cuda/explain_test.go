package cuda

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"gemm"
	"gemm/cuda/nvrtc"
	"gemm/gemmtest"
	"gemm/internal/occupancy"
)

// compiler says the same of every program, and records the options of the last.
type compiler struct {
	name    string // of the kernel
	kernel  nvrtc.Kernel
	options *[]string
}

func (compiler) Version() string { return "13.0" }

func (c compiler) Compile(p nvrtc.Program) (nvrtc.Image, error) {
	if c.options != nil {
		*c.options = p.Options
	}
	return nvrtc.Image{Code: []byte("code"), Kernels: map[string]nvrtc.Kernel{c.name: c.kernel}}, nil
}

// rung returns the rung of that name.
func rung(t *testing.T, typ, name string) Rung {
	t.Helper()
	r, err := RungNamed(name, typ)
	gemmtest.Must(t, err)
	return r
}

// TestExplain compares with figures that were computed by hand, for the report's setting of 16×16
// threads and slices of 16. It fills a third of a multiprocessor of compute capability 8.6.
func TestExplain(t *testing.T) {
	ampere := occupancy.Capability{Major: 8, Minor: 6}
	for _, test := range []struct {
		typ, name               string
		registers, shared       int // as the compiler says
		tile, blocks            int
		global, block, flopByte float64
		bytes                   int
	}{
		{"f32", "naive", 32, 0, 0, 1, 2, 0, 0.25, 0},
		{"f32", "smem", 32, 8192, 0, 1, 1. / 16, 2, 8, 8192},
		{"f32", "blocktile1d", 52, 4096, 0, 2, 1. / 32, 1.125, 16, 4096},
		{"f32", "blocktile2d", 128, 16384, 1, 2, 1. / 64, 0.25, 32, 16384},
		{"f32", "tuned", 127, 0, 1, 2, 1. / 64, 0.25, 32, 4 * 3 * 16 * (128 + 4 + 128)},
		{"f64", "packed-global", 27, 0, 0, 16, 2, 0, 0.125, 0},
		{"f64", "tuned", 222, 0, 0, 0, 1. / 64, 1./64 + 1./32, 16, 0},
	} {
		r := rung(t, test.typ, test.name)
		e, err := Explain(compiler{name: entry, kernel: nvrtc.Kernel{Registers: test.registers, Shared: test.shared}}, r,
			r.Tiles[test.tile], 0, ampere)
		if test.typ == "f64" && test.name == "tuned" { // 112128 bytes of shared memory, where a block may have 101376
			if !errors.Is(err, occupancy.ErrKernel) {
				t.Errorf("tuned in f64 on 8.6: %v", err)
			}
			continue
		}
		gemmtest.Must(t, err)
		if e.Blocks != test.blocks || e.Global != test.global || e.Block != test.block || e.Intensity != test.flopByte ||
			e.Kernel.Shared != test.bytes {
			t.Errorf("%s of %s: %d blocks, %v and %v reads, %v flop a byte, %d bytes", test.name, test.typ, e.Blocks, e.Global,
				e.Block, e.Intensity, e.Kernel.Shared)
		}
	}
}

func TestExplainErrors(t *testing.T) {
	r := rung(t, "f64", "tuned")
	_, err := Explain(compiler{name: entry}, r, r.Tiles[0], 0, occupancy.Capability{Major: 7, Minor: 5})
	if want := "needs compute capability 8.0"; !errors.Is(err, gemm.ErrUnavailable) ||
		err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
	r = rung(t, "f32", "naive")
	if _, err := Explain(compiler{name: "other"}, r, r.Tiles[0], 0, occupancy.Capability{Major: 8}); err == nil {
		t.Error("a file without the kernel passes")
	}
}

// TestExplainLimited checks that limits of registers and padding reach the compiler, and that a
// tile that the kernel cannot have is refused before.
func TestExplainLimited(t *testing.T) {
	var options []string
	c := compiler{entry, nvrtc.Kernel{Registers: 64}, &options}
	capability := occupancy.Capability{Major: 8}
	r := rung(t, "f32", "conflictfree")
	for _, test := range []struct {
		pad, maxRegs int
		want, not    string
	}{
		{0, 0, "-DBM=128", "-DPAD"},
		{0, 64, "-DBLOCKS=4", "-DPAD"},
		{0, 96, "-DBLOCKS=3", "-DPAD"}, // 85 registers; 2 would be 128
		{0, 255, "-DBLOCKS=2", "-DPAD"},
		{8, 0, "-DPAD=8", "-DBLOCKS"},
		{NoPad, 0, "-DPAD=0", "-DBLOCKS"},
	} {
		tile := r.Tiles[0]
		tile.Pad = test.pad
		e, err := Explain(c, r, tile, test.maxRegs, capability)
		gemmtest.Must(t, err)
		if all := strings.Join(options, " "); !strings.Contains(all, test.want) || strings.Contains(all, test.not) ||
			strings.Contains(all, "PAD=-") {
			t.Errorf("padding %d, at most %d registers: options %s", test.pad, test.maxRegs, all)
		}
		if conflicts := e.Accesses[2].Conflict; (conflicts > 0) != (test.pad == NoPad || test.pad == 8) ||
			e.MaxRegs != test.maxRegs {
			t.Errorf("padding %d: %+v", test.pad, e.Accesses[2])
		}
	}
	tile := r.Tiles[0]
	tile.Pad = 2
	if _, err := Explain(c, r, tile, 0, capability); !errors.As(err, new(TileError)) {
		t.Errorf("padding of 2: %v", err)
	}
	for _, test := range []struct {
		typ, name string
		padded    bool
	}{{"f32", "conflictfree", true}, {"f32", "doublebuffer", true}, {"f64", "conflictfree", true},
		{"f32", "multistage", false},
		{"f32", "vectorized", false}} {
		if rung(t, test.typ, test.name).Padded() != test.padded {
			t.Errorf("%s/%s can be padded: %v", test.typ, test.name, !test.padded)
		}
	}
}

// TestSteps checks that every rung has a sentence.
func TestSteps(t *testing.T) {
	for _, typ := range gemm.TypeNames() {
		for _, r := range Ladder(typ) {
			says := r.Step()
			if !strings.HasPrefix(r.source(), "// "+r.Name+": ") || !strings.HasSuffix(says, ".") || len(says) > 160 ||
				strings.Contains(says, "//") {
				t.Errorf("%s/%s: %q", typ, r.Name, says)
			}
		}
	}
}

func TestChanges(t *testing.T) {
	explain := func(name string, registers int) Explanation {
		r := rung(t, "f32", name)
		e, err := Explain(compiler{name: entry, kernel: nvrtc.Kernel{Registers: registers}}, r, r.Tiles[0], 0,
			occupancy.Capability{Major: 8})
		gemmtest.Must(t, err)
		return e
	}
	from, to := explain("conflictfree", 128), explain("doublebuffer", 127)
	if got := Changes(from, to); !slices.Equal(got, []Change{{"registers", 128, 127}, {"barriers a slice", 2, 1}}) {
		t.Errorf("the changes are %+v", got)
	}
	if got := Changes(explain("naive", 32), explain("coalesced", 32)); !slices.Equal(got,
		[]Change{{"sectors a k", 33, 5}}) {
		t.Errorf("the changes are %+v", got)
	}
	for _, change := range Changes(explain("tuned", 127), explain("tuned-tf32-mma", 255)) {
		if change.Figure == "passes" {
			t.Errorf("what wmma reads is not known, here it is %v", change.To)
		}
	}
	if got := Changes(from, from); got != nil {
		t.Errorf("a rung differs from itself: %+v", got)
	}
}
