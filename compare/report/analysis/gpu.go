package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gemm/compare"
)

// OnGPU is the family of the variants that a GPU computes.
const OnGPU = "cuda"

// The variants of NVIDIA's library, in the arithmetic of the type and with operands
// rounded to TF32.
const (
	Cublas     = OnGPU + "/cublas"
	CublasTF32 = OnGPU + "/cublas-tf32"
)

// The rungs of the ladders that goals are about.
const (
	Tf32WMMA = OnGPU + "/tf32-wmma"
	Dmma     = OnGPU + "/dmma"
)

// GpuOrder is the order of the ladders, NVIDIA's library last: rows of a resumed or
// narrowed run are in another one.
var GpuOrder = []string{
	"naive", "packed-global", "coalesced", "smem", "blocktile1d", "blocktile2d", "vectorized", "conflictfree", "doublebuffer", "async",
	"warptile", "tf32-wmma", "dmma-wmma", "dmma", "square-tiled", "tiled", "word", "tuned", "cublas", "cublas-tf32",
}

// Copying are the rungs that copy several elements at once where alignment lets them.
var Copying = []string{"vectorized", "conflictfree", "doublebuffer", "async", "warptile", "tf32-wmma", "dmma-wmma", "dmma"}

// Copies reports whether a row is of a rung that copies several elements at once.
func Copies(r compare.Record) bool {
	return ByGPU(r) && slices.Contains(Copying, Algorithm(r.Variant))
}

// ByGPU reports whether a GPU computed the row.
func ByGPU(r compare.Record) bool { return Family(r.Variant) == OnGPU }

// Vendor reports whether a variant is NVIDIA's library.
func Vendor(variant string) bool { return variant == Cublas || variant == CublasTF32 }

// Exact reports whether a row computes in the arithmetic of its type.
func Exact(r compare.Record) bool { return r.Compute == r.Type }

// Simt reports whether a row is of a rung that computes without tensor cores.
func Simt(r compare.Record) bool {
	return Ours(r) && Exact(r) && r.GPU != nil && r.GPU.Pipe == r.Type
}

// HasGPU reports whether a row of the family was timed.
func (v *View) HasGPU() bool { return slices.ContainsFunc(Timed(v.Records), ByGPU) }

// HasCPU reports whether there are rows that a processor computes.
func (v *View) HasCPU() bool {
	return slices.ContainsFunc(v.Records, func(r compare.Record) bool { return !ByGPU(r) })
}

// Rungs returns the timed rows of the ladder on the GPU for plain products of a type, one
// a variant and shape: that with its parameters at their defaults, if it was measured
// with several.
func (v *View) Rungs(typ string) []compare.Record {
	all := Timed(v.Pick(func(r compare.Record) bool {
		return r.Experiment == compare.MainLadder && r.Type == typ && ByGPU(r) && r.Median > 0 && ProblemOf(r).plain()
	}))
	variants := v.gpuVariants()
	var out []compare.Record
	for _, p := range Problems(all) {
		for _, variant := range variants {
			if r, ok := At(all, variant, p); ok {
				out = append(out, r)
			}
		}
	}
	return out
}

// gpuVariants returns the variants of the family in the order of gpuOrder, others after
// them.
func (v *View) gpuVariants() []string {
	variants := Distinct(v.Pick(ByGPU), VariantOf)
	slices.SortStableFunc(variants, func(x, y string) int {
		rank := func(variant string) int {
			if i := slices.Index(GpuOrder, Algorithm(variant)); i >= 0 {
				return i
			}
			return len(GpuOrder)
		}
		return cmp.Compare(rank(x), rank(y))
	})
	return variants
}

// GpuTypes returns the floating-point types of the rows of the family, f32 first: its
// ladder is the longer one. Products over GF(2⁸) have a chapter of their own.
func (v *View) GpuTypes() []string {
	out := Types(v.Pick(func(r compare.Record) bool { return ByGPU(r) && r.Type != "gf256" }))
	slices.SortFunc(out, strings.Compare)
	return out
}

// Pipe returns the measured peak of a pipe of the GPU, the highest where several runs
// measured it.
func (v *View) Pipe(name string) (compare.Ceiling, bool) {
	var highest compare.Ceiling
	for _, c := range v.Ceilings {
		if c.Unit == "gpu" && c.Pipe == name && c.Gflops.Known() && c.Gflops > highest.Gflops {
			highest = c
		}
	}
	return highest, highest.Gflops > 0
}

// TileOf names the tile that a row was run with, with its stages and parts of k where it
// says them.
func TileOf(r compare.Record) string {
	value := func(name string) any { return cmp.Or(r.Resolved[name], r.Params[name]) }
	var parts []string
	if tile, ok := value("tile").(string); ok && tile != "" && tile != "auto" {
		parts = append(parts, tile)
	}
	if stages, ok := value("stages").(int); ok && stages > 0 {
		parts = append(parts, fmt.Sprintf("stages=%d", stages))
	}
	if split, ok := value("split").(int); ok && split > 1 {
		parts = append(parts, fmt.Sprintf("split=%d", split))
	}
	return strings.Join(parts, " ")
}

// Held is the class of a row whose clock was held back.
func Held(r compare.Record) string {
	if !r.Speed() || r.GPU != nil && r.GPU.Throttled != "" {
		return "muted"
	}
	return ""
}

// Facing is the processor and the GPU on one product: each by its quickest variant in the
// arithmetic of the type.
type Facing struct {
	Problem
	Cpu    compare.Record // without a speed where none was measured
	Kernel compare.Record // the quickest with operands on the GPU
	Copied compare.Record // the quickest with operands in the memory of the host
}

// CopiedApart is the time of a product whose operands and result are copied one after the
// other, NaN where the copies were not timed.
func CopiedApart(r compare.Record) float64 {
	to, ok := r.Phases["h2d"]
	from, too := r.Phases["d2h"]
	if !ok || !too {
		return math.NaN()
	}
	return float64(r.Median) + to + from
}

// Overlapped is that of one whose copies and computing overlap, NaN where it was not timed.
func Overlapped(r compare.Record) float64 {
	t, ok := r.Phases["host"]
	if !ok || !(t > 0) {
		return math.NaN()
	}
	return t
}

// WithCopies is the least time in which the GPU does a product for the host.
func WithCopies(r compare.Record) float64 {
	t := Overlapped(r)
	if a := CopiedApart(r); math.IsNaN(t) || a < t {
		return a
	}
	return t
}

// Facings returns the cubes of a type by size at which copies were timed.
func (v *View) Facings(typ string) []Facing {
	rows := v.Rungs(typ)
	cpu := Timed(v.Pick(func(r compare.Record) bool {
		return r.Type == typ && Exact(r) && !ByGPU(r) && r.Build == "" && r.Median > 0
	}))
	var out []Facing
	for _, p := range Problems(rows) {
		if !p.Cube() {
			continue
		}
		f := Facing{Problem: p}
		for _, r := range rows {
			if ProblemOf(r) != p || !Ours(r) || !Exact(r) {
				continue
			}
			if !f.Kernel.Speed() || r.Median < f.Kernel.Median {
				f.Kernel = r
			}
			if t := WithCopies(r); !math.IsNaN(t) && (!f.Copied.Speed() || t < WithCopies(f.Copied)) {
				f.Copied = r
			}
		}
		for _, r := range cpu {
			if Alone(r) == p && (!f.Cpu.Speed() || r.Median < f.Cpu.Median) {
				f.Cpu = r
			}
		}
		if f.Copied.Speed() {
			out = append(out, f)
		}
	}
	return out
}

// Wins returns the size from which on the GPU, by the given time, is ahead of the
// processor at every size measured on both, 0 where it is not at the largest, and the
// sizes measured on both.
func Wins(all []Facing, of func(Facing) float64) (from int, sizes []int) {
	for _, f := range all {
		if !f.Cpu.Speed() {
			continue
		}
		sizes = append(sizes, f.N)
		switch ahead := of(f) < float64(f.Cpu.Median); {
		case !ahead:
			from = 0
		case from == 0:
			from = f.N
		}
	}
	return from, sizes
}
