package reference

import (
	"path/filepath"
	"slices"
	"strings"

	"gemm/internal/cpu"
	"gemm/internal/dl"
)

// libxsmm is LIBXSMM (github.com/libxsmm/libxsmm), which generates code for the shape of a small
// product at the first call. Larger products it leaves to a BLAS.
var libxsmm = &library{
	name: "libxsmm",
	Search: dl.Search{
		Title: "libxsmm", Variable: "GEMM_LIBXSMM",
		Names: choose([]string{"libxsmm.so.[0-9]", "libxsmm.so"}, []string{"libxsmm.dylib"}),
		Pip:   []string{"lib/libxsmm.so.*", "lib/libxsmm.so"},
		Remedy: "install libxsmm-dev (Debian, Ubuntu) and run make peers, which links the shared library that Debian " +
			"does not have",
	},
	singles: "libxsmm_sgemm", doubles: "libxsmm_dgemm", most: 64, hold: "LIBXSMM_TARGET",
}

func init() { libxsmm.load = loadLIBXSMM }

func loadLIBXSMM(p place, name string) (*routines, error) {
	r, err := libxsmm.openIn(p, name)
	if err != nil {
		return nil, err
	}
	if _, err := p.Integer("libxsmm_init"); err != nil {
		return nil, err
	}
	if r.kernel, err = p.Text("libxsmm_get_target_arch"); err != nil {
		return nil, err
	}
	_, r.version, _ = strings.Cut(filepath.Base(name), ".so.")
	wide := []string{"skx", "clx", "cpx", "spr", "gnr"}
	if slices.Contains(cpu.Supported(), cpu.AVX512) && !slices.Contains(wide, r.kernel) {
		r.slow = "does not use its AVX-512"
	}
	r.setThreads = func(int) int { return 1 }
	return r, nil
}
