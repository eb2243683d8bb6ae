// Package occupancy computes how many blocks of a kernel a multiprocessor of an NVIDIA GPU can hold
// at a time, and which resource limits that. It is arithmetic, and needs no GPU.
//
// A multiprocessor holds blocks until it has no block slots, no warps, no registers or no shared memory left. Occupancy
// is the share of its warps that are in use then. More warps hide more latency of memory and arithmetic. A kernel that
// keeps its sums in registers needs few warps, so the best occupancy is rarely the highest.
//
// # Sources
//
// Threads, blocks, registers and shared memory from 7.5 on, and the sizes of shared memory: NVIDIA's CUDA Programming
// Guide 13.1, section 5.1, tables 30 to 32, "… per Compute Capability". 7.0 and 7.2, which CUDA 13 no longer has:
// "Technical Specifications per Compute Capability" in the CUDA C++ Programming Guide 11. The units, the partitions,
// the sizes of shared memory of 7.0 and 7.2, the blocks of 10.1 and the arithmetic itself: cuda_occupancy.h of CUDA
// 13.5, NVIDIA's own calculator, with which this package agrees. It has 256 as the most registers of a thread, where
// the guide has 255. What is reserved from 8.0 on: the guide, "Shared Memory" of 8.x, and arch_traits.h of NVIDIA/cccl.
//
// CUDA 12 calls 10.1 what CUDA 13 calls 11.0; 10.1 has the threads and the shared memory of 11.0.
//
// # Not modelled
//
// Shared memory is assumed to have its largest size, the default for a kernel without a preference; Occupancy.Carveout
// says how much is needed. A kernel is assumed to have one barrier, and no clusters of blocks.
package occupancy

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrKernel: a kernel asks for more than a block or a thread may have.
var ErrKernel = errors.New("the kernel cannot be launched")

// Kernel is what a kernel takes.
type Kernel struct {
	Threads   int `json:"threads"` // of a block
	Registers int `json:"regs"`    // of a thread, as the compiler says
	Shared    int `json:"smem"`    // bytes of a block, static and dynamic
}

// Resource is what a multiprocessor can run out of.
type Resource string

// The resources, in the order in which they are listed.
const (
	Threads   Resource = "threads"
	Registers Resource = "registers"
	Shared    Resource = "shared memory"
	Blocks    Resource = "blocks"
)

// Unlimited is the number of blocks by a resource that a kernel takes none of.
const Unlimited = math.MaxInt

// Occupancy is how a kernel fills a multiprocessor.
type Occupancy struct {
	Kernel Kernel
	Limits Limits // of the multiprocessor

	// What a block is given.
	BlockWarps     int
	WarpRegisters  int // to each of its warps
	BlockRegisters int // to all of them
	BlockShared    int // bytes, with the reserved bytes

	// How many blocks there can be by each resource. None by registers: no block can be
	// launched, however empty the multiprocessor is.
	ByThreads, ByRegisters, ByShared, ByBlocks int

	Blocks    int        // at a time: the least of these
	LimitedBy []Resource // all whose number that is
	Warps     int        // of these blocks
	Share     float64    // of the warps that there can be: the occupancy, 0 to 1

	Carveout int // bytes: the least size of shared memory that holds these blocks
}

// Of returns how a kernel fills a multiprocessor of the capability. The error is
// ErrCapability or ErrKernel and says what would do.
func Of(c Capability, k Kernel) (Occupancy, error) {
	l, err := LimitsOf(c)
	if err != nil {
		return Occupancy{}, err
	}
	switch {
	case k.Threads < 1 || k.Threads > l.BlockThreads:
		return Occupancy{}, fmt.Errorf("%w: %d threads a block, there can be 1 to %d: launch more blocks of fewer threads",
			ErrKernel, k.Threads, l.BlockThreads)
	case k.Registers < 1 || k.Registers > l.ThreadRegisters:
		return Occupancy{}, fmt.Errorf("%w: %d registers a thread, there can be 1 to %d: have the compiler spill the "+
			"others (-maxrregcount), or give a thread less to compute", ErrKernel, k.Registers, l.ThreadRegisters)
	case k.Shared < 0 || k.Shared > l.BlockSharedOptIn:
		return Occupancy{}, fmt.Errorf("%w: %d bytes of shared memory a block, there can be 0 to %d (%d KiB) on %v: "+
			"choose smaller tiles or fewer stages", ErrKernel, k.Shared, l.BlockSharedOptIn, l.BlockSharedOptIn/kib, c)
	}
	o := Occupancy{Kernel: k, Limits: l, ByShared: Unlimited, ByBlocks: l.Blocks}
	o.BlockWarps = (k.Threads + l.Warp - 1) / l.Warp
	o.WarpRegisters = roundUp(k.Registers*l.Warp, l.RegisterUnit)
	o.BlockRegisters = o.BlockWarps * o.WarpRegisters
	o.BlockShared = roundUp(k.Shared+l.SharedReserved, l.SharedUnit)

	o.ByThreads = l.Warps / o.BlockWarps
	// A launch is checked as though a block had as many warps in every partition.
	if roundUp(o.BlockWarps, l.Partitions)*o.WarpRegisters <= l.BlockRegisters {
		warps := l.Registers / l.Partitions / o.WarpRegisters // of a partition
		o.ByRegisters = warps * l.Partitions / o.BlockWarps
	}
	if o.BlockShared > 0 {
		o.ByShared = l.Shared / o.BlockShared
	}

	o.Blocks = min(o.ByThreads, o.ByRegisters, o.ByShared, o.ByBlocks)
	for _, r := range []Resource{Threads, Registers, Shared, Blocks} {
		if o.By(r) == o.Blocks {
			o.LimitedBy = append(o.LimitedBy, r)
		}
	}
	o.Warps = o.Blocks * o.BlockWarps
	o.Share = float64(o.Warps) / float64(l.Warps)
	i, _ := slices.BinarySearch(l.Carveouts, o.Blocks*o.BlockShared)
	o.Carveout = l.Carveouts[i]
	return o, nil
}

// By returns how many blocks there can be by the resource.
func (o Occupancy) By(r Resource) int {
	switch r {
	case Threads:
		return o.ByThreads
	case Registers:
		return o.ByRegisters
	case Shared:
		return o.ByShared
	default:
		return o.ByBlocks
	}
}

// roundUp returns the least multiple of unit that is not less than n.
func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }
