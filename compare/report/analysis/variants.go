package analysis

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"gemm"
	"gemm/compare"
)

// A record has the name of its variant, and nothing of what the variant declares about itself.
// So reports know variants by name. This file has all names: the chapters and figures ask it.

// Declaration is what a variant declares about itself that reports need: see gemm.Variant.
type Declaration struct {
	Parent    string    `json:"parent,omitempty"`
	Loop      gemm.Loop `json:"loop,omitzero"`
	FieldLoop gemm.Loop `json:"field_loop,omitzero"`
}

// declarations is written by the test of package internal/catalog, which has the variants.
//
//go:embed declarations.json
var declarations []byte

// Declarations returns what the variants declare, by name. Variants without a parent and a loop
// are left out.
var Declarations = sync.OnceValue(func() map[string]Declaration {
	var all map[string]Declaration
	if err := json.Unmarshal(declarations, &all); err != nil {
		panic(fmt.Sprintf("analysis: declarations.json: %v", err))
	}
	return all
})

// Parent returns the variant that a variant changes one thing of, "" if there is none.
func Parent(variant string) string { return Declarations()[variant].Parent }

// Ancestor returns the nearest of the parents of a variant, their parents and so on that has rows, ""
// if none has.
func Ancestor(rows []compare.Record, variant string) string {
	for parent := Parent(variant); parent != ""; parent = Parent(parent) {
		if slices.ContainsFunc(rows, func(r compare.Record) bool { return r.Variant == parent }) {
			return parent
		}
	}
	return ""
}

// ParentsFirst returns variants in their order, but none before one that it descends from.
func ParentsFirst(variants []string) []string {
	var out []string
	var add func(variant string)
	add = func(variant string) {
		if slices.Contains(out, variant) {
			return
		}
		for parent := Parent(variant); parent != ""; parent = Parent(parent) {
			if slices.Contains(variants, parent) {
				add(parent)
			}
		}
		out = append(out, variant)
	}
	for _, variant := range variants {
		add(variant)
	}
	return out
}

// ParentRow returns the row of a parent that a row is compared with: of the same problem, on as many
// threads unless the parent is of another family.
func ParentRow(rows []compare.Record, parent string, after compare.Record) (compare.Record, bool) {
	p := ProblemOf(after)
	if Family(parent) != Family(after.Variant) {
		i := slices.IndexFunc(rows, func(r compare.Record) bool {
			return r.Variant == parent &&
				r.Problem == after.Problem
		})
		if i < 0 {
			return compare.Record{}, false
		}
		p = ProblemOf(rows[i])
	}
	return At(rows, parent, p)
}

// Ran returns the variant that computed a row. This is the row's variant, unless that is a recursion
// and its cut-off ended it before the first division. Then the leaf computed the whole product.
func Ran(r compare.Record) string {
	if ran := r.Ran(); ran != "" {
		return ran
	}
	cutoff, known := r.Resolved["cutoff"].(int)
	if !known {
		cutoff, known = r.Params["cutoff"].(int)
	}
	if !known {
		return r.Variant
	}
	m, n, k := float64(r.M), float64(r.N), float64(r.K)
	var divided bool
	leaf := Packed
	switch r.Variant {
	case Divide:
		divided, leaf = max(r.M, r.N, r.K) > cutoff, Hinted
	case ParallelStrassen:
		leaf = ParallelPacked
		fallthrough
	case Strassen, Winograd:
		// The condition of the recursion: the harmonic mean of m, n and k exceeds the cut-off.
		divided = min(m, n, k) > 1 && 3*m*n*k > float64(cutoff)*(m*n+n*k+k*m)
	default:
		return r.Variant
	}
	if divided {
		return r.Variant
	}
	for _, params := range []gemm.Params{r.Resolved, r.Params} {
		if name, ok := params["leaf"].(string); ok {
			return name
		}
	}
	return leaf
}

// RanItself reports whether a row was computed by its own variant.
func RanItself(r compare.Record) bool { return Ran(r) == r.Variant }

// The families of variants.
const (
	Serial    = "serial"
	Parallel  = "parallel"
	OnRanks   = "mpi"
	OnGPU     = "cuda"
	Reference = "reference" // libraries of others, and programs in C
	User      = "user"      // kernels that the user brought
)

// The variants that chapters and figures are about.
const (
	Baseline = Serial + "/naive" // speed-ups are over it
	Packed   = Serial + "/packed"
	IKJ      = Serial + "/ikj"
	Hinted   = Serial + "/hinted"
	Blocked  = Serial + "/blocked"
	Divide   = Serial + "/divide"
	Strassen = Serial + "/strassen"
	Winograd = Serial + "/winograd"
	Gonum    = Serial + "/gonum" // a library of others, in Go

	ParallelPacked      = Parallel + "/packed"
	ParallelStrassen    = Parallel + "/strassen"
	Tiles               = Parallel + "/tiles"
	Rows                = Parallel + "/rows"
	CollapseAtomic      = Parallel + "/collapse-atomic"
	CollapseInnerAtomic = Parallel + "/collapse-inner-atomic"
	CollapseReduce      = Parallel + "/collapse-reduce"

	OpenBLAS    = Reference + "/openblas"
	BLIS        = Reference + "/blis"
	MKL         = Reference + "/mkl"
	ReedSolomon = Reference + "/reedsolomon" // of products over GF(2⁸)
	ScaLAPACK   = Reference + "/scalapack"   // on ranks

	CNaive         = Reference + "/c-naive" // textbook programs in C
	CRestrict      = Reference + "/c-restrict"
	CIKJ           = Reference + "/c-ikj"
	OpenMPCollapse = Reference + "/openmp-collapse"
	InPython       = Reference + "/python" // textbook loops in Python, timed at a size of their own

	P2PRows        = OnRanks + "/p2p-rows"
	P2PRowsOverlap = OnRanks + "/p2p-rows-overlap"
	ScatterRows    = OnRanks + "/scatter-rows"
	BcastRows      = OnRanks + "/bcast-rows"
	ScatterBlocks  = OnRanks + "/scatter-blocks"
	GridBlocks     = OnRanks + "/grid-blocks"

	CuBLAS     = OnGPU + "/cublas"      // NVIDIA's library, in the arithmetic of the type
	CuBLASTF32 = OnGPU + "/cublas-tf32" // the same, on operands rounded to TF32
	Torch      = OnGPU + "/torch"       // PyTorch; other arithmetic has a suffix
	DMMA       = OnGPU + "/dmma"
	Tuned      = OnGPU + "/tuned"
	Word       = OnGPU + "/word"
)

var (
	// FastVariants trade multiplications for additions.
	FastVariants = []string{Strassen, Winograd}
	// SpreadVariants have their operands spread over the ranks. The other variants of the family
	// have them on rank 0.
	SpreadVariants = []string{OnRanks + "/summa", OnRanks + "/srumma", OnRanks + "/cannon", OnRanks + "/25d"}
	// RootVariants are the simple variants of the family whose operands are on rank 0: rows by
	// messages, rows by collective calls, and blocks.
	RootVariants = []string{P2PRows, ScatterRows, BcastRows, ScatterBlocks, GridBlocks}
	// CodeVariants compute codes; figures give them colours in this order.
	CodeVariants = []string{Packed, ParallelPacked, Tuned, Word, Blocked, IKJ, Baseline}
	// contenders are in the order of tables and figures.
	contenders = []string{Packed, ParallelPacked, OpenBLAS, MKL, BLIS, Gonum, Reference + "/libxsmm",
		Reference + "/numpy", Reference + "/torch", Reference + "/accelerate"}

	// GPUOrder is the order of the ladders, libraries of others last: rows of a resumed or
	// narrowed run are in another one.
	GPUOrder = []string{
		"naive", "packed-global", "packed-smem", "packed-conflictfree", "coalesced", "smem", "blocktile1d",
		"blocktile2d",
		"vectorized", "transposed", "conflictfree", "doublebuffer", "async", "multistage", "blockorder", "prefetch",
		"serpentine", "interleave", "rowstores", "warptile", "tf32-wmma", "tf32-mma", "tf32-wgmma", "tf32-wgmma-ws",
		"tf32-wgmma-persistent", "f16x3", "mma", "wgmma", "wgmma-ws", "wgmma-persistent", "dmma-wmma", "dmma",
		"square-tiled", "tiled", "word", "tuned", "cublas", "cublas-tf32", "torch", "torch-tf32",
	}
	// Copying are the rungs that copy several elements at once if they are aligned.
	Copying = []string{"vectorized", "transposed", "conflictfree", "doublebuffer", "async", "multistage", "blockorder",
		"prefetch", "serpentine", "interleave", "rowstores", "warptile", "tf32-wmma", "tf32-mma", "mma", "dmma-wmma",
		"dmma"}
	// engined are the rungs whose slices the copy engine brings.
	engined = []string{"tf32-wgmma", "tf32-wgmma-ws", "tf32-wgmma-persistent", "f16x3", "wgmma", "wgmma-ws",
		"wgmma-persistent"}
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

// Short returns the algorithm of a variant, for places that are about one family. A kernel of the user
// keeps its whole name.
func Short(variant string) string {
	if Brought(variant) {
		return variant
	}
	return Algorithm(variant)
}

// Foreign reports whether a variant is of the family reference: a library of others or a program in C.
func Foreign(variant string) bool { return Family(variant) == Reference }

// Ours reports whether a row is of the suite, and neither of a library of others nor of the user.
// Gonum is such a library in the serial family, and cuBLAS and PyTorch are in the family cuda.
func Ours(r compare.Record) bool {
	return !Foreign(r.Variant) && !Brought(r.Variant) && r.Variant != Gonum && !Vendor(r.Variant) &&
		!strings.HasPrefix(r.Variant, Torch)
}

// Fewer reports whether a variant executes fewer than 2mnk operations.
func Fewer(variant string) bool {
	return !Brought(variant) && (Algorithm(variant) == "strassen" || Algorithm(variant) == "winograd")
}

// Copies reports whether a row is of a rung that copies several elements at once.
func Copies(r compare.Record) bool {
	return ByGPU(r) && Ours(r) && slices.Contains(Copying, Algorithm(r.Variant))
}

// Engined reports whether a row is of a rung whose slices the copy engine brings.
func Engined(r compare.Record) bool {
	return ByGPU(r) && Ours(r) && slices.Contains(engined, Algorithm(r.Variant))
}

// Unshared reports whether a row is of a rung whose threads read all that they need from global memory
// themselves.
func Unshared(r compare.Record) bool {
	return ByGPU(r) && slices.Contains(unshared, Algorithm(r.Variant))
}

// ByGPU reports whether a GPU computed the row.
func ByGPU(r compare.Record) bool { return Home(r) == OnGPU }

// Vendor reports whether a variant is NVIDIA's library.
func Vendor(variant string) bool { return variant == CuBLAS || variant == CuBLASTF32 }

// contrasts are the items of docs/advice.md that two variants judge: the second follows the item, the first does not.
var contrasts = []Judgement{
	{Item: "S4", Before: Baseline, After: IKJ},
	{Item: "S6", Before: Hinted, After: Blocked},
	{Item: "S7", Before: Baseline, After: Serial + "/unrolled"},
	{Item: "S9", Before: Strassen, After: Packed},
	{Item: "M2", Before: ScatterRows, After: ScatterBlocks},
	{Item: "M3", Before: P2PRows, After: P2PRowsOverlap},
	{Item: "T8", Before: Parallel + "/inner", After: Rows},
	{Item: "T9", Before: CollapseInnerAtomic, After: CollapseReduce},
	{Item: "G1", Before: OnGPU + "/coalesced", After: OnGPU + "/smem"},
	{Item: "G2", Before: OnGPU + "/smem", After: OnGPU + "/blocktile1d"},
	{Item: "G3", Before: OnGPU + "/transposed", After: OnGPU + "/conflictfree"},
	{Item: "G4", Before: OnGPU + "/conflictfree", After: OnGPU + "/doublebuffer"},
	{Item: "G12", Before: OnGPU + "/naive", After: OnGPU + "/coalesced"},
}

// Judgement is an item of docs/advice.md with the two variants that judge it.
type Judgement struct {
	Item          string
	Before, After string
	Problem       Problem // the largest square product that both computed, of the first type that has one
	Comparison            // Quicker supports the item, Slower contradicts it
}

// Judged returns the items that the rows of the ladder support or contradict.
func (v *View) Judged() (out []Judgement) {
	types := Types(v.Records)
	for _, j := range contrasts {
		i := slices.IndexFunc(types, func(typ string) bool { return v.judge(&j, typ) })
		if i >= 0 && (j.Outcome == Quicker || j.Outcome == Slower) {
			out = append(out, j)
		}
	}
	return out
}

// judge compares the variants of j on one type, and reports whether both were timed on a square product.
func (v *View) judge(j *Judgement, typ string) bool {
	rows := picked(Timed(v.Ladder(typ)), func(r compare.Record) bool { return !v.Crowds(r) })
	for _, p := range slices.Backward(Problems(rows)) {
		before, ok := At(rows, j.Before, p)
		after, both := At(rows, j.After, p)
		if ok && both && p.Cube() {
			j.Problem, j.Comparison = p, Contrast(before, after)
			return true
		}
	}
	return false
}
