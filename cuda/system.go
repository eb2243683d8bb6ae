package cuda

import (
	"fmt"
	"strings"

	"gemm"
	"gemm/internal/occupancy"
)

// System is what the worker finds: the driver, the libraries that it opens, and the GPUs.
type System struct {
	Driver string `json:"driver"` // version of the kernel driver, such as 580.159.04; empty: not known
	CUDA   string `json:"cuda"`   // that the driver speaks, such as 13.0
	NVRTC  string `json:"nvrtc"`  // version; empty: none
	CuBLAS string `json:"cublas"` // version; empty: none
	GPUs   []GPU  `json:"gpus"`
	// Missing says, line by line, what of the above is not there, and what to do.
	Missing []string `json:"missing,omitempty"`
}

// What a GPU can hold, under names that other modules can write.
type (
	Capability = occupancy.Capability // a compute capability
	Kernel     = occupancy.Kernel     // what a kernel takes of a multiprocessor
	Occupancy  = occupancy.Occupancy  // how many blocks of a kernel run at once
	Resource   = occupancy.Resource   // threads, registers or shared memory
)

// GPU is a device and its limits.
type GPU occupancy.GPU

// holds reports whether the given bytes fit into the free memory of the GPU. It returns true if that is not known.
func (g GPU) holds(bytes int64) bool { return g.Free == 0 || bytes <= g.Free }

// Marked is what names of marks begin with.
const Marked = "mark_"

// Mark returns the name of the empty kernel that a worker under a profiler launches before the product that it has
// profiled: the profiler's log then says whose the next launches are. It has the variant, the type and the shape.
func Mark(variant, typ string, s gemm.Shape) string {
	word := func(r rune) rune {
		if r < '0' || r > 'z' || r > '9' && r < 'A' || r > 'Z' && r < 'a' {
			return '_'
		}
		return r
	}
	return strings.Map(word, fmt.Sprintf("%s%s_%s_%d_%d_%d", Marked, typ, variant, s.M, s.N, s.K))
}
