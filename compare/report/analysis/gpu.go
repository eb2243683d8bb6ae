package analysis

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"gemm/compare"
	"gemm/cuda"
)

// Exact reports whether a row computes in the arithmetic of its type.
func Exact(r compare.Record) bool { return r.Compute == r.Type }

// OccupancySweep is the measurement of occupancies over what a kernel takes of a multiprocessor.
const OccupancySweep = "occupancy"

// Simt reports whether a row is of a rung that computes without tensor cores.
func Simt(r compare.Record) bool {
	return Ours(r) && Exact(r) && r.GPU != nil && r.GPU.Pipe == r.Type && !Half(r.Type)
}

// Half reports whether a type is one of half precision. GPUs multiply these on tensor cores only.
func Half(typ string) bool { return typ == "f16" || typ == "bf16" }

// Emulates reports whether r has the accuracy of its type from several products of a narrower one.
func Emulates(r compare.Record) bool { return r.Compute == cuda.F16x3 }

// Products is how many products in the arithmetic of its pipe a row takes for one.
func Products(r compare.Record) int {
	if Emulates(r) {
		return 3
	}
	return 1
}

// HasGPU reports whether a row of the family was timed.
func (v *View) HasGPU() bool { return slices.ContainsFunc(Timed(v.Records), ByGPU) }

// Rungs returns the timed rows of the GPU ladder for plain products of a type, one per variant and
// shape. If a variant was measured with several parameters, it is the row with the defaults.
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

// gpuVariants returns the variants of the family in report order.
func (v *View) gpuVariants() []string {
	variants := Distinct(v.Pick(ByGPU), VariantOf)
	slices.SortStableFunc(variants, func(x, y string) int { return cmp.Compare(v.place(x), v.place(y)) })
	return variants
}

// GPUTypes returns the floating-point types of the rows of the family, f32 first: its
// ladder is the longest one. Products over GF(2⁸) have a chapter of their own.
func (v *View) GPUTypes() []string {
	out := Types(v.Pick(func(r compare.Record) bool { return ByGPU(r) && r.Type != "gf256" }))
	if i := slices.Index(out, "f32"); i > 0 {
		out = slices.Insert(slices.Delete(out, i, i+1), 0, "f32")
	}
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
	CPU    compare.Record // without a speed if none was measured
	Kernel compare.Record // the quickest with operands on the GPU
	Copied compare.Record // the quickest with operands in the memory of the host
}

// CopiedApart is the time of a product whose operands and result are copied one after the
// other, NaN if the copies were not timed.
func CopiedApart(r compare.Record) float64 {
	to, ok := r.Phases["h2d"]
	from, too := r.Phases["d2h"]
	if !ok || !too {
		return math.NaN()
	}
	return float64(r.Median) + to + from
}

// Overlapped is the time of a product whose copies and computation overlap. It is NaN if it was not
// timed.
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
			if Alone(r) == p && (!f.CPU.Speed() || r.Median < f.CPU.Median) {
				f.CPU = r
			}
		}
		if f.Copied.Speed() {
			out = append(out, f)
		}
	}
	return out
}

// ladderSize is the size at which the ladder is read, if it was measured.
const ladderSize = 4096

// LadderRows returns the rows of a type at one size: ladderSize, or else the largest size at which
// most rungs were timed.
func (v *View) LadderRows(typ string) []compare.Record {
	rows := v.Rungs(typ)
	var best []compare.Record
	for _, p := range Problems(rows) {
		if !p.Cube() {
			continue
		}
		here := slices.DeleteFunc(slices.Clone(rows), func(r compare.Record) bool { return ProblemOf(r) != p })
		switch {
		case p.N == ladderSize && len(here) > 2:
			return here
		case len(here) >= len(best):
			best = here
		}
	}
	return best
}

// Precisions are the arithmetics of floating-point rows on a GPU, the most accurate first.
var Precisions = []string{"f64", "f32", "f16x3", "tf32", "f16", "bf16"}

// Accuracies returns the rows on the GPU at ladderSize, or else at the largest cube with as many precisions, with an
// error that is known.
func (v *View) Accuracies() []compare.Record {
	of := map[int][]compare.Record{}
	precisions := map[int]map[string]bool{}
	for _, typ := range v.GPUTypes() {
		for _, r := range v.Rungs(typ) {
			if !ProblemOf(r).Cube() || !(r.Residual > 0) || !slices.Contains(Precisions, r.Compute) {
				continue
			}
			if of[r.N] = append(of[r.N], r); precisions[r.N] == nil {
				precisions[r.N] = map[string]bool{}
			}
			precisions[r.N][r.Compute] = true
		}
	}
	best := 0
	for _, n := range slices.Sorted(maps.Keys(of)) {
		if more := len(precisions[n]) - len(precisions[best]); more > 0 || more == 0 && best != ladderSize {
			best = n
		}
	}
	return of[best]
}

// Slice is what a block executes for a slice of k, by the profiler's counters. What is not known is NaN.
type Slice struct {
	Instructions, Tensor, FMA, SharedReads float64            // of all warps
	Stalls                                 map[string]float64 // cycles that a warp waits, by cause
}
