package cuda

import (
	"fmt"

	"gemm"
	"gemm/cuda/nvrtc"
	"gemm/cuda/occupancy"
)

// Explanation is what can be said of a rung without running it.
type Explanation struct {
	Rung   Rung
	Tile   Tile
	Kernel nvrtc.Kernel
	occupancy.Occupancy
	// Global and Block are the elements of A and B that are read a multiply-add, from
	// global memory (equations 11 and 12 of the report of 2024) and from shared memory
	// (equations 14 and 15).
	Global, Block float64
	// Intensity is floating-point operations a byte that is read from global memory.
	Intensity float64
}

// Explain compiles the rung for copies of 16 bytes and returns what it takes on a GPU of
// the compute capability. The error is a gemm.ErrUnavailable where the kernel needs a
// newer one, or the compiler does not know it.
func Explain(c nvrtc.Compiler, r Rung, t Tile, capability occupancy.Capability) (Explanation, error) {
	e := Explanation{Rung: r, Tile: t}
	arch := 10*capability.Major + capability.Minor
	if arch < r.Least {
		return e, fmt.Errorf("%w: needs compute capability %d.%d", gemm.ErrUnavailable, r.Least/10, r.Least%10)
	}
	p, err := r.Program(t, r.Widest(), arch)
	if err != nil {
		return e, err
	}
	image, err := c.Compile(p)
	if err != nil {
		return e, err
	}
	var ok bool
	if e.Kernel, ok = image.Kernels[entry]; !ok {
		return e, fmt.Errorf("cuda: %s has no kernel %s", r.File, entry)
	}
	e.Kernel.Shared += r.Shared(t)
	e.Occupancy, err = occupancy.Of(capability, occupancy.Kernel{Threads: r.Threads(t), Registers: e.Kernel.Registers, Shared: e.Kernel.Shared})
	e.Global, e.Block = r.reads(t)
	e.Intensity = 2 / (e.Global * float64(r.size()))
	return e, err
}

// entry is the name of the kernel that multiplies, in every file.
const entry = "gemm"

// The elements that a multiply-add reads from global and from shared memory: where each
// thread reads all it needs itself; where a block reads its tile of C's rows of A and
// columns of B once and each thread what it needs of them; where a thread keeps what it
// has read for a column of its tile, or for all of it; and where a warp's tensor core does.
func unshared(Tile) (global, block float64) { return 2, 0 }
func sliced(t Tile) (global, block float64) { return perTile(t.BM, t.BN), 2 }
func column(t Tile) (global, block float64) { return perTile(t.BM, t.BN), perTile(t.TM, 1) }
func thread(t Tile) (global, block float64) { return perTile(t.BM, t.BN), perTile(t.TM, t.TN) }
func warp(t Tile) (global, block float64)   { return perTile(t.BM, t.BN), perTile(t.WM, t.WN) }

// perTile is 1/rows + 1/cols.
func perTile(rows, cols int) float64 { return 1/float64(rows) + 1/float64(cols) }
