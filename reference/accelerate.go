package reference

import (
	"runtime"

	"gemm/internal/dl"
)

// accelerate is Apple's Accelerate, a part of macOS.
var accelerate = &library{
	name: "accelerate",
	Search: dl.Search{
		Title: "Accelerate", Variable: "GEMM_ACCELERATE",
		Names:  choose(nil, []string{"/System/Library/Frameworks/Accelerate.framework/Accelerate"}),
		Remedy: "it is a part of macOS",
	},
	load: loadAccelerate,
}

// loadAccelerate opens Accelerate with one thread. Its number of threads cannot be changed later.
func loadAccelerate(p place, name string) (*routines, error) {
	set(p, "1", "VECLIB_MAXIMUM_THREADS")
	r, err := new(library).openIn(p, name)
	if err != nil {
		return nil, err
	}
	r.version, r.kernel = "macOS", runtime.GOARCH
	r.setThreads = func(int) int { return 1 }
	return r, nil
}
