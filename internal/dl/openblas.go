package dl

import (
	"slices"

	"gemm/internal/cpu"
)

// OpenBLAS's kernels for wide registers, as openblas_get_corename calls them.
var (
	coresAVX512 = []string{"SkylakeX", "Cooperlake", "SapphireRapids"}
	coresAVX2   = []string{"Haswell", "Zen"}
)

// BetterCore returns the value of OPENBLAS_CORETYPE for kernels that suit a processor with the instruction sets better
// than core's. It returns "" if there are none, or if the BLAS is not OpenBLAS (core is empty). AVX-512 of full
// width is faster than AVX2.
func BetterCore(core string, sets []cpu.ISA, fullWidth bool) string {
	switch {
	case core == "", slices.Contains(coresAVX512, core), slices.Contains(coresAVX2, core) && !fullWidth:
		return ""
	case slices.Contains(sets, cpu.AVX512):
		return "SKYLAKEX"
	case slices.Contains(sets, cpu.AVX2NoGFNI) && !slices.Contains(coresAVX2, core):
		return "HASWELL"
	}
	return ""
}
