package occupancy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrCapability: the limits of a compute capability are not known.
var ErrCapability = errors.New("unknown compute capability")

// Capability is a compute capability: what a multiprocessor can do and has.
type Capability struct{ Major, Minor int }

// String returns the capability as NVIDIA's tables have it, such as 8.6.
func (c Capability) String() string { return fmt.Sprintf("%d.%d", c.Major, c.Minor) }

// Target returns the capability as compilers have it, such as sm_86.
func (c Capability) Target() string { return fmt.Sprintf("sm_%d%d", c.Major, c.Minor) }

// ParseCapability returns the known capability that is written as 8.6, 86 or sm_86. The
// targets of one architecture or family, sm_90a and sm_100f, have the limits of the others.
func ParseCapability(text string) (Capability, error) {
	name := text
	if strings.HasPrefix(text, "sm_") {
		name = strings.TrimSuffix(strings.TrimSuffix(text, "a"), "f")
	}
	for _, c := range Capabilities() {
		if name == c.String() || name == c.Target() || "sm_"+name == c.Target() {
			return c, nil
		}
	}
	return Capability{}, unknown(text)
}

func unknown(name string) error {
	var known []string
	for _, c := range Capabilities() {
		known = append(known, c.String())
	}
	return fmt.Errorf("%w %q; known are %s", ErrCapability, name, strings.Join(known, ", "))
}

// Limits are the resources of a multiprocessor of a compute capability, the most that a block and a
// thread may use, and the units in which they are allocated. Shared memory is in bytes.
type Limits struct {
	Capability Capability

	// A multiprocessor at most.
	Threads, Warps, Blocks, Registers, Shared int

	Warp int // threads of a warp
	// Partitions is the number of parts of a multiprocessor, each with its share of the
	// registers. A warp is in one of them: the granularity of warps in calculators.
	Partitions int

	// A block at most. More shared memory than BlockShared, up to BlockSharedOptIn, has to
	// be dynamic and asked for by an attribute of the kernel.
	BlockThreads, BlockRegisters, BlockShared, BlockSharedOptIn int

	ThreadRegisters int // of a thread at most

	RegisterUnit   int // registers are given to a warp in multiples of it
	SharedUnit     int // shared memory is given to a block in multiples of it
	SharedReserved int // that the driver adds to what a block asks for

	Carveouts []int // the shares of the cache that can be shared memory, ascending
}

const kib = 1 << 10

// The sizes in KiB that shared memory can have, of which the largest is what a multiprocessor has at most.
var (
	volta      = []int{0, 8, 16, 32, 64, 96}
	turing     = []int{32, 64}
	ampere     = []int{0, 8, 16, 32, 64, 100, 132, 164}
	ampereCard = []int{0, 8, 16, 32, 64, 100} // of graphics cards, up to Blackwell
	hopper     = []int{0, 8, 16, 32, 64, 100, 132, 164, 196, 228}
)

// table has the properties in which capabilities differ.
var table = []struct {
	major, minor    int
	threads, blocks int
	carveouts       []int // KiB
}{
	{7, 0, 2048, 32, volta},
	{7, 2, 2048, 32, volta},
	{7, 5, 1024, 16, turing},
	{8, 0, 2048, 32, ampere},
	{8, 6, 1536, 16, ampereCard},
	{8, 7, 1536, 16, ampere},
	{8, 9, 1536, 24, ampereCard},
	{9, 0, 2048, 32, hopper},
	{10, 0, 2048, 32, hopper},
	{10, 1, 1536, 24, hopper}, // what CUDA 12 calls 11.0
	{10, 3, 2048, 32, hopper},
	{11, 0, 1536, 24, hopper},
	{12, 0, 1536, 24, ampereCard},
	{12, 1, 1536, 24, ampereCard},
}

// Capabilities returns the capabilities whose limits are known, ascending.
func Capabilities() []Capability {
	known := make([]Capability, len(table))
	for i, t := range table {
		known[i] = Capability{t.major, t.minor}
	}
	return known
}

// LimitsOf returns the limits of a capability; ErrCapability if they are not known.
func LimitsOf(c Capability) (Limits, error) {
	i := slices.Index(Capabilities(), c)
	if i < 0 {
		return Limits{}, unknown(c.String())
	}
	t := table[i]
	l := Limits{
		Capability: c,
		Threads:    t.threads, Warps: t.threads / 32, Blocks: t.blocks, Registers: 64 * kib,
		Warp: 32, Partitions: 4,
		BlockThreads: 1024, BlockRegisters: 64 * kib, BlockShared: 48 * kib,
		ThreadRegisters: 255,
		RegisterUnit:    256, SharedUnit: 256,
	}
	if c.Major >= 8 {
		l.SharedUnit, l.SharedReserved = 128, kib
	}
	for _, size := range t.carveouts {
		l.Carveouts = append(l.Carveouts, size*kib)
	}
	l.Shared = slices.Max(l.Carveouts)
	l.BlockSharedOptIn = l.Shared - l.SharedReserved
	return l, nil
}
