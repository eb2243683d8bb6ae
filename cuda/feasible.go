package cuda

import "gemm/internal/occupancy"

// Feasible is a square block of threads, each with 8×8 elements of C, and its values in the constraints 16 to 22 of the
// 2024 report, which are for single precision. There sm = sk = 8·Edge, sn = Slice and tx = ty = 8.
type Feasible struct {
	Edge      int      `json:"block"` // threads of the block along an edge
	Slice     int      `json:"bk"`    // k indices of a slice
	Tile      string   `json:"tile"`
	Threads   int      `json:"threads"`   // of the block (16)
	Shared    int      `json:"smem"`      // bytes of two slices of A and B (17)
	Sums      int      `json:"sums"`      // registers for the block's sums (18)
	Copies    float64  `json:"copies"`    // elements of A that a thread copies (19)
	Rows      float64  `json:"rows"`      // of A's transposed slice that these span (21)
	Registers int      `json:"regs"`      // of the block when a thread takes those that the compiler says: 128
	Blocks    int      `json:"blocks"`    // on a multiprocessor then; 0 if no block can be launched
	Occupancy float64  `json:"occupancy"` // 0 to 1
	Fails     []string `json:"fails"`     // names of the constraints that do not hold
}

// Constraint is a condition on a block of threads.
type Constraint struct {
	Name string `json:"name"` // its number in the report; a word if that says it in words
	Says string `json:"says"`
}

// reportRegisters is what the compiler gives the kernels of the report a thread (its figure 30).
const reportRegisters = 128

// The constraints, in the report's order. 19 and 20 define what 21 is about: a thread copies
// sm·sn/Edge² elements of A, and sm = 8·Edge. 22 is 21 solved for Edge.
var (
	threadsOfBlock = Constraint{"16", "a block has at most 1024 threads"}
	twoSlices      = Constraint{"17", "two slices of A and B fit into the 48 KiB of a block"}
	sumsOfBlock    = Constraint{"18", "sums take at most half of the registers"}
	oneRow         = Constraint{"22",
		"what a thread copies of A is at most a row of its slice (21): the edge is at least 8"}
	allRegisters = Constraint{"registers", "with 128 registers a thread the block has at most 65536"}
	wholeCopies  = Constraint{"even", "each thread copies the same number of elements"}
)

// Constraints returns the conditions that FeasibleTiles holds blocks against.
func Constraints() []Constraint {
	return []Constraint{threadsOfBlock, twoSlices, sumsOfBlock, oneRow, allRegisters, wholeCopies}
}

// FeasibleTiles returns blocks of 4×4 to 32×32 threads with slices of 8, 16 and 32, and their
// occupancy on a GPU of the compute capability.
func FeasibleTiles(c occupancy.Capability) ([]Feasible, error) {
	limits, err := occupancy.LimitsOf(c)
	if err != nil {
		return nil, err
	}
	var out []Feasible
	for _, edge := range []int{4, 8, 12, 16, 20, 24, 32} {
		for _, slice := range []int{8, 16, 32} {
			side := 8 * edge
			f := Feasible{Edge: edge, Slice: slice, Tile: Tile{BM: side, BN: side, BK: slice, TM: 8, TN: 8}.Name(),
				Threads: edge * edge, Shared: 2 * 4 * slice * 2 * side, Sums: side * side, Fails: []string{}}
			f.Copies = float64(side*slice) / float64(f.Threads)
			f.Rows = f.Copies / float64(slice)
			f.Registers = reportRegisters * f.Threads
			for _, test := range []struct {
				holds bool
				what  Constraint
			}{
				{f.Threads <= limits.BlockThreads, threadsOfBlock},
				{f.Shared <= limits.BlockShared, twoSlices},
				{f.Sums <= limits.BlockRegisters/2, sumsOfBlock},
				{f.Rows <= 1, oneRow},
				{f.Registers <= limits.BlockRegisters, allRegisters},
				{side*slice%f.Threads == 0, wholeCopies},
			} {
				if !test.holds {
					f.Fails = append(f.Fails, test.what.Name)
				}
			}
			if o, err := occupancy.Of(c,
				occupancy.Kernel{Threads: f.Threads, Registers: reportRegisters, Shared: f.Shared / 2}); err == nil {
				f.Blocks, f.Occupancy = o.Blocks, o.Share
			}
			out = append(out, f)
		}
	}
	return out, nil
}
