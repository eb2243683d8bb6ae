package reference

import (
	"slices"
	"strconv"
	"strings"

	"gemm/internal/cpu"
	"gemm/internal/dl"
)

// blis is BLIS (github.com/flame/blis) or AMD's descendant of it, AOCL-BLIS.
var blis = &library{
	name: "blis",
	Search: dl.Search{
		Title: "BLIS", Variable: "GEMM_BLIS",
		Names: choose(
			[]string{
				"libblis.so.[0-9]", "/usr/lib/*-linux-gnu/blis-*/libblis.so.*", "libblis-mt.so.[0-9]", "libblis-mt.so",
				"libblis.so",
				"libblis64.so.[0-9]", "/usr/lib/*-linux-gnu/blis64-*/libblis64.so.*",
			},
			[]string{"/opt/homebrew/opt/blis/lib/libblis.dylib", "/usr/local/opt/blis/lib/libblis.dylib", "libblis.dylib"},
		),
		Pip:    []string{"lib/libblis.so.*", "lib/libblis.*dylib"},
		Remedy: "install libblis4-pthread (Debian, Ubuntu) or blis",
	},
	load: loadBLIS,
	hold: "BLIS_ARCH_TYPE",
}

func loadBLIS(p place, name string) (*routines, error) {
	r, err := new(library).openIn(p, name, "bli_init", "bli_arch_query_id", "bli_thread_get_num_threads",
		"bli_thread_set_num_threads")
	if err != nil {
		return nil, err
	}
	if r.version, err = p.Text("bli_info_get_version_str"); err != nil {
		return nil, err
	}
	first, err := p.Text("bli_arch_string", 0)
	if err != nil {
		return nil, err
	}
	// BLIS 0.9 decides from names of processors whether AVX-512 is worthwhile, and takes newer processors for Haswells.
	// If a kernel is requested that it was built without, it aborts the process. So in this process, only a library of
	// the system is asked, which is built for all processors.
	_, narrowed := cpu.Held()
	if p.expendable() || system(mapped(p, "libblis")) {
		switch {
		case narrowed:
			r.forced, err = haswellBLIS(p)
		case cpu.FullWidthAVX512() && first == "skx" && set(p, "0", "BLIS_ARCH_TYPE"):
			r.forced = "BLIS_ARCH_TYPE=0"
		}
	}
	if err != nil {
		return nil, err
	}
	if _, err := p.Integer("bli_init"); err != nil { // the choice is made here
		return nil, err
	}
	id, err := p.Integer("bli_arch_query_id")
	if err != nil {
		return nil, err
	}
	if r.kernel, err = p.Text("bli_arch_string", id); err != nil {
		return nil, err
	}
	if r.forced == "" {
		r.slow = slowArch(r.kernel, cpu.Supported(), cpu.FullWidthAVX512())
	}
	r.perThread = strings.Contains(r.version, "AOCL")
	r.setThreads = threadsBy(p, "bli_thread_set_num_threads", "bli_thread_get_num_threads")
	if enabled, err := p.Integer("bli_info_get_enable_threading"); err == nil && enabled == 0 {
		r.setThreads = func(int) int { return 1 }
	}
	return r, nil
}

// haswellBLIS holds BLIS to its kernels for AVX2 by their number, which depends on its version. It returns the
// setting, or "" if the user's stays.
func haswellBLIS(p place) (string, error) {
	const some = 8 // of the first names of kernels, which all versions have
	for id := range some {
		name, err := p.Text("bli_arch_string", id)
		if err != nil {
			return "", err
		}
		if number := strconv.Itoa(id); name == "haswell" && set(p, number, "BLIS_ARCH_TYPE") {
			return "BLIS_ARCH_TYPE=" + number, nil
		}
	}
	return "", nil
}

// slowArch returns why kernels do not suit the processor, or "".
func slowArch(arch string, sets []cpu.ISA, fullWidth bool) string {
	switch {
	case fullWidth && slices.Contains([]string{"haswell", "zen", "zen2", "zen3"}, arch):
		return "does not use its AVX-512"
	case slices.Contains(sets,
		cpu.AVX2NoGFNI) && slices.Contains([]string{"generic", "penryn", "sandybridge", "bulldozer", "piledriver",
		"steamroller"}, arch):
		return "does not use its AVX2"
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
