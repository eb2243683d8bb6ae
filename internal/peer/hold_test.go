package peer

import (
	"errors"
	"testing"

	"gemm"
	"gemm/internal/cpu"
)

func TestSettings(t *testing.T) {
	for _, isa := range cpu.All() {
		if got, err := settings(isa, false); got != nil || err != nil {
			t.Errorf("the widest set is %s: %v, %v", isa, got, err)
		}
	}
	for _, isa := range []cpu.ISA{cpu.AVX2, cpu.AVX2NoGFNI} {
		got, err := settings(isa, true)
		if err != nil || got["MKL_ENABLE_INSTRUCTIONS"] != "AVX2" || got["OPENBLAS_CORETYPE"] != "HASWELL" {
			t.Errorf("held to %s: %v, %v", isa, got, err)
		}
	}
	for _, isa := range []cpu.ISA{cpu.SSSE3, cpu.Generic} {
		if got, err := settings(isa, true); got != nil || !errors.Is(err, gemm.ErrUnavailable) {
			t.Errorf("held to %s: %v, %v", isa, got, err)
		}
	}
}

func TestCheckKernel(t *testing.T) {
	for _, kernel := range []string{"SkylakeX", "avx512", "avx512_e1", "avx10", "skx", "zen4", "MKL 2024.2 AVX512",
		"scipy-openblas 0.3.31 SapphireRapids (OPENBLAS_CORETYPE=HASWELL)"} {
		if err := checkKernel(kernel, cpu.AVX2, true); !errors.Is(err, gemm.ErrUnavailable) {
			t.Errorf("%s: %v", kernel, err)
		}
		if err := checkKernel(kernel, cpu.AVX512, false); err != nil {
			t.Errorf("%s with AVX-512: %v", kernel, err)
		}
	}
	for _, kernel := range []string{"Haswell", "Zen", "avx2", "def", "haswell", "zen3", "hsw", "MKL 2024.2 AVX2", ""} {
		if err := checkKernel(kernel, cpu.AVX2, true); err != nil {
			t.Errorf("%s: %v", kernel, err)
		}
	}
}
