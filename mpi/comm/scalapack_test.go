//go:build mpi

package comm

import (
	"testing"

	"gemm/internal/cpu"
)

func TestBetterCore(t *testing.T) {
	wide := []cpu.ISA{cpu.AVX512, cpu.AVX2, cpu.AVX2NoGFNI, cpu.SSSE3, cpu.Generic}
	for _, test := range []struct {
		core      string
		sets      []cpu.ISA
		fullWidth bool
		want      string
	}{
		{"Prescott", wide, true, "SKYLAKEX"}, // older than the processor
		{"Haswell", wide, true, "SKYLAKEX"},
		{"Zen", wide, false, ""},
		{"SkylakeX", wide, true, ""},
		{"Cooperlake", wide, true, ""},
		{"SapphireRapids", wide, true, ""},
		{"Prescott", wide[2:], false, "HASWELL"},
		{"Haswell", wide[2:], false, ""},
		{"Nehalem", wide[3:], false, ""},
		{"", wide, true, ""}, // no OpenBLAS
	} {
		if got := betterCore(test.core, test.sets, test.fullWidth); got != test.want {
			t.Errorf("for %q on %v, full width %v: got %q, want %q", test.core, test.sets, test.fullWidth, got, test.want)
		}
	}
}
