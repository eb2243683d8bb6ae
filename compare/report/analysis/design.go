package analysis

import (
	"slices"

	"gemm"
	"gemm/cuda"
	"gemm/cuda/occupancy"
)

// DesignCapabilities are the compute capabilities of the design: Turing, Ampere, Ada and Hopper.
var DesignCapabilities = []occupancy.Capability{{Major: 7, Minor: 5}, {Major: 8, Minor: 6}, {Major: 8, Minor: 9},
	{Major: 9, Minor: 0}}

// DesignSize is the n of the cubes whose reads are counted.
const DesignSize = 4096

// DesignKernel is the kernel of the sweeps: the tile 128×128×8 with 8×8 elements a thread and two
// slices of A and of B, which is the default of the rung doublebuffer.
var DesignKernel = occupancy.Kernel{Threads: 256, Registers: threadRegisters(8), Shared: 2 * 4 * 8 * (128 + 128)}

// threadRegisters returns the registers of a thread with edge×edge elements of C. The compiler gives
// the kernels of the 2024 report 127 or 128 for 8×8 (its figure 30), and doublebuffer 115 to 128
// (cuda/testdata); for 4×4 NVRTC 13.0 gives doublebuffer 58 to 67.
func threadRegisters(edge int) int {
	if edge >= 8 {
		return 128
	}
	return 64
}

// OnlyPlanned reports whether the records have rows of a GPU, and none of them was timed on any host.
func OnlyPlanned(views []*View) bool {
	return slices.ContainsFunc(views, func(v *View) bool { return v.HasFamily(OnGPU) }) &&
		!slices.ContainsFunc(views, (*View).HasGPU)
}

// A Condition is what a tile must satisfy: an equation of the 2024 report by its number, or a word.
type Condition string

// The conditions, in the order in which they are checked. All registers of a block need none: threads
// that satisfy the first and the third have at most 65536.
const (
	BlockThreads  Condition = "16"   // sm/ty · sk/tx ≤ 1024 threads a block
	HalfShared    Condition = "17"   // a slice of A and one of B in half of 48 KiB
	HalfRegisters Condition = "18"   // sums of a block in half of its 65536 registers
	RowOfSlice    Condition = "21"   // a thread copies at most a row of A's transposed slice
	EvenCopies    Condition = "even" // threads copy equal numbers of elements
)

// Design is a tile of a kernel in single precision, and what it needs. In the symbols of the 2024
// report, BM = sm, BN = sk, BK = sn, TM = ty and TN = tx.
type Design struct {
	cuda.Tile
	Threads   int       // of a block (16)
	Slices    int       // bytes of a slice of A and one of B (17)
	Sums      int       // registers of a block for its part of C (18)
	Copies    float64   // elements of A that a thread loads for each slice (19)
	Registers int       // of a thread, all
	Global    float64   // elements that a multiply-add reads from global memory (12)
	Shared    float64   // and from shared memory (15)
	Fails     Condition // the first that does not hold; empty: the tile is feasible
	// Occupancy is by DesignCapabilities, with two slices of A and of B (a double buffer). It is 0
	// if no block fits.
	Occupancy []float64
}

// Feasible reports whether all conditions hold.
func (d Design) Feasible() bool { return d.Fails == "" }

// Designs returns the tiles of 32 to 256 rows and columns with slices of 8 to 32 and threads of 8×8
// and 4×4 elements.
func Designs() []Design {
	var out []Design
	for _, edge := range []int{8, 4} {
		for _, rows := range []int{32, 64, 128, 256} {
			for _, cols := range []int{32, 64, 128, 256} {
				for _, slice := range []int{8, 16, 32} {
					out = append(out, NewDesign(cuda.Tile{BM: rows, BN: cols, BK: slice, TM: edge, TN: edge}))
				}
			}
		}
	}
	return out
}

// NewDesign returns what the tile needs. The limits of a block are the same for all capabilities.
func NewDesign(t cuda.Tile) Design {
	limits, err := occupancy.LimitsOf(DesignCapabilities[0])
	if err != nil {
		panic(err) // the capabilities are those of the table
	}
	d := Design{Tile: t, Threads: t.BM / t.TM * (t.BN / t.TN), Slices: 4 * t.BK * (t.BM + t.BN), Sums: t.BM * t.BN,
		Registers: threadRegisters(t.TM), Global: 1/float64(t.BM) + 1/float64(t.BN),
		Shared: 1/float64(t.TM) + 1/float64(t.TN)}
	d.Copies = float64(t.BM*t.BK) / float64(d.Threads)
	for _, test := range []struct {
		holds bool
		what  Condition
	}{
		{d.Threads <= limits.BlockThreads, BlockThreads},
		{d.Slices <= limits.BlockShared/2, HalfShared},
		{d.Sums <= limits.BlockRegisters/2, HalfRegisters},
		{d.Copies <= float64(t.BK), RowOfSlice},
		{t.BM*t.BK%d.Threads == 0 && t.BN*t.BK%d.Threads == 0, EvenCopies},
	} {
		if !test.holds {
			d.Fails = test.what
			break
		}
	}
	for _, c := range DesignCapabilities {
		o, err := occupancy.Of(c, occupancy.Kernel{Threads: d.Threads, Registers: d.Registers, Shared: 2 * d.Slices})
		if err != nil { // no block can be launched
			o.Share = 0
		}
		d.Occupancy = append(d.Occupancy, o.Share)
	}
	return d
}

// RungReads is what a rung reads for a product of cubes of DesignSize.
type RungReads struct {
	Rung cuda.Rung
	Tile cuda.Tile // its default
	cuda.Product
}

// DesignReads returns the reads of the rungs in single precision with their default tiles
// (equations 11 to 15).
func DesignReads() []RungReads {
	var out []RungReads
	for _, r := range cuda.Ladder("f32") {
		t := r.Tiles[0]
		out = append(out, RungReads{r, t, r.Product(t, gemm.Cube(DesignSize))})
	}
	return out
}

// OccupancyStep is a range in which the occupancy stays the same.
type OccupancyStep struct {
	From, To int     // of the resource that is swept
	Share    float64 // of a multiprocessor's warps, 0 to 1
}

// OccupancyLine is the occupancy over a resource, on one compute capability or on several for which
// it is the same.
type OccupancyLine struct {
	Capabilities []occupancy.Capability
	Steps        []OccupancyStep
}

// OccupancyOver returns the occupancy of DesignKernel over the threads of a block, the registers of
// a thread or the shared memory of a block, the other two unchanged. Each capability of
// DesignCapabilities is in one line.
func OccupancyOver(over occupancy.Resource) []OccupancyLine {
	var lines []OccupancyLine
	for _, c := range DesignCapabilities {
		steps := stepsOver(c, over)
		i := slices.IndexFunc(lines, func(l OccupancyLine) bool { return slices.Equal(l.Steps, steps) })
		if i < 0 {
			i = len(lines)
			lines = append(lines, OccupancyLine{Steps: steps})
		}
		lines[i].Capabilities = append(lines[i].Capabilities, c)
	}
	return lines
}

// stepsOver returns the steps of one capability, ascending. Steps with the same occupancy are one.
func stepsOver(c occupancy.Capability, over occupancy.Resource) []OccupancyStep {
	swept, err := occupancy.Sweep(c, DesignKernel, over)
	if err != nil {
		panic(err) // the kernel and the capabilities are ours
	}
	var steps []OccupancyStep
	from := 1
	for _, o := range swept {
		to := map[occupancy.Resource]int{occupancy.Threads: o.Kernel.Threads, occupancy.Registers: o.Kernel.Registers,
			occupancy.Shared: o.Kernel.Shared}[over]
		if n := len(steps); n > 0 && steps[n-1].Share == o.Share {
			steps[n-1].To = to
		} else {
			steps = append(steps, OccupancyStep{from, to, o.Share})
		}
		from = to + 1
	}
	return steps
}
