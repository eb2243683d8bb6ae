package dl

import (
	"testing"

	"gemm/internal/cpu"
)

func TestBetterCore(t *testing.T) {
	avx2 := []cpu.ISA{cpu.AVX2NoGFNI, cpu.SSSE3, cpu.Generic}
	avx512 := append([]cpu.ISA{cpu.AVX512}, avx2...)
	for _, test := range []struct {
		core      string
		sets      []cpu.ISA
		fullWidth bool
		want      string
	}{
		{"SkylakeX", avx512, true, ""},
		{"Cooperlake", avx512, false, ""},
		{"Haswell", avx512, true, "SKYLAKEX"},
		{"Zen", avx512, false, ""},
		{"Prescott", avx512, true, "SKYLAKEX"},
		{"Prescott", avx512, false, "SKYLAKEX"},
		{"Prescott", avx2, false, "HASWELL"},
		{"Sandybridge", avx2, false, "HASWELL"},
		{"Haswell", avx2, false, ""},
		{"Prescott", []cpu.ISA{cpu.SSSE3, cpu.Generic}, false, ""},
		{"Haswell", avx512, false, ""},
		{"SapphireRapids", avx512, true, ""},
		{"Nehalem", []cpu.ISA{cpu.SSSE3, cpu.Generic}, false, ""},
		{"", avx512, true, ""}, // no OpenBLAS
		{"neoversen1", []cpu.ISA{cpu.Generic}, false, ""},
	} {
		if got := BetterCore(test.core, test.sets, test.fullWidth); got != test.want {
			t.Errorf("%s on %v, full width %v: %q, want %q", test.core, test.sets, test.fullWidth, got, test.want)
		}
	}
}
