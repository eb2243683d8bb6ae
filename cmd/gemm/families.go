package main

import (
	"cmp"

	"gemm/cuda"
)

// ladder describes a command that measures the variants of one family.
type ladder struct {
	family, usage string
	sweeps        []sweep
	// workers is the flag of the numbers of workers: what is swept names the experiment. Empty: there are none.
	workers  string
	timeline string // what a timeline has; empty: rows have none, as a serial product, whose worker does one thing
	sizes    string // default of --sizes; empty: small ones
	// defaults are the variants that --bring measures without --variants; empty: there is no --bring.
	defaults []string
}

// sweep is a flag with several values. The values of all sweeps are combined.
type sweep struct {
	flag, usage string
	kind        kind
	param       string // of the variants; empty: the same as the flag
}

// name returns the parameter that s is of.
func (s sweep) name() string { return cmp.Or(s.param, s.flag) }

// kind says what the values of a sweep are.
type kind int

const (
	integer kind = iota
	word         // a name of many
	option       // one of few, which the help lists
)

// chainSweep is the flag of iterated products.
var chainSweep = sweep{flag: "chain", usage: "`LIST`: steps of an iterated product, timed as a whole: S = S+B, " +
	"C = A*S, swap A and C; one product is measured too"}

var ladders = []ladder{
	{
		family: "serial",
		usage:  "measure and verify the variants that run on one processor",
		sweeps: []sweep{
			{flag: "cutoff", usage: "`LIST`: sizes at which the recursion ends and the leaf computes"},
			{flag: "leaf", usage: "`LIST`: variants that compute the leaves of the recursion", kind: word},
			{flag: "block", usage: "`LIST`: block sizes"},
			{flag: "order", usage: "`LIST`: orders of the three loops, the outermost first", kind: option},
			chainSweep,
		},
		defaults: []string{"serial/naive", "serial/hinted", "reference/c-naive", "reference/c-ikj", "serial/packed"},
	},
	{
		family: "parallel",
		usage:  "measure and verify the variants that run on several threads",
		sweeps: []sweep{
			{flag: "threads", usage: "`LIST`: numbers of threads"},
			{flag: "schedule", usage: "`LIST`: schedules", kind: option},
			{flag: "chunk", usage: "`LIST`: chunk sizes, in indices; 0: the default of the schedule"},
			{flag: "affinity", usage: "`LIST`: placements of threads", kind: option},
			{flag: "gomaxprocs", usage: "`LIST`: values of GOMAXPROCS during a row; 0: the number of processors"},
			{flag: "local", usage: "`LIST`: serial variants that compute a chunk of rows or a tile", kind: word},
			{flag: "tile", usage: "`LIST`: edges of the tiles of C"},
			{flag: "load", usage: "`LIST`: imbalances: with L, the last index is computed 1+L times, the first one once"},
			{flag: "cutoff", usage: "`LIST`: sizes at which the recursion ends and the leaf computes"},
			chainSweep,
		},
		workers:  "threads",
		timeline: "record which thread computes what and when, in one additional product of every row",
		defaults: []string{"reference/openmp-collapse", "parallel/packed"},
	},
	{
		family: mpiFamily,
		usage:  "measure and verify the variants on MPI ranks",
		sweeps: []sweep{
			{flag: "np", usage: "`LIST`: numbers of ranks; under mpirun, the number of its ranks", param: "ranks"},
			{flag: "threads", usage: "`LIST`: threads per rank; 0: the rank's share of the processors"},
			{flag: "local", usage: "`LIST`: variants that compute the part of a rank", kind: word},
			{flag: "master", usage: "`LIST`: what rank 0 does when it has sent the operands", kind: option},
			{flag: "panel", usage: "`LIST`: panel widths: rows or columns sent at once"},
			{flag: "grid", usage: "`LIST`: grids of ranks PxQ; auto: the squarest", kind: word},
			{flag: "block", usage: "`LIST`: edges of the blocks that reference/scalapack deals to the ranks"},
			{flag: "replication",
				usage: "`LIST`: layers of ranks, each with a copy of C; 0: the number with the least communication"},
			{flag: "schedule", kind: option,
				usage: "`LIST`: whether idle ranks steal work from other ranks of their host (dynamic)"},
			{flag: "affinity", usage: "`LIST`: placements of ranks", kind: option},
		},
		workers:  "np",
		timeline: "record which rank does what and when, in one additional product of every row",
	},
	{
		family: cuda.Family,
		usage:  "measure and verify the ladder of kernels on an NVIDIA GPU, or explain it without one",
		sweeps: []sweep{
			{flag: "device", usage: "`LIST`: numbers of GPUs, as gemm info prints them"},
			{flag: "block", usage: "`LIST`: threads along the edge of a thread block; 0: the default"},
			{flag: "bk", usage: "`LIST`: depth of a slice, in indices of k; 0: the default"},
			{flag: "stages", usage: "`LIST`: pipeline stages: slices in shared memory, or being copied there; 0: the default"},
			{flag: "tile", kind: word,
				usage: "`LIST`: tiles of block, warp and thread, such as 128x128x8/32x64/8x8; auto: chosen for the shape"},
			{flag: "split", usage: "`LIST`: parts that k is divided into; 0: chosen for the shape"},
			{flag: "maxregs", usage: "`LIST`: most registers per thread; 0: the compiler's choice"},
			{flag: "l2", usage: "`LIST`: state of the L2 cache (cold: operands change from call to call)",
				kind: option},
			chainSweep,
		},
		timeline: "record when operands are copied, kernels run and warps wait, in one additional product " +
			"of every row",
		sizes:    "512,1024,2048,4096",
		defaults: []string{"all"},
	},
}

// ladderSizes are the default sizes.
const ladderSizes = "64,128,256,512"
