package cuda

import (
	"slices"
	"strings"

	"gemm"
	"gemm/cuda/ladder"
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

// libraries are the algorithms after the rungs.
var libraries = []struct {
	name, doc, types string
	ladder.Arithmetic
}{
	{CuBLAS, "NVIDIA's library in the arithmetic of the type", "f32 f64 f16 bf16", classical},
	{CuBLASTF32, "NVIDIA's library with operands rounded to TF32", "f32", ladder.TF32},
	{CuBLASXt, "NVIDIA's library on several GPUs, with operands on one of them", "f32 f64", classical},
	{Torch, "PyTorch, called from Python, in the arithmetic of the type", "f32 f64 f16 bf16", classical},
	{TorchTF32, "PyTorch, called from Python, with operands rounded to TF32", "f32", ladder.TF32},
}

var classical = ladder.Arithmetic{Bound: gemm.Classical}

// The names of NVIDIA's library and of PyTorch, which are no rungs.
const (
	CuBLAS     = "cublas"
	CuBLASTF32 = "cublas-tf32"
	CuBLASXt   = "cublasxt"
	Torch      = "torch"
	TorchTF32  = "torch-tf32"
)

// LeastTF32 is the compute capability from which there are products in TF32: 80 is 8.0.
const LeastTF32 = 80

// Variants returns the family in report order. Without a backend each constructor says what runs it.
func Variants(b Backend) []gemm.Variant {
	if b == nil {
		b = absent{}
	}
	const can = gemm.Gemms | gemm.Stages | gemm.GemmStages | gemm.Explains | gemm.Repeats | gemm.Chains
	var out []gemm.Variant
	for i, r := range rungs {
		same := func(o Rung) bool { return o.Name == r.Name }
		if slices.ContainsFunc(rungs[:i], same) {
			continue
		}
		of := slices.DeleteFunc(slices.Clone(rungs), func(o Rung) bool { return !same(o) })
		v := gemm.Variant{Doc: r.Doc, Role: r.Role, FormerRole: r.Former, Bound: r.Bound, Compute: r.Compute, Can: can}
		fetch := map[string]string{}
		about := map[string]any{"fetch": fetch}
		v.Class, v.About, v.Parents = r.Rung.Class, about, map[string]string{}
		if parent, ok := r.ParentRung(); ok {
			v.Parent = Family + "/" + parent.Name
		}
		if r.Advice != "" {
			about["advice"] = []map[string]string{{"item": r.Advice, "over": v.Parent}}
		}
		v.BoundOf = func(typ string, _ gemm.Params) gemm.Bound {
			return of[slices.IndexFunc(of, func(o Rung) bool { return o.Type == typ })].Bound
		}
		var types []string
		for _, o := range of {
			types, fetch[o.Type] = append(types, o.Type), o.fetch()
			if parent, ok := o.ParentRung(); ok && Family+"/"+parent.Name != v.Parent {
				v.Parents[o.Type] = Family + "/" + parent.Name
			}
			if o.Batches {
				v.Can |= gemm.BatchStages
			}
		}
		out = append(out, variant(b, v, r.Name, of, types))
	}
	for _, l := range libraries {
		v := gemm.Variant{Doc: l.doc, Role: gemm.Library, Class: gemm.Tuned, Bound: l.Bound, Compute: l.Compute, Can: can}
		if l.name == CuBLAS {
			v.Can |= gemm.BatchStages
		}
		if IsTorch(l.name) {
			v.Can = gemm.Stages | gemm.Explains | gemm.Warns | gemm.Repeats
		}
		v = variant(b, v, l.name, nil, strings.Fields(l.types))
		if l.name == CuBLASXt {
			v.Params = append(v.Params, devicesParam)
		}
		out = append(out, v)
	}
	return append(out, multi(b, out))
}

// variant returns v with what all algorithms have.
func variant(b Backend, v gemm.Variant, name string, of []Rung, types []string) gemm.Variant {
	v.Name, v.Params, v.Location = Family+"/"+name, params(of), gemm.OnGPU
	v.Model = func(s gemm.Shape, _ gemm.Params) gemm.Model { return model(of, s.M, s.N, s.K) }
	for _, typ := range types {
		switch typ {
		case "f32":
			v.F32 = func(p gemm.Params) (gemm.Multiplier[float32], error) { return b.F32(name, p) }
		case "f64":
			v.F64 = func(p gemm.Params) (gemm.Multiplier[float64], error) { return b.F64(name, p) }
		case "f16":
			v.F16 = func(p gemm.Params) (gemm.Multiplier[half.F16], error) { return b.F16(name, p) }
		case "bf16":
			v.BF16 = func(p gemm.Params) (gemm.Multiplier[half.BF16], error) { return b.BF16(name, p) }
		case "gf256":
			v.GF256 = func(p gemm.Params) (gemm.Multiplier[gf256.Elem], error) { return b.GF256(name, p) }
		}
	}
	return v
}

// fetch says how threads get elements of A and B, as a record.Fetch.
func (r Rung) fetch() string {
	t := r.Tiles[0]
	switch {
	case r.Fetch != "":
		return r.Fetch
	case r.Elements != nil:
		return "coalesced"
	case r.Exact && r.Threads(t) > 2*min(t.BM, t.BN): // more than the warpgroups that have 64 rows or columns each
		return "producer"
	case r.Exact:
		return "engine"
	case r.Copies:
		return "wide"
	}
	return ""
}

// Family is the name of the family.
const Family = "cuda"

// IsTF32 reports whether the algorithm rounds its operands to TF32.
func IsTF32(name string) bool {
	return name == CuBLASTF32 || name == TorchTF32 ||
		slices.ContainsFunc(rungs, func(r Rung) bool { return r.Name == name && r.Pipe == "tf32" })
}

// IsTorch reports whether PyTorch computes the algorithm.
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
	var tiles []Tile
	for _, r := range of {
		tiles = append(tiles, r.Tiles...)
	}
	several := func(value func(t Tile) int) bool {
		seen := map[int]bool{}
		for _, t := range tiles {
			seen[value(t)] = true
		}
		delete(seen, 0)
		return len(seen) > 1
	}
	staged := func(t Tile) bool { return t.Stages > 0 }
	var out []gemm.Param
	for _, p := range []struct {
		has bool
		gemm.Param
	}{
		{true, gemm.Param{Name: "device", Doc: "number of the GPU", Default: 0}},
		{true, gemm.Param{Name: "l2", Doc: "state of the L2 cache (cold: operands change from call to call)",
			Default: "cold", Choices: []string{"cold", "warm"}}},
		{several(Tile.Edge),
			gemm.Param{Name: "block", Doc: "threads along the edge of a block; 0: the default", Default: 0}},
		{several(func(t Tile) int { return t.BK }),
			gemm.Param{Name: "bk", Doc: "depth of a slice in indices of k; 0: the default", Default: 0}},
		{slices.ContainsFunc(tiles, staged), gemm.Param{Name: "stages", Default: 0, Max: mostEdge,
			Doc: "pipeline stages: slices in shared memory, or being copied there; 0: the default"}},
		{len(of) > 0, gemm.Param{Name: "tile", Default: Auto,
			Doc: "tiles of block, warp and thread, such as 128x128x8/32x64/8x8; auto: chosen for the shape"}},
		{slices.ContainsFunc(of, func(r Rung) bool { return r.Splits }),
			gemm.Param{Name: "split", Doc: "parts that k is divided into; 0: chosen for the shape", Default: 0, Max: 64}},
		{slices.ContainsFunc(of, func(r Rung) bool { return r.Operands == ladder.ByResidue }),
			gemm.Param{Name: "moduli", Default: 0, Max: len(ladder.Moduli), Refines: ladder.LeastModuli,
				Doc: "moduli of products by residues, 7 to 20; 0: 14"}},
		{slices.ContainsFunc(of, func(r Rung) bool { return r.Capped }),
			gemm.Param{Name: "maxregs", Doc: "most registers per thread; 0: the compiler's choice", Default: 0, Max: 255}},
	} {
		if p.has {
			out = append(out, p.Param)
		}
	}
	return out
}

// Auto is the tile that is chosen by shape.
const Auto = "auto"

// model is the cost of a classical product, with the elements that are requested from global
// memory; no cache of the host's is between.
func model(of []Rung, m, n, k int) gemm.Model {
	mf, nf, kf := float64(m), float64(n), float64(k)
	accesses := mf*kf + kf*nf + mf*nf
	if len(of) > 0 {
		global, _ := of[0].Reads(of[0].Tiles[0])
		accesses = max(accesses, mf*nf*kf*global+mf*nf)
	}
	return gemm.Model{Flops: 2 * mf * nf * kf, Accesses: accesses, Traffic: func(_, _ float64) float64 { return accesses }}
}
