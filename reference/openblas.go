package reference

import (
	"fmt"
	"os"
	"strings"

	"gemm/internal/cpu"
	"gemm/internal/dl"
)

// openBLAS is OpenBLAS (openblas.net). Fedora's libopenblas.so.0 has one thread only, so its libopenblasp comes first.
// Libraries with 64-bit integers serve as well. Of pip's packages, NumPy's has an OpenBLAS with a number in its name.
var openBLAS = &library{
	name: "openblas",
	Search: dl.Search{
		Title: "OpenBLAS", Variable: "GEMM_OPENBLAS",
		Names: choose(
			[]string{
				"libopenblasp.so.[0-9]", "libopenblas.so.[0-9]", "/usr/lib/*-linux-gnu/openblas-*/libopenblas.so.*",
				"libopenblas.so",
				"libopenblasp64.so.[0-9]", "libopenblas64.so.[0-9]", "/usr/lib/*-linux-gnu/openblas64-*/libopenblas64.so.*",
				"libopenblasp64_.so.[0-9]", "libopenblas64_.so.[0-9]",
			},
			[]string{
				"/opt/homebrew/opt/openblas/lib/libopenblas.dylib", "/usr/local/opt/openblas/lib/libopenblas.dylib",
				"libopenblas.dylib",
			},
		),
		Pip: []string{
			"scipy_openblas32/lib/libscipy_openblas.*", "scipy_openblas64/lib/libscipy_openblas64_.*",
			"lib/libopenblas.so.*", "numpy.libs/libscipy_openblas*", "numpy/.dylibs/libscipy_openblas*",
		},
		Remedy: "install libopenblas0-pthread (Debian, Ubuntu), openblas or pip's scipy-openblas32",
	},
	load: loadOpenBLAS,
	hold: "OPENBLAS_CORETYPE",
}

func loadOpenBLAS(p place, name string) (*routines, error) {
	open := func() (core string, err error) {
		if err := p.Open(name); err != nil {
			return "", err
		}
		return p.Text("openblas_get_corename")
	}
	core, err := open()
	if err != nil {
		return nil, err
	}
	var forced, slow string
	// The kernel is chosen when the library is opened, so a better one takes opening it again.
	if better := dl.BetterCore(core, cpu.Supported(), cpu.FullWidthAVX512()); better != "" {
		own := core
		if set(p, better, "OPENBLAS_CORETYPE") {
			if err := p.Unload(); err != nil {
				return nil, err
			}
			if core, err = open(); err != nil {
				return nil, err
			}
			forced = fmt.Sprintf("OPENBLAS_CORETYPE=%s; its own choice is %s", better, own)
		}
		switch user, asked := os.LookupEnv("OPENBLAS_CORETYPE"); {
		case core == own && asked:
			slow = fmt.Sprintf("OPENBLAS_CORETYPE=%s is set, %s is faster", user, better)
		case core == own:
			forced, slow = "", fmt.Sprintf("a newer OpenBLAS, or one with %s, is faster", better)
		}
	}
	r, err := new(library).routines(p, name, "openblas_get_num_threads", "openblas_set_num_threads")
	if err != nil {
		return nil, err
	}
	config, err := p.Text("openblas_get_config") // "OpenBLAS 0.3.21 DYNAMIC_ARCH …"
	if err != nil {
		return nil, err
	}
	if words := strings.Fields(config); len(words) > 1 {
		r.version = words[1]
	}
	parallel, err := p.Integer("openblas_get_parallel")
	if err != nil {
		return nil, err
	}
	const openMP = 2
	r.kernel, r.forced, r.slow = core, forced, slow
	r.perThread = parallel == openMP
	r.setThreads = threadsBy(p, "openblas_set_num_threads", "openblas_get_num_threads")
	return r, nil
}
