package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gemm/cuda/explain"
	"gemm/cuda/nvrtc"
	"gemm/gemmtest"
)

// TestExplain compiles the ladder of f64 for a GPU that has no room for one of its settings.
func TestExplain(t *testing.T) {
	t.Parallel()
	_, err := nvrtc.Find()
	gemmtest.Require(t, "nvrtc", err)
	cache := t.TempDir()
	variables := []string{"XDG_CACHE_HOME=" + cache}
	r := start(t, "", variables, "cuda", "--explain", "--cc", "8.6", "--type", "f64")
	for _, want := range []string{
		"cuda/packed-global        f64   16x16x16 ", "100.0%     threads, registers",
		"cuda/tuned                f64   128x128x16 warp 64x32 stages 3   -  ",
		"cannot be launched: 112128 bytes of shared memory a block, there can be 0 to 101376 (99 KiB) on 8.6: choose smaller tiles or fewer stages",
		"cuda/tuned                f64   128x128x16 warp 64x32 stages 2   256 ",
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
	var e explain.Document
	decode(t, start(t, "", variables, "cuda", "--explain", "--cc", "8.6", "--type", "f64", "--json", "-",
		"--sizes", "1000,64x32x100",
		"--multiprocessors", "46").stdout, &e)
	table, _, _ := strings.Cut(r.stdout, "\nA block takes")
	if e.Capability != "8.6" || len(e.Rungs) != strings.Count(table, "\ncuda/") || e.Multiprocessors != 46 {
		t.Errorf("the document has %+v", e)
	}
	for _, want := range []string{
		"cuda/conflictfree f64: shared memory read 16 bytes at a time without bank conflicts, two buffers.\n after " +
			"cuda/transposed: registers ",
		"C of 4096 by 4096, k = 4096:",
		"cuda/conflictfree f64 64x64x8 thread 4x4 4096 2.147 G 16.78 M 34.36 G 2.147 G 513 511 7.94\n",
		"cuda/tuned f64 128x128x16 warp 64x32 stages 2 8 B 2+0 8 B 2+0 16 B 4+0 16 B 4+0 0.09375\n",
		"cuda/dmma-async f64 64x64x16 warp 32x32 stages 3 - - 16 B 4+0 16 B 4+0 -\n",
	} {
		if !strings.Contains(squeeze(r.stdout), want) {
			t.Errorf("the output lacks %q:\n%s", want, r.stdout)
		}
	}
	i := slices.IndexFunc(e.Rungs, func(r explain.Row) bool {
		return r.Variant == "cuda/tuned" && r.Tile == "128x128x16 warp 64x32 stages 2"
	})
	if i < 0 {
		t.Fatalf("there is no tuned with two stages in %+v", e.Rungs)
	}
	if last := e.Rungs[i]; last.Threads != 256 || last.Registers == 0 || last.Shared != 74752 || last.Blocks != 1 ||
		last.Intensity != 16 ||
		len(last.Products) != 2 || last.Products[1].K != 100 || last.Products[0].Waves != 2 {
		t.Errorf("tuned with two stages is %+v", last)
	}
}

// squeeze leaves one space of several, so that the widths of columns do not matter.
func squeeze(text string) string { return regexp.MustCompile(` +`).ReplaceAllString(text, " ") }

// TestExplainTiles needs no compiler.
func TestExplainTiles(t *testing.T) {
	t.Parallel()
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
	var doc explain.Tiles
	if err := json.Unmarshal([]byte(succeed(t, "", append(args, "--type", "f64", "--json", "-")...).stdout),
		&doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Tiles) != strings.Count(r.stdout, "/8x8  ") || len(doc.Constraints) != 6 || len(doc.Candidates) != 17 ||
		len(doc.Candidates[14].Tiles) < 5 || doc.Tiles[0].Fails[0] != "22" {
		t.Errorf("the document has %+v", doc)
	}
}

func TestExplainWithoutCompiler(t *testing.T) {
	failWith(t, "", []string{nvrtc.Variable + "=/nowhere"}, statusFailed, "GEMM_NVRTC=/nowhere: ", "cuda", "--explain",
		"--cc", "8.6")
}
