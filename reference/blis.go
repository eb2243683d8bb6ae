package reference

import (
	"slices"
	"strings"

	"gemm/internal/cpu"
)

// blis is BLIS (github.com/flame/blis) or AMD's descendant of it, AOCL-BLIS.
var blis = &library{
	name: "blis", title: "BLIS", variable: "GEMM_BLIS",
	names: choose(
		[]string{"libblis.so.4", "/usr/lib/*-linux-gnu/blis-*/libblis.so.4", "libblis-mt.so", "libblis.so"},
		[]string{"/opt/homebrew/opt/blis/lib/libblis.dylib", "/usr/local/opt/blis/lib/libblis.dylib", "libblis.dylib"},
	),
	remedy: "install libblis4-pthread (Debian, Ubuntu) or blis",
	load:   loadBLIS,
}

func loadBLIS(name string) (*routines, error) {
	calm()
	d, err := open(name)
	if err != nil {
		return nil, err
	}
	r, err := newRoutines(d, name)
	if err != nil {
		return nil, err
	}
	var version func() string
	var initialize, arch func() int32
	var archName func(int32) string
	var threads func() int64
	var setThreads func(int64)
	if err := d.bind(map[string]any{
		"bli_info_get_version_str": &version, "bli_init": &initialize,
		"bli_arch_query_id": &arch, "bli_arch_string": &archName,
		"bli_thread_get_num_threads": &threads, "bli_thread_set_num_threads": &setThreads,
	}); err != nil {
		return nil, err
	}
	// BLIS 0.9 finds out whether AVX-512 is worth while from names of processors,
	// and takes those that are newer than itself for Haswells. It aborts the process
	// when it is asked for kernels that it was built without, so only a library of
	// the system's, which is built for all processors, is asked.
	forced := cpu.FullWidthAVX512() && archName(0) == "skx" && system(mapped("libblis")) && set("0", "BLIS_ARCH_TYPE")
	initialize() // the choice is made here
	r.version = version()
	r.kernel = archName(arch())
	if forced {
		r.kernel += " (BLIS_ARCH_TYPE=0)"
	} else {
		r.kernel += slowArch(r.kernel, cpu.Supported(), cpu.FullWidthAVX512())
	}
	r.perThread = strings.Contains(r.version, "AOCL")
	threaded := true
	var enabled func() int64
	if d.bind(map[string]any{"bli_info_get_enable_threading": &enabled}) == nil {
		threaded = enabled() != 0
	}
	r.setThreads = func(n int) int {
		if !threaded {
			return 1
		}
		setThreads(int64(n))
		return int(threads())
	}
	return r, nil
}

// slowArch returns a remark on kernels that do not suit the processor, or "".
func slowArch(arch string, sets []cpu.ISA, fullWidth bool) string {
	switch {
	case fullWidth && slices.Contains([]string{"haswell", "zen", "zen2", "zen3"}, arch):
		return " (slow on this processor: does not use its AVX-512)"
	case slices.Contains(sets, cpu.AVX2NoGFNI) && slices.Contains([]string{"generic", "penryn", "sandybridge", "bulldozer", "piledriver", "steamroller"}, arch):
		return " (slow on this processor: does not use its AVX2)"
	}
	return ""
}

// system reports whether all of the files are of the system's packages.
func system(files []string) bool {
	for _, file := range files {
		if !strings.HasPrefix(file, "/usr/lib/") && !strings.HasPrefix(file, "/usr/lib64/") {
			return false
		}
	}
	return len(files) > 0
}
