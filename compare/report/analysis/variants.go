package analysis

import (
	"slices"
	"strings"

	"gemm/compare"
)

// A record has the name of its variant, and nothing of what the variant declares about itself.
// So reports know variants by name. This file has all names: the chapters and figures ask it.

// The families of variants.
const (
	Serial    = "serial"
	Parallel  = "parallel"
	OnRanks   = "mpi"
	OnGPU     = "cuda"
	Reference = "reference" // libraries of others
)

// The variants that chapters and figures are about.
const (
	Baseline = Serial + "/naive" // speed-ups are over it
	Packed   = Serial + "/packed"
	IKJ      = Serial + "/ikj"
	Blocked  = Serial + "/blocked"
	Gonum    = Serial + "/gonum" // a library of others, in Go

	ParallelPacked      = Parallel + "/packed"
	Rows                = Parallel + "/rows"
	CollapseAtomic      = Parallel + "/collapse-atomic"
	CollapseInnerAtomic = Parallel + "/collapse-inner-atomic"
	CollapseReduce      = Parallel + "/collapse-reduce"

	OpenBLAS    = Reference + "/openblas"
	BLIS        = Reference + "/blis"
	MKL         = Reference + "/mkl"
	ReedSolomon = Reference + "/reedsolomon" // of products over GF(2⁸)
	ScaLAPACK   = Reference + "/scalapack"   // on ranks

	P2PRows        = OnRanks + "/p2p-rows"
	P2PRowsOverlap = OnRanks + "/p2p-rows-overlap"
	ScatterRows    = OnRanks + "/scatter-rows"
	BcastRows      = OnRanks + "/bcast-rows"
	ScatterBlocks  = OnRanks + "/scatter-blocks"
	GridBlocks     = OnRanks + "/grid-blocks"

	CuBLAS     = OnGPU + "/cublas"      // NVIDIA's library, in the arithmetic of the type
	CuBLASTF32 = OnGPU + "/cublas-tf32" // the same, on operands rounded to TF32
	TF32WMMA   = OnGPU + "/tf32-wmma"
	DMMA       = OnGPU + "/dmma"
	Tuned      = OnGPU + "/tuned"
	Word       = OnGPU + "/word"
)

var (
	// FastVariants trade multiplications for additions.
	FastVariants = []string{Serial + "/strassen", Serial + "/winograd"}
	// SpreadVariants have their operands spread over the ranks. The other variants of the family
	// have them on rank 0.
	SpreadVariants = []string{OnRanks + "/summa", OnRanks + "/srumma", OnRanks + "/cannon", OnRanks + "/25d"}
	// RootVariants are the simple variants of the family whose operands are on rank 0: rows by
	// messages, rows by collective calls, and blocks.
	RootVariants = []string{P2PRows, ScatterRows, BcastRows, ScatterBlocks, GridBlocks}
	// CodeVariants compute codes; figures give them colours in this order.
	CodeVariants = []string{Packed, ParallelPacked, Tuned, Word, Blocked, IKJ, Baseline}
	// contenders are in the order of tables and figures.
	contenders = []string{Packed, ParallelPacked, OpenBLAS, MKL, BLIS, Gonum}

	// GPUOrder is the order of the ladders, NVIDIA's library last: rows of a resumed or
	// narrowed run are in another one.
	GPUOrder = []string{
		"naive", "packed-global", "coalesced", "smem", "blocktile1d", "blocktile2d", "vectorized", "conflictfree",
		"doublebuffer", "async",
		"warptile", "tf32-wmma", "dmma-wmma", "dmma", "square-tiled", "tiled", "word", "tuned", "cublas", "cublas-tf32",
	}
	// Copying are the rungs that copy several elements at once if they are aligned.
	Copying = []string{"vectorized", "conflictfree", "doublebuffer", "async", "warptile", "tf32-wmma", "dmma-wmma", "dmma"}
	// unshared are the rungs whose threads read all that they need from global memory themselves.
	unshared = []string{"naive", "packed-global", "coalesced"}
)

// Family returns the part of a variant's name before the slash.
func Family(variant string) string {
	name, _, _ := strings.Cut(variant, "/")
	return name
}

// Algorithm returns the part of a variant's name after the slash.
func Algorithm(variant string) string {
	_, name, _ := strings.Cut(variant, "/")
	return name
}

// Foreign reports whether a variant is of the family of libraries of others.
func Foreign(variant string) bool { return Family(variant) == Reference }

// Ours reports whether a row is of the suite and not of a library of others. Gonum is such a
// library in the serial family, and cuBLAS one in the family cuda.
func Ours(r compare.Record) bool {
	return !Foreign(r.Variant) && r.Variant != Gonum && !Vendor(r.Variant)
}

// Fewer reports whether a variant executes fewer than 2mnk operations.
func Fewer(variant string) bool {
	return Algorithm(variant) == "strassen" || Algorithm(variant) == "winograd"
}

// Copies reports whether a row is of a rung that copies several elements at once.
func Copies(r compare.Record) bool {
	return ByGPU(r) && slices.Contains(Copying, Algorithm(r.Variant))
}

// ByGPU reports whether a GPU computed the row.
func ByGPU(r compare.Record) bool { return Family(r.Variant) == OnGPU }

// Vendor reports whether a variant is NVIDIA's library.
func Vendor(variant string) bool { return variant == CuBLAS || variant == CuBLASTF32 }
