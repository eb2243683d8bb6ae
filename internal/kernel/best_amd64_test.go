package kernel

import (
	"slices"
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

// TestCopiesOfAVX512: the copies that go with kernels for AVX-512 need AVX2 alone.
func TestCopiesOfAVX512(t *testing.T) {
	if !slices.Contains(cpu.Supported(), cpu.AVX2NoGFNI) {
		t.Skip("this processor has no AVX2")
	}
	t.Run("f32", func(t *testing.T) { testCopies(t, bestF32(cpu.AVX512)) })
	t.Run("f64", func(t *testing.T) { testCopies(t, bestF64(cpu.AVX512)) })
}
