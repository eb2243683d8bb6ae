package cuda

import (
	"math"
	"slices"
	"strings"

	"gemm"
	"gemm/gf256"
	"gemm/half"
)

// Backend constructs the multipliers that run on a GPU.
type Backend interface {
	F32(name string, p gemm.Params) (gemm.Multiplier[float32], error)
	F64(name string, p gemm.Params) (gemm.Multiplier[float64], error)
	F16(name string, p gemm.Params) (gemm.Multiplier[half.F16], error)
	BF16(name string, p gemm.Params) (gemm.Multiplier[half.BF16], error)
	GF256(name string, p gemm.Params) (gemm.Multiplier[gf256.Elem], error)
}

// Worker is the program whose variants run: it alone is linked with the driver.
const Worker = "gemm-cuda"

// The algorithms of the family, in the order of reports and of all ladders.
var algorithms = []struct {
	name, doc string
	types     string // those of NVIDIA's library; rungs say theirs
	role      gemm.Role
	class     gemm.Class
	part      gemm.Part
	advice    gemm.Advice
}{
	{name: "naive", class: gemm.Textbook, doc: "each thread computes one element of C"},
	{name: "packed-global", doc: "A and B are first copied into blocks in global memory", part: gemm.LabPacked},
	{name: "packed-smem", doc: "packed blocks of A and B are read once a block, into shared memory",
		part: gemm.LabShared},
	{name: "packed-conflictfree", doc: "packed blocks of A are transposed in shared memory: no bank conflicts",
		part: gemm.LabTransposed},
	{name: "coalesced", doc: "the threads of a warp go along a row, so their accesses are one transaction",
		advice: gemm.Advice{Item: "G12", Over: "cuda/naive"}},
	{name: "smem", doc: "a block reads slices of A and B once, into shared memory",
		advice: gemm.Advice{Item: "G1", Over: "cuda/coalesced"}},
	{name: "blocktile1d", doc: "a thread keeps a column of elements of C in registers",
		advice: gemm.Advice{Item: "G2", Over: "cuda/smem"}},
	{name: "blocktile2d", doc: "a thread keeps a tile of elements of C in registers"},
	{name: "vectorized", doc: "copies of up to 16 bytes, as alignment permits"},
	{name: "transposed", doc: "A is transposed in shared memory, so both fragments are read 16 bytes at a time"},
	{name: "conflictfree", doc: "the layout of slices in shared memory avoids bank conflicts",
		advice: gemm.Advice{Item: "G3", Over: "cuda/transposed"}},
	{name: "doublebuffer", doc: "the next slice is loaded while this one is multiplied",
		advice: gemm.Advice{Item: "G4", Over: "cuda/conflictfree"}},
	{name: "async", doc: "slices are copied to shared memory without registers (cp.async)"},
	{name: "multistage", doc: "a ring of slices in shared memory, of which several are on their way"},
	{name: "blockorder", doc: "blocks that run at the same time compute neighbouring tiles, for the L2 cache"},
	{name: "prefetch", doc: "fragments are read from shared memory one step ahead of the products"},
	{name: "serpentine", doc: "each product has an operand in common with the one before"},
	{name: "interleave", doc: "the copies of a slice are spread over the products of another"},
	{name: "rowstores", doc: "C that is not aligned goes through shared memory, to be stored in rows"},
	{name: "warptile", doc: "warp tiles between block and thread tiles, chosen for the shape", role: gemm.Production},
	{name: "tf32-wmma", doc: "warp tiles by tensor cores, 16x16x8 by wmma, operands rounded to TF32"},
	{name: "tf32-mma", doc: "warp tiles by tensor cores, by mma, operands rounded to TF32", role: gemm.Production},
	{name: "tf32-wgmma", doc: "warpgroups multiply slices that the copy engine brings, operands rounded to TF32"},
	{name: "tf32-wgmma-ws", doc: "one warp copies ahead through a ring of slices, two warpgroups multiply, TF32"},
	{name: "tf32-wgmma-persistent", doc: "a block on each multiprocessor computes tile after tile, TF32",
		role: gemm.Production},
	{name: F16x3, doc: "the accuracy of single precision from three products of half precision", role: gemm.Production},
	{name: "mma", doc: "warp tiles by tensor cores in half precision, by mma"},
	{name: "wgmma", doc: "warpgroups multiply slices that the copy engine brings, in half precision"},
	{name: "wgmma-ws", doc: "one warp copies ahead through a ring of slices, two warpgroups multiply, half precision"},
	{name: "wgmma-persistent", doc: "a block on each multiprocessor computes tile after tile, half precision",
		role: gemm.Production},
	{name: "dmma-wmma", doc: "warp tiles by tensor cores, 8x8x4 by wmma", part: gemm.LabTensor},
	{name: "dmma", doc: "warp tiles by tensor cores, by mma", role: gemm.Production},
	{name: "square-tiled", doc: "a block reads square tiles of A and B once, into shared memory"},
	{name: "tiled", doc: "tiles of any shape, given when the kernel is launched"},
	{name: "word", doc: "4, 8 or 16 bytes are copied at once, and multiplied as words"},
	{name: "tuned", doc: "products by look-ups in registers, every byte of B read once for 16 rows of C",
		role: gemm.Production},
	{name: CuBLAS, doc: "NVIDIA's library in the arithmetic of the type", types: "f32 f64 f16 bf16",
		role: gemm.Library, part: gemm.LabLibrary},
	{name: CuBLASTF32, doc: "NVIDIA's library with operands rounded to TF32", types: "f32", role: gemm.Library},
	{name: Torch, doc: "PyTorch, called from Python, in the arithmetic of the type", types: "f32 f64 f16 bf16",
		role: gemm.Library},
	{name: TorchTF32, doc: "PyTorch, called from Python, with operands rounded to TF32", types: "f32",
		role: gemm.Library},
}

// The names of NVIDIA's library and of PyTorch, which are no rungs.
const (
	CuBLAS     = "cublas"
	CuBLASTF32 = "cublas-tf32"
	Torch      = "torch"
	TorchTF32  = "torch-tf32"
)

// LeastTF32 is the compute capability from which there are products in TF32: 80 is 8.0.
const LeastTF32 = 80

// Variants returns the family in report order. Without a backend each constructor says
// what runs it.
func Variants(b Backend) []gemm.Variant {
	if b == nil {
		b = absent{}
	}
	var out []gemm.Variant
	for _, a := range algorithms {
		var of []Rung
		for _, r := range rungs {
			if r.Name == a.name {
				of = append(of, r)
			}
		}
		v := gemm.Variant{
			Name: Family + "/" + a.name, Doc: a.doc, Params: params(of), Bound: gemm.Classical,
			Location: gemm.OnGPU, Role: a.role, Class: a.class, Fetch: map[string]gemm.Fetch{},
			Can:   gemm.Gemms | gemm.Stages | gemm.GemmStages | gemm.Explains | gemm.Repeats | gemm.Chains,
			Model: func(s gemm.Shape, _ gemm.Params) gemm.Model { return model(of, s.M, s.N, s.K) },
		}
		if a.role == gemm.Library {
			v.Class = gemm.Tuned
		}
		if a.part != "" {
			v.Parts = []gemm.Part{a.part}
		}
		if a.advice.Item != "" {
			v.Advice = []gemm.Advice{a.advice}
		}
		for _, r := range of {
			v.Fetch[r.Type] = r.fetch()
		}
		if a.name == CuBLAS || slices.ContainsFunc(of, func(r Rung) bool { return r.Batches }) {
			v.Can |= gemm.BatchStages
		}
		if IsTorch(a.name) {
			v.Can = gemm.Stages | gemm.Explains | gemm.Warns | gemm.Repeats
		}
		if IsTF32(a.name) {
			v.Bound, v.Compute = tf32, "tf32"
		}
		if a.name == F16x3 {
			v.Bound, v.Compute = halves, F16x3
		}
		has := func(typ string) bool {
			return slices.Contains(strings.Fields(a.types), typ) ||
				slices.ContainsFunc(of, func(r Rung) bool { return r.Type == typ })
		}
		if has("f16") && len(of) > 0 {
			v.Bound = truncated
		}
		if has("f32") {
			v.F32 = func(p gemm.Params) (gemm.Multiplier[float32], error) { return b.F32(a.name, p) }
		}
		if has("f64") {
			v.F64 = func(p gemm.Params) (gemm.Multiplier[float64], error) { return b.F64(a.name, p) }
		}
		if has("f16") {
			v.F16 = func(p gemm.Params) (gemm.Multiplier[half.F16], error) { return b.F16(a.name, p) }
		}
		if has("bf16") {
			v.BF16 = func(p gemm.Params) (gemm.Multiplier[half.BF16], error) { return b.BF16(a.name, p) }
		}
		if has("gf256") {
			v.GF256 = func(p gemm.Params) (gemm.Multiplier[gf256.Elem], error) { return b.GF256(a.name, p) }
		}
		out = append(out, v)
	}
	return out
}

// fetch says how threads get elements of A and B.
func (r Rung) fetch() gemm.Fetch {
	t := r.Tiles[0]
	switch _, block := r.reads(t); {
	case r.fetches != "":
		return r.fetches
	case block == 0:
		return gemm.Coalesced
	case r.Exact && r.threads(t) > 2*min(t.BM, t.BN): // more than the warpgroups that have 64 rows or columns each
		return gemm.Producer
	case r.Exact:
		return gemm.Engine
	case r.Copies:
		return gemm.Wide
	}
	return ""
}

// Family is the name of the family.
const Family = "cuda"

// RoleOf returns the role of the algorithm.
func RoleOf(name string) gemm.Role {
	for _, a := range algorithms {
		if a.name == name {
			return a.role
		}
	}
	return gemm.Rung
}

// IsTF32 reports whether the algorithm rounds its operands to TF32.
func IsTF32(name string) bool {
	return name == CuBLASTF32 || name == TorchTF32 ||
		slices.ContainsFunc(rungs, func(r Rung) bool { return r.Name == name && r.Pipe() == "tf32" })
}

// IsTorch reports whether PyTorch computes the algorithm, which has products C = A·B only.
func IsTorch(name string) bool { return name == Torch || name == TorchTF32 }

// absent is the backend of a program that has none.
type absent struct{}

func (absent) F32(string, gemm.Params) (gemm.Multiplier[float32], error)    { return nil, errAbsent }
func (absent) F64(string, gemm.Params) (gemm.Multiplier[float64], error)    { return nil, errAbsent }
func (absent) F16(string, gemm.Params) (gemm.Multiplier[half.F16], error)   { return nil, errAbsent }
func (absent) BF16(string, gemm.Params) (gemm.Multiplier[half.BF16], error) { return nil, errAbsent }
func (absent) GF256(string, gemm.Params) (gemm.Multiplier[gf256.Elem], error) {
	return nil, errAbsent
}

var errAbsent = gemm.Unavailablef("runs in the program %s, which gemm cuda and gemm compare start", Worker)

// params returns the parameters of an algorithm: those that a setting of one of its rungs
// has. 0 and auto stand for a choice by shape and GPU.
func params(of []Rung) []gemm.Param {
	out := []gemm.Param{
		{Name: "device", Doc: "number of the GPU", Default: 0},
		{Name: "l2", Doc: "state of the L2 cache (cold: operands change from call to call)", Default: "cold",
			Choices: []string{"cold", "warm"}},
	}
	several := func(value func(t Tile) int) bool {
		seen := map[int]bool{}
		for _, r := range of {
			for _, t := range r.Tiles {
				if n := value(t); n != 0 {
					seen[n] = true
				}
			}
		}
		return len(seen) > 1
	}
	if several(func(t Tile) int { return t.block() }) {
		out = append(out, gemm.Param{Name: "block", Doc: "threads along the edge of a block; 0: the default", Default: 0})
	}
	if several(func(t Tile) int { return t.BK }) {
		out = append(out, gemm.Param{Name: "bk", Doc: "depth of a slice in indices of k; 0: the default", Default: 0})
	}
	if slices.ContainsFunc(of,
		func(r Rung) bool { return slices.ContainsFunc(r.Tiles, func(t Tile) bool { return t.Stages > 0 }) }) {
		out = append(out, gemm.Param{Name: "stages", Doc: "pipeline stages: slices in shared memory, or being copied there; 0: the default",
			Default: 0, Max: mostEdge})
	}
	if len(of) > 0 {
		out = append(out, gemm.Param{Name: "tile",
			Doc: "tiles of block, warp and thread, such as 128x128x8/32x64/8x8; auto: chosen for the shape", Default: Auto})
	}
	if slices.ContainsFunc(of, func(r Rung) bool { return r.Splits }) {
		out = append(out, gemm.Param{Name: "split", Doc: "parts that k is divided into; 0: chosen for the shape", Default: 0, Max: 64})
	}
	if slices.ContainsFunc(of, func(r Rung) bool { return r.Capped }) {
		out = append(out, gemm.Param{Name: "maxregs", Doc: "most registers per thread; 0: the compiler's choice",
			Default: 0, Max: 255})
	}
	return out
}

// Auto is the tile that is chosen by shape.
const Auto = "auto"

// model is the cost of a classical product, with the elements that are asked of global
// memory; no cache of the host's is between.
func model(of []Rung, m, n, k int) gemm.Model {
	mf, nf, kf := float64(m), float64(n), float64(k)
	accesses := mf*kf + kf*nf + mf*nf
	if len(of) > 0 {
		reads := of[0].Reads(of[0].Tiles[0], gemm.Shape{M: m, N: n, K: k})
		accesses = max(accesses, reads.Global+mf*nf)
	}
	return gemm.Model{Flops: 2 * mf * nf * kf, Accesses: accesses, Traffic: func(_, _ float64) float64 { return accesses }}
}

// truncated is the bound of sums by tensor cores, whose additions in single precision have an error of at most 2u, as
// in tf32.
var truncated = gemm.Bound{
	Kind:    gemm.Componentwise,
	Worst:   truncatedWorst,
	Random:  truncatedWorst, // what is cut off has one sign, and does not cancel
	Largest: gemm.Classical.Largest,
}

func truncatedWorst(s gemm.Shape, _ gemm.Params, u float64) float64 {
	return gemm.Gamma(float64(s.K), 2*u)
}

// tf32 is the bound of products whose operands are rounded to TF32: 11 significant bits, to
// nearest. So each product has an error of at most (1 + 2⁻¹¹)² − 1. The tensor cores add in single
// precision and truncate (Fasi, Higham, Mikaitis and Pranesh, Numerical behavior of NVIDIA tensor
// cores, PeerJ Computer Science 7:e330, 2021): an addition has an error of at most 2u.
var tf32 = gemm.Bound{
	Kind:    gemm.Componentwise,
	Worst:   tf32Worst,
	Random:  tf32Worst, // what is cut off has one sign, and does not cancel
	Largest: gemm.Classical.Largest,
}

func tf32Worst(s gemm.Shape, _ gemm.Params, u float64) float64 {
	const rounded = (1 + 0x1p-11) * (1 + 0x1p-11)
	return rounded*(1+gemm.Gamma(float64(s.K), 2*math.Max(u, gemm.TypeOf[float32]().UnitRoundoff))) - 1
}

// halves is the bound of products of operands that are split into h + l/2¹¹, two numbers of f16, which have 11
// significant bits, rounded to nearest. With u = 2⁻¹¹ and v = u/(1 + u), h has an error of at most v|x|, and the sum
// of both one of at most v²|x|. So a product has three errors: v²|a||b| for the product of the low parts, which is
// left out, and (1 + v)v²|a||b| for the rounding of either low part. They are less than 3·2⁻²² together.
//
// The tensor cores add chunks of k, each addition with an error of at most 2u of single precision, as above. The
// additions of chunks, of the low sum and of the parts of a tile that is cut along k, and the product with α, have an
// error of at most u each. If n chunks are in parts of s each, there are at most s + ⌈n/s⌉ ≤ n + 1 additions of chunks
// and parts. The 2k terms with
// a low part are at most 2⁻¹⁰(1 + v) of |a||b|. They are counted twice, which covers that |h| may be (1 + v)|x| in
// the other sums.
//
// The bound holds if elements are at least 2⁻²⁸ of the largest of their row of A, or column of B. A smaller one, if
// it fits, has an error of up to 2⁻⁵⁰ of the largest. No bound for each element of C covers this: if the partner of
// the small one is large and those of large ones are 0, the verifier calls the result wrong. Operands that are drawn
// for measurements lie between ½ and 1 or are integers, so none is that small.
var halves = gemm.Bound{
	Kind:    gemm.Componentwise,
	Worst:   halvesWorst,
	Random:  halvesWorst,
	Largest: gemm.Classical.Largest,
}

func halvesWorst(s gemm.Shape, _ gemm.Params, u float64) float64 {
	const (
		parts = 3 * 0x1p-22 // two elements, and the product that is left out
		low   = 2 * 0x1p-10 // twice the terms with a low part, relative to the others
	)
	u = math.Max(u, gemm.TypeOf[float32]().UnitRoundoff)
	k := float64(s.K)
	high := gemm.Gamma(math.Min(k, chunkOfK), 2*u) + gemm.Gamma(math.Ceil(k/chunkOfK)+3, u)
	return (1+parts)*(1+high+low*gemm.Gamma(2*k, 2*u)) - 1
}
