package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gemm"
	"gemm/cuda"
	"gemm/cuda/nvrtc"
	"gemm/cuda/occupancy"
	"gemm/internal/gemmtest"
)

// TestExplain compiles the ladder of f64 for a GPU that has no room for one of its settings.
func TestExplain(t *testing.T) {
	_, err := nvrtc.Find()
	gemmtest.Require(t, "nvrtc", err)
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	r := succeed(t, "", "cuda", "--explain", "--cc", "8.6", "--type", "f64")
	for _, want := range []string{
		"cuda/packed-global  f64   16x16x16 ", "100.0%     threads, registers",
		"cuda/dmma           f64   128x128x16 warp 64x32 stages 3  -  ",
		"cannot be launched: 112128 bytes of shared memory a block, there can be 0 to 101376 (99 KiB) on 8.6: choose smaller tiles or fewer stages",
		"cuda/dmma           f64   128x128x16 warp 64x32 stages 2  256 ",
	} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("the table lacks %q:\n%s", want, r.stdout)
		}
	}
	if !strings.Contains(r.stderr, "compiles for sm_86\n") {
		t.Errorf("it says %q", r.stderr)
	}
	kept, err := filepath.Glob(filepath.Join(cache, "gemm", "cuda", "*.cubin"))
	if err != nil || len(kept) == 0 {
		t.Errorf("%d compiled kernels are kept, %v", len(kept), err)
	}
	var e explanation
	if err := json.Unmarshal([]byte(succeed(t, "", "cuda", "--explain", "--cc", "8.6", "--type", "f64", "--json", "-", "--sizes", "1000,64x32x100",
		"--multiprocessors", "46", "--gbps", "504", "--gflops", "f64=456,f64-tensor=456").stdout), &e); err != nil {
		t.Fatal(err)
	}
	table, _, _ := strings.Cut(r.stdout, "\nA block takes")
	if e.Capability != "8.6" || len(e.Rungs) != strings.Count(table, "\ncuda/") || e.Multiprocessors != 46 || e.Bandwidth != 504 || e.Peaks["f64-tensor"] != 456 {
		t.Errorf("the document has %+v", e)
	}
	for _, want := range []string{
		"cuda/conflictfree f64: shared memory read 16 bytes at a time without bank conflicts, two buffers.\n after cuda/smem: registers ",
		"C of 4096 by 4096, k = 4096:",
		"cuda/conflictfree f64 64x64x8 thread 4x4 4096 2.147 G 16.78 M 34.36 G 2.147 G 513 511 7.94\n",
		"cuda/dmma f64 128x128x16 warp 64x32 stages 2 8 B 2+0 8 B 2+0 16 B 4+0 16 B 4+0 0.09375\n",
		"cuda/dmma-wmma f64 64x64x16 warp 32x32 stages 3 - - 16 B 4+0 16 B 4+0 -\n",
	} {
		if !strings.Contains(squeeze(r.stdout), want) {
			t.Errorf("the output lacks %q:\n%s", want, r.stdout)
		}
	}
	i := slices.IndexFunc(e.Rungs, func(r explainedRow) bool {
		return r.Variant == "cuda/dmma" && r.Tile == "128x128x16 warp 64x32 stages 2"
	})
	if i < 0 {
		t.Fatalf("there is no dmma with two stages in %+v", e.Rungs)
	}
	if last := e.Rungs[i]; last.Threads != 256 || last.Registers == 0 || last.Shared != 74752 || last.Blocks != 1 || last.Intensity != 16 ||
		len(last.Products) != 2 || last.Products[1].K != 100 || last.Products[0].Waves != 2 || last.Products[0].Roofline != 456 {
		t.Errorf("dmma with two stages is %+v", last)
	}
}

// squeeze leaves one space of several, so that the widths of columns do not matter.
func squeeze(text string) string { return regexp.MustCompile(` +`).ReplaceAllString(text, " ") }

// compiler gives every kernel 64 registers.
type compiler struct{}

func (compiler) Version() string { return "13.0" }

func (compiler) Compile(p nvrtc.Program) (nvrtc.Image, error) {
	return nvrtc.Image{Kernels: map[string]nvrtc.Kernel{"gemm": {Registers: 64}}}, nil
}

// TestExplained wants the shapes, waves, rooflines, limits of registers and padding that are
// asked for in the rows and in the tables.
func TestExplained(t *testing.T) {
	task := explainTask{
		capability: occupancy.Capability{Major: 8}, rungs: cuda.Ladder("f64"),
		shapes:  []gemm.Shape{gemm.Cube(1000), {M: 64, N: 32, K: 100}},
		maxRegs: []int{0, 64}, pads: []int{cuda.NoPad, 1, 4},
		multiprocessors: 108, peaks: map[string]float64{"f64": 9700}, bandwidth: 1500,
	}
	rows, err := explained(t.Context(), compiler{}, task)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]explainedRow{}
	for _, row := range rows {
		if row.Reason == "" && len(row.Products) != 2 || row.MaxRegs != 0 {
			t.Errorf("%s %s: %d products, at most %d registers", row.Variant, row.Tile, len(row.Products), row.MaxRegs)
		}
		seen[row.Variant+" "+row.Tile] = row
	}
	naive := seen["cuda/naive 8x32"]
	if p := naive.Products[0]; p.GlobalReads != 2e9 || p.By != "memory" || !(math.Abs(p.Roofline-187.4) <= 0.1) || p.Waves != 10 || naive.Sectors != 9 || naive.Step == nil || naive.Step.After != "" {
		t.Errorf("naive has %+v", naive)
	}
	without, with := seen["cuda/conflictfree 64x64x8 thread 4x4 pad 0"], seen["cuda/conflictfree 64x64x8 thread 4x4 pad 4"]
	if len(without.Accesses) != 4 || without.Accesses[2].Conflict <= with.Accesses[2].Conflict || with.Step != nil || without.Step.After != "cuda/smem" {
		t.Errorf("padding: %+v and %+v", without, with)
	}
	if row := seen["cuda/conflictfree 64x64x8 thread 4x4 pad 1"]; row.Reason != "1 is no multiple of 2" {
		t.Errorf("padding of 1: %+v", row)
	}
	var b strings.Builder
	printProducts(&b, rows, 0, task)
	for _, want := range []string{
		"C of 1000 by 1000, k = 1000:",
		"cuda/naive f64 8x32 4000 2 G 1 M 0 0 0 0 0.12 10 92.6% 187 GFLOP/s memory\n",
		"cuda/dmma f64 128x128x16 warp 64x32 stages 2 64 16 M 1 M 49.55 M 16.52 M 64 62 14.71 1 29.6% - -\n",
		"times 1500 GB/s: ", "WAVES fill 108 multiprocessors",
	} {
		if !strings.Contains(squeeze(b.String()), want) {
			t.Errorf("the table lacks %q:\n%s", want, b.String())
		}
	}

	task.rungs = cuda.Ladder("f32")
	task.multiprocessors, task.peaks, task.bandwidth = 0, nil, 0
	if rows, err = explained(t.Context(), compiler{}, task); err != nil {
		t.Fatal(err)
	}
	limited := 0
	for i, row := range rows {
		if row.MaxRegs != 0 {
			limited++
			if before := rows[i-1]; row.MaxRegs != 64 || before.MaxRegs != 0 || before.Variant != row.Variant || before.Tile != row.Tile {
				t.Errorf("%+v after %+v", row, before)
			}
		}
	}
	want, tiles, accessing := 0, 0, 0
	for _, r := range task.rungs {
		n, reached := len(r.Tiles), len(r.Tiles)
		if r.Padded() {
			n, reached = 3*n, 2*n // without that of 1
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
	printProducts(&b, rows, 1, task)
	printBanks(&b, rows)
	if text := b.String(); strings.Contains(text, "maxregs") || strings.Contains(text, "WAVES") || strings.Contains(text, "ROOFLINE") || strings.Count(text, "\ncuda/") != tiles+accessing {
		t.Errorf("the tables repeat what limits do not change:\n%s", text)
	}
	b.Reset()
	printExplained(&b, rows)
	if text := b.String(); !strings.Contains(squeeze(text), "cuda/blocktile2d f32 128x128x8 thread 8x8 maxregs 64 ") {
		t.Errorf("the table lacks limits:\n%s", text)
	}
}

func TestAccesses(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 999: "999", 2147483648: "2.147 G", 16777216: "16.78 M", 1.5e21: "1500 E"} {
		if got := accesses(x); got != want {
			t.Errorf("%v is %q, want %q", x, got, want)
		}
	}
}

// TestExplainTiles needs no compiler.
func TestExplainTiles(t *testing.T) {
	args := []string{"cuda", "--explain", "--tiles", "--cc", "8.6"}
	r := start(t, "", []string{nvrtc.Variable + "=/nowhere"}, args...)
	if r.status != 0 {
		t.Fatal(r.stderr)
	}
	for _, want := range []string{
		"16x16 16 128x128x16/8x8 256 32768 16384 8 0.5 32768 2 33.3% yes\n",
		"32x32 8 256x256x8/8x8 1024 32768 65536 2 0.25 131072 0 0.0% no: 18, registers\n",
		"What is left are blocks of 8x8 and 16x16 threads.\n",
		"\n 17 two slices of A and B fit into the 48 KiB of a block\n",
		"cuda/doublebuffer f32 ",
	} {
		if !strings.Contains(squeeze(r.stdout), want) {
			t.Errorf("the output lacks %q:\n%s", want, r.stdout)
		}
	}
	var doc explainedTiles
	if err := json.Unmarshal([]byte(succeed(t, "", append(args, "--type", "f64", "--json", "-")...).stdout), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Tiles) != strings.Count(r.stdout, "/8x8  ") || len(doc.Constraints) != 6 || len(doc.Candidates) != 6 || len(doc.Candidates[5].Tiles) < 5 || doc.Tiles[0].Fails[0] != "22" {
		t.Errorf("the document has %+v", doc)
	}
}

func TestExplainRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"cuda --explain":                                          "--cc is missing: wants the compute capability, one of 7.0,",
		"cuda --explain --cc 6.1":                                 "--cc: ",
		"cuda --explain --cc 8.6 --type f16":                      `--type "f16": wants one or more of f32, f64, gf256`,
		"cuda --explain --cc 8.6 --type f32,f32":                  "f32 is there twice",
		"cuda --explain --cc 8.6 --sizes 4611686018427387904":     "wants at most 1073741823 of each",
		"cuda --explain --cc 8.6 --sizes 8x8x1073741824":          "wants at most 1073741823 of each",
		"cuda --explain --tiles --cc 8.6 --sizes 8":               "--tiles has no use for --sizes",
		"cuda --explain --cc 8.6 --force":                         "--force is for the file in --json FILE",
		"cuda --explain --cc 8.6 --type f32,gf512":                `--type "gf512"`,
		"cuda --explain --cc 8.6 --sizes 0":                       `--sizes "0"`,
		"cuda --explain --cc 8.6 --maxregs 8":                     "--maxregs 8: wants 0 or 16 to 255",
		"cuda --explain --cc 8.6 --maxregs x":                     `--maxregs "x"`,
		"cuda --explain --cc 8.6 --pad -4":                        "--pad -4: wants 0 or 1 to 64",
		"cuda --explain --cc 8.6 --multiprocessors 0":             "--multiprocessors 0: wants a positive integer",
		"cuda --explain --cc 8.6 --gbps 900":                      "--gflops and --gbps are the two lines of the roofline",
		"cuda --explain --cc 8.6 --gflops f32=1":                  "--gflops and --gbps are the two lines of the roofline",
		"cuda --explain --cc 8.6 --gbps NaN --gflops f32=1":       "--gbps NaN: wants a positive number",
		"cuda --explain --cc 8.6 --gbps 900 --gflops 67000":       `--gflops "67000": wants PIPE=RATE, the pipe one of f32, f64, tf32, f64-tensor`,
		"cuda --explain --cc 8.6 --gbps 900 --gflops f16=1":       `--gflops "f16=1"`,
		"cuda --explain --cc 8.6 --gbps 900 --gflops f32=NaN":     `--gflops "f32=NaN"`,
		"cuda --explain --cc 8.6 --gbps 900 --gflops f32=-1":      `--gflops "f32=-1"`,
		"cuda --explain --cc 8.6 --gbps 900 --gflops f32=1,f32=2": `--gflops "f32=2": f32 is there twice`,
		"cuda --explain --tiles --cc 8.6 --multiprocessors 3":     "--tiles has no use for --multiprocessors",
		"cuda --explain --tiles":                                  "--cc is missing",
	} {
		fail(t, "", statusUsage, want, strings.Fields(args)...)
	}
	file := filepath.Join(t.TempDir(), "there.json")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	fail(t, "", statusFailed, "is there already", "cuda", "--explain", "--cc", "8.6", "--json", file)
	failWith(t, "", []string{nvrtc.Variable + "=/nowhere"}, statusFailed, "GEMM_NVRTC=/nowhere: ", "cuda", "--explain", "--cc", "8.6")
}
