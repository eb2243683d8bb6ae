package peer

import (
	"maps"
	"slices"
	"strings"

	"gemm"
	"gemm/internal/cpu"
)

// toAVX2 are the environment variables that hold libraries to AVX2. Libraries read them when they are loaded or
// first used. BLIS_ARCH_TYPE is the name of a kernel; old versions of BLIS need its number.
var toAVX2 = map[string]string{
	"OPENBLAS_CORETYPE": "HASWELL", "MKL_ENABLE_INSTRUCTIONS": "AVX2", "BLIS_ARCH_TYPE": "haswell",
	"LIBXSMM_TARGET": "hsw", "ATEN_CPU_CAPABILITY": "avx2", "DNNL_MAX_CPU_ISA": "AVX2",
}

// Settings returns the environment variables that keep libraries from instructions that the program is kept from
// by cpu.Hold, with their values. There are none unless the processor has such instructions. The error is an
// ErrUnavailable: no setting holds the libraries to the set.
func Settings() (map[string]string, error) { return settings(cpu.Held()) }

func settings(isa cpu.ISA, narrowed bool) (map[string]string, error) {
	switch {
	case !narrowed:
		return nil, nil
	case isa == cpu.AVX2 || isa == cpu.AVX2NoGFNI: // no library of floating-point products uses GFNI
		return maps.Clone(toAVX2), nil
	}
	return nil, notHeld(isa, "no setting holds it to fewer instructions than AVX2")
}

// NotHeld returns the error of a variant that cannot be held to the instruction set, an ErrUnavailable.
func NotHeld(reason string) error {
	isa, _ := cpu.Held()
	return notHeld(isa, reason)
}

func notHeld(isa cpu.ISA, reason string) error {
	return gemm.Unavailablef("all contenders are held to %s: %s", isa, reason).WithRemedy("leave out --isa")
}

// wide are kernels of libraries that use AVX-512, in small letters.
var wide = []string{
	"skylakex", "cooperlake", "sapphirerapids", // OpenBLAS
	"skx", "knl", "zen4", "zen5", // BLIS
	"clx", "cpx", "spr", "gnr", // libxsmm
}

// CheckKernel returns an ErrUnavailable if a library's description of its kernel names one for AVX-512, and the
// program is held to a narrower set.
func CheckKernel(kernel string) error {
	isa, narrowed := cpu.Held()
	return checkKernel(kernel, isa, narrowed)
}

func checkKernel(kernel string, isa cpu.ISA, narrowed bool) error {
	if !narrowed {
		return nil
	}
	for _, word := range strings.Fields(strings.ToLower(kernel)) {
		if slices.Contains(wide, word) || strings.HasPrefix(word, "avx512") || strings.HasPrefix(word, "avx10") {
			return notHeld(isa, "it computes with its kernel "+kernel)
		}
	}
	return nil
}
