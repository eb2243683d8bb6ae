package explain

import (
	"regexp"
	"strings"
	"testing"

	"gemm"
	"gemm/cuda"
	"gemm/cuda/nvrtc"
	"gemm/gemmtest"
	"gemm/internal/occupancy"
)

// squeeze leaves one space of several, so that the widths of columns do not matter.
func squeeze(text string) string { return regexp.MustCompile(` +`).ReplaceAllString(text, " ") }

// compiler gives every kernel 64 registers.
type compiler struct{}

func (compiler) Version() string { return "13.0" }

func (compiler) Compile(p nvrtc.Program) (nvrtc.Image, error) {
	return nvrtc.Image{Kernels: map[string]nvrtc.Kernel{"gemm": {Registers: 64}}}, nil
}

// TestExplained checks that the shapes, waves, limits of registers and padding that the
// command line sets are in the rows and tables.
func TestExplained(t *testing.T) {
	task := Task{
		Capability: occupancy.Capability{Major: 8}, Rungs: cuda.Ladder("f64"),
		Shapes:  []gemm.Shape{gemm.Cube(1000), {M: 64, N: 32, K: 100}},
		MaxRegs: []int{0, 64}, Pads: []int{cuda.NoPad, 1, 4},
		Multiprocessors: 108,
	}
	doc, err := Rungs(t.Context(), compiler{}, task)
	gemmtest.Must(t, err)
	seen := map[string]Row{}
	for _, row := range doc.Rungs {
		if row.Reason == "" && len(row.Products) != 2 || row.MaxRegs != 0 {
			t.Errorf("%s %s: %d products, at most %d registers", row.Variant, row.Tile, len(row.Products), row.MaxRegs)
		}
		seen[row.Variant+" "+row.Tile] = row
	}
	coalesced := seen["cuda/coalesced 16x16"]
	if p := coalesced.Products[0]; p.GlobalReads != 2e9 || p.Waves != 10 || coalesced.Sectors != 6 || coalesced.Step == nil ||
		coalesced.Step.After != "cuda/naive" {
		t.Errorf("coalesced has %+v", coalesced)
	}
	without, with := seen["cuda/conflictfree 64x64x8 thread 4x4 pad 0"], seen["cuda/conflictfree 64x64x8 thread 4x4 pad 4"]
	if len(without.Accesses) != 4 || without.Accesses[2].Conflict <= with.Accesses[2].Conflict || with.Step != nil ||
		without.Step.After != "cuda/transposed" {
		t.Errorf("padding: %+v and %+v", without, with)
	}
	if row := seen["cuda/conflictfree 64x64x8 thread 4x4 pad 1"]; !strings.HasSuffix(row.Reason, "PAD % 2 == 0, PAD = 1") {
		t.Errorf("padding of 1: %+v", row)
	}
	var b strings.Builder
	doc.Print(&b)
	for _, want := range []string{
		"C of 1000 by 1000, k = 1000:",
		"cuda/coalesced f64 16x16 3969 2 G 1 M 0 0 0 0 0.12 10 91.9%\n",
		"cuda/tuned f64 128x128x16 warp 64x32 stages 2 64 16 M 1 M 49.55 M 16.52 M 64 62 14.71 1 29.6%\n",
		"WAVES fill 108 multiprocessors",
		"The last wave, by the cost model:", "cuda/tuned f64 128x128x16 warp 64x32 stages 3 ", " of 64 tiles over ",
	} {
		if !strings.Contains(squeeze(b.String()), want) {
			t.Errorf("the table lacks %q:\n%s", want, b.String())
		}
	}

	task.Rungs = cuda.Ladder("f32")
	task.Multiprocessors = 0
	doc, err = Rungs(t.Context(), compiler{}, task)
	gemmtest.Must(t, err)
	limited := 0
	for i, row := range doc.Rungs {
		if row.MaxRegs != 0 {
			limited++
			if before := doc.Rungs[i-1]; row.MaxRegs != 64 || before.MaxRegs != 0 || before.Variant != row.Variant ||
				before.Tile != row.Tile {
				t.Errorf("%+v after %+v", row, before)
			}
		}
	}
	want, tiles, accessing := 0, 0, 0
	for _, r := range task.Rungs {
		if r.Runs(80) != nil {
			continue
		}
		n, reached := len(r.Tiles), len(r.Tiles)
		if r.Padded() {
			n, reached = 3*n, 2*n // without the speed of 1
		}
		if r.Capped {
			want += n
		}
		tiles += reached
		if len(r.Accesses(r.Tiles[0], r.Widest())) > 0 {
			accessing += reached
		}
	}
	if limited != want || want == 0 {
		t.Errorf("%d settings are limited, want %d", limited, want)
	}
	b.Reset()
	doc.Print(&b)
	text := squeeze(b.String())
	if !strings.Contains(text, "cuda/blocktile2d f32 128x128x8 thread 8x8 maxregs 64 ") {
		t.Errorf("the table lacks limits:\n%s", text)
	}
	_, text, _ = strings.Cut(text, "C of 64 by 32, k = 100:")
	if strings.Contains(text, "maxregs") || strings.Contains(text, "WAVES") || strings.Contains(text, "ROOFLINE") ||
		strings.Count(text, "\ncuda/") != tiles+accessing {
		t.Errorf("the tables repeat what limits do not change:\n%s", text)
	}
}
