package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gemm/cuda/nvrtc"
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
	if err := json.Unmarshal([]byte(succeed(t, "", "cuda", "--explain", "--cc", "8.6", "--type", "f64", "--json", "-").stdout), &e); err != nil {
		t.Fatal(err)
	}
	if e.Capability != "8.6" || len(e.Rungs) != strings.Count(r.stdout, "\ncuda/") {
		t.Errorf("the document has %+v", e)
	}
	last := e.Rungs[len(e.Rungs)-1]
	if last.Variant != "cuda/dmma" || last.Threads != 256 || last.Registers == 0 || last.Shared != 74752 || last.Blocks != 1 || last.Intensity != 16 {
		t.Errorf("the last rung is %+v", last)
	}
}

func TestExplainRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"cuda --explain":                           "--cc is missing: wants the compute capability, one of 7.0,",
		"cuda --explain --cc 6.1":                  "--cc: ",
		"cuda --explain --cc 8.6 --type f16":       `--type "f16": the ladders are f32 and f64`,
		"cuda --explain --cc 8.6 --force":          "--force is for the file in --json FILE",
		"cuda --cc 8.6":                            "--cc is for --explain",
		"cuda --explain --cc 8.6 --stages 2":       "--stages is for measuring, which --explain does not",
		"cuda --explain --cc 8.6 --type f32,gf256": `--type "gf256"`,
	} {
		fail(t, "", statusUsage, want, strings.Fields(args)...)
	}
	file := filepath.Join(t.TempDir(), "there.json")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	fail(t, "", statusFailed, "is there already", "cuda", "--explain", "--cc", "8.6", "--json", file)
	failWith(t, "", []string{nvrtc.Variable + "=/nowhere"}, statusFailed, "no NVRTC among /nowhere", "cuda", "--explain", "--cc", "8.6")
}
