package kernels

import (
	"io/fs"
	"strings"
	"testing"

	"gemm/gemmtest"
)

// TestConstants has what sources may say, and what must fail: conditions without a value.
func TestConstants(t *testing.T) {
	const before = `
#ifndef BK
#define BK 8 // of a slice
#endif
#define HALF(x) (x / 2)
#define THREADS (BM / TM * \
	2)
#if __CUDA_ARCH__ >= 900
constexpr int depth = BK / 4;
#elif defined(OTHER)
constexpr int depth = 1;
#else
constexpr int depth = 3;
#endif
#define BLOCKS (THREADS > (BK > 8 ? 64 : 128) ? 1 : (BK > 8 ? 64 : 128) / THREADS)
`
	for _, test := range []struct{ assert, fails string }{
		{`static_assert(BM % TM == 0 && (BK <= 8 || BM < 0), "x");`, ""},
		{"static_assert(BM % TM == 1 ||\n    BK != 8,\n    \"a, b\");", "a, b: BM % TM == 1 || BK != 8, BM = 64, TM = 8, BK = 8"},
		{`static_assert(depth == 2 && BLOCKS == 8 && THREADS == 16, "x");`, ""},
		{`static_assert(BM / (BK - 8) != 1, "x");`, "x: BM / (BK - 8) != 1, BM = 64, BK = 8"},
		{`static_assert(!(BM % WM != 0), "x");`, "x: !(BM % WM != 0), BM = 64, WM = unknown"},
		{`static_assert(HALF(BM) == 32, "x");`, "x: HALF(BM) == 32, HALF = unknown, BM = 64"},
		{`static_assert(sizeof(float) == 4 * );`, ""}, // no assertion that is read, which TestAssertions finds
		{`static_assert(BM +* 2, "x");`, "x: BM +* 2, BM = 64"},
		{`static_assert((BM > 64) == (TM > 8), "x");`, ""},
		{`static_assert(BM && TM, "x");`, "x: BM && TM, BM = 64, TM = 8"},
		{`static_assert(BM, "x");`, "x: BM, BM = 64"},
	} {
		v := ConstantsOf(before + test.assert + "\n").Of(map[string]int{"BM": 64, "TM": 8, "__CUDA_ARCH__": 900})
		if v.Fails != test.fails {
			t.Errorf("%s fails with %q, want %q", test.assert, v.Fails, test.fails)
		}
	}
	for arch, want := range map[int]int{900: 2, 800: 3} {
		if n, ok := ConstantsOf(before).Of(map[string]int{"__CUDA_ARCH__": arch}).Int("depth"); n != want || !ok {
			t.Errorf("depth on %d is %d, want %d", arch, n, want)
		}
	}
	if n, ok := ConstantsOf(before).Of(nil).Int("THREADS"); ok {
		t.Errorf("there are %d threads of no tile", n)
	}
}

// TestAssertions checks that all assertions of all sources are read.
func TestAssertions(t *testing.T) {
	all, err := fs.Glob(files, "*/*.cu")
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	for _, file := range all {
		source, err := files.ReadFile(file)
		gemmtest.Must(t, err)
		read := 0
		for _, s := range ConstantsOf(string(source)) {
			if strings.Contains(s.kind, ": ") {
				read++
			}
		}
		if want := strings.Count(string(source), "static_assert"); read != want {
			t.Errorf("%s has %d assertions, of which %d are read: each begins a line and has a text", file, want, read)
		}
	}
}
