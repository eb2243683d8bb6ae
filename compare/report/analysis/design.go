package analysis

import (
	"fmt"
	"math"

	"gemm/compare/record"
	"gemm/internal/occupancy"
)

// threadRegisters returns the registers of a thread with edge×edge elements of C. The compiler gives
// the kernels of the 2024 report 127 or 128 for 8×8 (its figure 30), and doublebuffer 115 to 128
// (cuda/testdata); for 4×4 NVRTC 13.0 gives doublebuffer 58 to 67.
func threadRegisters(edge int) int {
	if edge >= 8 {
		return 128
	}
	return 64
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

// Tile is the sizes of the blocks of a kernel: the rows and columns of C and the slice of k of a block of threads, and
// the edge of the square of a thread.
type Tile struct{ BM, BN, BK, Edge int }

// Design is a tile of a kernel in single precision, and what it needs. In the symbols of the 2024
// report, BM = sm, BN = sk, BK = sn and Edge = ty = tx.
type Design struct {
	Tile
	Threads   int       // of a block (16)
	Slices    int       // bytes of a slice of A and one of B (17)
	Sums      int       // registers of a block for its part of C (18)
	Registers int       // of a thread, all
	Fails     Condition // the first that does not hold; empty: the tile is feasible
}

// Feasible reports whether all conditions hold.
func (d Design) Feasible() bool { return d.Fails == "" }

// Designs returns the tiles of 32 to 256 rows and columns with slices of 8 to 32 and threads of 8×8 and 4×4 elements.
func Designs() []Design {
	var out []Design
	for _, edge := range []int{8, 4} {
		for _, rows := range []int{32, 64, 128, 256} {
			for _, cols := range []int{32, 64, 128, 256} {
				for _, slice := range []int{8, 16, 32} {
					out = append(out, NewDesign(Tile{rows, cols, slice, edge}))
				}
			}
		}
	}
	return out
}

// NewDesign returns what the tile needs. The limits of a block are the same for all capabilities.
func NewDesign(t Tile) Design {
	limits, err := occupancy.LimitsOf(occupancy.Capability{Major: 9})
	if err != nil {
		panic(err) // the table has the capability
	}
	d := Design{Tile: t, Threads: t.BM / t.Edge * (t.BN / t.Edge), Slices: 4 * t.BK * (t.BM + t.BN), Sums: t.BM * t.BN,
		Registers: threadRegisters(t.Edge)}
	switch {
	case d.Threads > limits.BlockThreads:
		d.Fails = BlockThreads
	case d.Slices > limits.BlockShared/2:
		d.Fails = HalfShared
	case d.Sums > limits.BlockRegisters/2:
		d.Fails = HalfRegisters
	case t.BM > d.Threads: // equation 19: a thread loads BM·BK/Threads elements of A for each slice
		d.Fails = RowOfSlice
	case t.BM*t.BK%d.Threads != 0 || t.BN*t.BK%d.Threads != 0:
		d.Fails = EvenCopies
	}
	return d
}

// shownTiles are the tiles of the plan: of the 2024 report, larger ones, and for each condition one that violates it.
var shownTiles = []Tile{
	{32, 32, 8, 8}, {64, 64, 8, 8}, {64, 64, 16, 8}, {128, 128, 8, 8}, {128, 128, 16, 8}, {128, 128, 32, 8},
	{256, 256, 8, 8}, {64, 64, 8, 4}, {64, 256, 8, 4}, {128, 128, 8, 4}, {128, 256, 8, 4},
}

// Planned is a tile of the plan on one GPU.
type Planned struct {
	Design
	Mark                // muted: the tile is not feasible
	Share float64       // of the warps of a multiprocessor; NaN if the tile is not feasible or the GPU is not known
	Best  record.Record // the fastest rung with this tile in the experiment block; without a variant if there is none
}

// Block is the tile of a block and its slice.
func (p Planned) Block() string { return fmt.Sprintf("%d×%d×%d", p.BM, p.BN, p.BK) }

// Thread is the tile of a thread.
func (p Planned) Thread() string { return fmt.Sprintf("%d×%[1]d", p.Edge) }

// Memory is the bytes of shared memory of a block: two slices of A and of B.
func (p Planned) Memory() int { return 2 * p.Slices }

// Plan is the design of tiles on a GPU.
type Plan struct {
	All, Feasible int // tiles that were considered, and those that satisfy all conditions
	Size          int // n of the rungs with the tiles; 0: none was measured
	Rows          []Planned
}

// Plan returns the design of tiles for the GPU of the host.
func (v *View) Plan() Plan {
	all := Designs()
	plan := Plan{All: len(all), Feasible: len(Pick(all, Design.Feasible))}
	capability, _ := occupancy.ParseCapability(v.Device().Capability)
	entries := v.Entries("f32")
	for _, t := range shownTiles {
		p := Planned{Design: NewDesign(t), Share: math.NaN()}
		k := occupancy.Kernel{Threads: p.Threads, Registers: p.Registers, Shared: p.Memory()}
		if o, err := occupancy.Of(capability, k); err == nil && p.Feasible() {
			p.Share = o.Share
		}
		if !p.Feasible() {
			p.Mark = "muted"
		}
		for _, e := range entries { // a rung of the experiment has 8×8 elements a thread
			if e.Speed() && t.Edge == 8 && t.BM == 8*e.Block && t.BN == 8*e.Block && t.BK == e.Slice &&
				(p.Best.Variant == "" || e.Median < p.Best.Median) {
				p.Best, plan.Size = e.Record, e.N
				p.Best.Phases = nil
			}
		}
		plan.Rows = append(plan.Rows, p)
	}
	return plan
}

// Device returns the limits of the first GPU of the host. If the records have none, they are the limits of its
// compute capability, which the sweep of occupancies has; what is not known is 0.
func (v *View) Device() occupancy.GPU {
	if len(v.Devices) > 0 {
		return v.Devices[0]
	}
	for _, m := range v.Measurements {
		name := Value[string](m.Params, "cc")
		c, err := occupancy.ParseCapability(name)
		l, known := occupancy.LimitsOf(c)
		if m.Name == OccupancySweep && err == nil && known == nil {
			return occupancy.GPU{Capability: name, Warp: l.Warp, Threads: l.Threads, Blocks: l.Blocks, Registers: l.Registers,
				Shared: l.Shared, BlockThreads: l.BlockThreads, BlockRegisters: l.BlockRegisters, BlockShared: l.BlockShared,
				BlockSharedOptIn: l.BlockSharedOptIn}
		}
	}
	return occupancy.GPU{}
}
