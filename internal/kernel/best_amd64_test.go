package kernel

import (
	"testing"

	"gemm/internal/cpu"
)

// TestFieldOf: a kernel uses no instruction that its set does not name.
func TestFieldOf(t *testing.T) {
	for _, test := range []struct {
		isa  cpu.ISA
		gfni bool
		want string
	}{
		{cpu.AVX512, true, "gfni512-24x64"},
		{cpu.AVX512, false, "avx2-4x64"},
		{cpu.AVX2, true, "gfni256-6x64"},
		{cpu.AVX2NoGFNI, true, "avx2-4x64"},
		{cpu.SSSE3, true, "ssse3-4x32"},
		{cpu.Generic, true, "go-8x8"},
	} {
		if got := fieldOf(test.isa, test.gfni).Name; got != test.want {
			t.Errorf("%s, GFNI %v: %s, want %s", test.isa, test.gfni, got, test.want)
		}
	}
}
