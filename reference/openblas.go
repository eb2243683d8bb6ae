package reference

import (
	"fmt"
	"slices"
	"strings"

	"gemm/internal/cpu"
)

// openBLAS is OpenBLAS (openblas.net). Fedora's libopenblas.so.0 has one thread
// only, so its libopenblasp comes first.
var openBLAS = &library{
	name: "openblas", title: "OpenBLAS", variable: "GEMM_OPENBLAS",
	names: choose(
		[]string{"libopenblasp.so.0", "libopenblas.so.0", "/usr/lib/*-linux-gnu/openblas-*/libopenblas.so.0", "libopenblas.so"},
		[]string{"/opt/homebrew/opt/openblas/lib/libopenblas.dylib", "/usr/local/opt/openblas/lib/libopenblas.dylib", "libopenblas.dylib"},
	),
	remedy: "install libopenblas0-pthread (Debian, Ubuntu) or openblas",
	load:   loadOpenBLAS,
}

// OpenBLAS's kernels for wide registers, as openblas_get_corename calls them.
var (
	coresAVX512 = []string{"SkylakeX", "Cooperlake", "SapphireRapids"}
	coresAVX2   = []string{"Haswell", "Zen"}
)

// betterCore returns the value of OPENBLAS_CORETYPE for kernels that suit the
// processor better than those of core, or "" where there are none.
func betterCore(core string, sets []cpu.ISA, fullWidth bool) string {
	switch {
	case slices.Contains(coresAVX512, core), slices.Contains(coresAVX2, core) && !fullWidth:
		return ""
	case slices.Contains(sets, cpu.AVX512):
		return "SKYLAKEX"
	case slices.Contains(sets, cpu.AVX2NoGFNI) && !slices.Contains(coresAVX2, core):
		return "HASWELL"
	}
	return ""
}

func loadOpenBLAS(name string) (*routines, error) {
	calm()
	// The workers look at 2¹⁶ ticks of the clock for work before they sleep; 2²⁶
	// is the default.
	set("16", "OPENBLAS_THREAD_TIMEOUT")
	d, core, err := openOpenBLAS(name)
	if err != nil {
		return nil, err
	}
	remark := ""
	// The kernel is chosen when the library is opened, so a better one takes
	// opening it again.
	if better := betterCore(core, cpu.Supported(), cpu.FullWidthAVX512()); better != "" {
		own := core
		if set(better, "OPENBLAS_CORETYPE") {
			d.close()
			if d, core, err = openOpenBLAS(name); err != nil {
				return nil, err
			}
			remark = fmt.Sprintf(" (OPENBLAS_CORETYPE=%s; its own choice is %s)", better, own)
		}
		if core == own {
			remark = fmt.Sprintf(" (slow on this processor: a newer OpenBLAS, or one with %s, is faster)", better)
		}
	}
	r, err := newRoutines(d, name)
	if err != nil {
		return nil, err
	}
	var config func() string
	var parallel, threads func() int32
	var setThreads func(int32)
	if err := d.bind(map[string]any{
		"openblas_get_config": &config, "openblas_get_parallel": &parallel,
		"openblas_get_num_threads": &threads, "openblas_set_num_threads": &setThreads,
	}); err != nil {
		return nil, err
	}
	// "OpenBLAS 0.3.21 DYNAMIC_ARCH …"
	if words := strings.Fields(config()); len(words) > 1 {
		r.version = words[1]
	}
	r.kernel = core + remark
	const openMP = 2
	r.perThread = parallel() == openMP
	r.setThreads = func(n int) int {
		setThreads(int32(n))
		return int(threads())
	}
	return r, nil
}

// openOpenBLAS opens the file and returns the name of its kernels.
func openOpenBLAS(name string) (*dynamic, string, error) {
	d, err := open(name)
	if err != nil {
		return nil, "", err
	}
	var core func() string
	if err := d.bind(map[string]any{"openblas_get_corename": &core}); err != nil {
		d.close()
		return nil, "", err
	}
	return d, core(), nil
}
