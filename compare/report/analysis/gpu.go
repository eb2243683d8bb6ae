package analysis

import (
	"cmp"
	"math"
	"slices"

	"gemm"

	"gemm/compare/record"
	"gemm/internal/occupancy"
)

// Exact reports whether a row computes in the arithmetic of its type.
func Exact(r record.Record) bool { return r.Compute == r.Type }

// Simt reports whether a row is of a rung that computes without tensor cores. GPUs multiply half precision on these
// only.
func Simt(r record.Record) bool {
	return Ours(r) && Exact(r) && r.GPU != nil && r.GPU.Pipe == r.Type && r.Type != "f16" && r.Type != "bf16"
}

// Emulates reports whether r has the accuracy of its type from several products of a narrower one.
func Emulates(r record.Record) bool { return r.Compute == "f16x3" || r.Compute == "ozaki" }

// Products is how many products in the arithmetic of its pipe a row takes for one.
func Products(r record.Record) int {
	switch {
	case r.Compute == "f16x3":
		return 3
	case Emulates(r):
		n, _ := r.Resolved["moduli"].(int)
		return max(1, n)
	}
	return 1
}

// Rungs returns the timed rows of the GPU ladder for plain products of a type on one GPU, one per variant and
// shape. If a variant was measured with several parameters, it is the row with the defaults.
func (v *View) Rungs(typ string) []record.Record {
	all := Timed(v.Pick(func(r record.Record) bool {
		return inLadder(typ)(r) && ByGPU(r) && r.Median > 0 && ProblemOf(r).Plain()
	}))
	variants := v.gpuVariants()
	var out []record.Record
	for _, p := range Problems(all) {
		for _, variant := range variants {
			if r, ok := At(all, variant, p); ok {
				out = append(out, r)
			}
		}
	}
	return out
}

func (v *View) gpuVariants() []string {
	variants := Distinct(v.Pick(ByGPU), VariantOf)
	slices.SortStableFunc(variants, v.byPlace)
	return variants
}

// GPUTypes returns the floating-point types of the timed rows of the family, f32 first: its
// ladder is the longest one. Products over GF(2⁸) have a chapter of their own.
func (v *View) GPUTypes() []string {
	out := Types(v.Pick(func(r record.Record) bool { return ByGPU(r) && r.Speed() && r.Type != field }))
	if i := slices.Index(out, "f32"); i > 0 {
		out = slices.Insert(slices.Delete(out, i, i+1), 0, "f32")
	}
	return out
}

// Pipe returns the measured peak of a pipe of the GPU, the highest where several runs measured it.
func (v *View) Pipe(name string) (record.Ceiling, bool) {
	is := func(c record.Ceiling) bool { return c.Unit == "gpu" && c.Pipe == name && c.Gflops > 0 }
	return leastOf(v.Ceilings, is, func(c record.Ceiling) float64 { return -float64(c.Gflops) })
}

// Latency returns the measured latency of a memory of the GPU, shared, l2 or dram: the least of all samples, NaN of
// none.
func (v *View) Latency(memory string) (cycles, nanoseconds float64) {
	of := func(name string) float64 {
		var all []float64
		for _, m := range v.Measurements {
			if m.Name == name && m.Params["memory"] == memory {
				all = append(all, m.Samples...)
			}
		}
		if len(all) == 0 {
			return math.NaN()
		}
		return slices.Min(all)
	}
	return of("latency-cycles"), of("latency")
}

// HostToHostRow is the processor and the GPU on one product: each by its fastest variant in the arithmetic of the type.
type HostToHostRow struct {
	Problem
	CPU    record.Record // without a speed if none was measured
	Kernel record.Record // the fastest with operands on the GPU
	Copied record.Record // the fastest with operands in the memory of the host
	Copies float64       // the time with copies
	Slower float64       // the time with copies over the time of the kernel alone
	Over   float64       // the time of the processor over the time with copies; NaN if the processor was not timed
}

// CopiedApart is the time of a product whose operands and result are copied one after the
// other, NaN if the copies were not timed.
func CopiedApart(r record.Record) float64 {
	to, ok := r.Phases["h2d"]
	from, too := r.Phases["d2h"]
	if !ok || !too {
		return math.NaN()
	}
	return float64(r.Median) + to + from
}

// Overlapped is the time of a product whose copies and computation overlap. It is NaN if it was not timed.
func Overlapped(r record.Record) float64 { return positive(r.Phases["host"]) }

// WithCopies is the least time in which the GPU does a product for the host.
func WithCopies(r record.Record) float64 {
	t := Overlapped(r)
	if a := CopiedApart(r); math.IsNaN(t) || a < t {
		return a
	}
	return t
}

// HostToHostRows returns the cubes of a type by size at which copies were timed.
func (v *View) HostToHostRows(typ string) []HostToHostRow {
	cpu := Pick(Timed(v.Records), func(r record.Record) bool {
		return r.Type == typ && Exact(r) && !ByGPU(r) && r.Build == "" && r.Median > 0
	})
	rows := Pick(v.Rungs(typ), func(r record.Record) bool { return ProblemOf(r).Cube() && Ours(r) && Exact(r) })
	var out []HostToHostRow
	for _, p := range Problems(rows) {
		here := Pick(rows, func(r record.Record) bool { return ProblemOf(r) == p })
		f := HostToHostRow{Problem: p}
		f.Kernel, _ = MinBy(here, median)
		f.CPU, _ = MinBy(Pick(cpu, func(r record.Record) bool { return OnOneThread(r) == p }), median)
		var ok bool
		if f.Copied, ok = MinBy(here, WithCopies); ok {
			f.Copies = WithCopies(f.Copied)
			f.Slower, f.Over = f.Copies/float64(f.Kernel.Median), median(f.CPU)/f.Copies
			out = append(out, f)
		}
	}
	return out
}

// HostToHost is the processor and the GPU on cubes of one type, ascending.
type HostToHost struct {
	Type string
	Rows []HostToHostRow
	From int  // the size from which on the GPU is faster with copies; 0: it is not at the largest
	Both bool // both were timed at a size
}

// Last is the largest product.
func (c *HostToHost) Last() HostToHostRow { return c.Rows[len(c.Rows)-1] }

// HostToHost compares processor and GPU on the main type, or else on the first type whose copies were timed; nil if
// there is none.
func (v *View) HostToHost() *HostToHost {
	for _, typ := range append([]string{v.MainType()}, v.GPUTypes()...) {
		c := &HostToHost{Type: typ, Rows: v.HostToHostRows(typ)}
		for _, f := range c.Rows {
			switch over := f.Over; {
			case math.IsNaN(over):
				continue
			case over <= 1:
				c.From = 0
			case c.From == 0:
				c.From = f.N
			}
			c.Both = true
		}
		if len(c.Rows) > 0 {
			return c
		}
	}
	return nil
}

// KernelPair is the fastest kernel of ours in one arithmetic and the fastest library, at the largest cube that both
// computed.
type KernelPair struct {
	Own, Library record.Record // kernels alone; Library has no variant if it was not timed
	Comparison                 // of the library with ours: above 1, ours is faster
}

// KernelPairs returns the fastest kernels of the arithmetics that kernels of ours compute in, in the order of types.
func (v *View) KernelPairs() []KernelPair {
	var out []KernelPair
	for _, typ := range v.GPUTypes() {
		rows := Pick(v.Rungs(typ), func(r record.Record) bool { return ProblemOf(r).Cube() })
		for _, in := range GroupBy(rows, func(r record.Record) string { return r.Compute }) {
			sizes := Problems(Pick(in, Ours))
			if len(sizes) == 0 {
				continue
			}
			a := KernelPair{Comparison: justRatio(math.NaN())}
			p, peers := sizes[len(sizes)-1], Problems(Pick(in, OfLibrary))
			for _, both := range Pick(sizes, func(p Problem) bool { return slices.Contains(peers, p) }) {
				p = both
			}
			a.Own, _ = FastestAt(in, p, Ours)
			if library, ok := FastestAt(in, p, OfLibrary); ok {
				a.Library, a.Comparison = library, Versus(library, a.Own)
			}
			a.Own.Phases, a.Library.Phases = nil, nil
			out = append(out, a)
		}
	}
	return out
}

// PipePeak is the measured peak of a pipe of the GPU in TFLOP/s, of int8 in TOP/s.
type PipePeak struct {
	Pipe   string
	Tflops float64
}

// Pipes returns the peaks of the pipes of the GPU, the lowest first.
func (v *View) Pipes() []PipePeak {
	var out []PipePeak
	for _, pipe := range Distinct(v.Ceilings, func(c record.Ceiling) string { return c.Pipe }) {
		if highest, ok := v.Pipe(pipe); ok {
			out = append(out, PipePeak{pipe, float64(highest.Gflops) / 1e3})
		}
	}
	slices.SortStableFunc(out, func(x, y PipePeak) int { return cmp.Compare(x.Tflops, y.Tflops) })
	return out
}

// Throttle is how many rows were measured while the clock of the GPU was limited for a reason.
type Throttle struct {
	Reason string
	Rows   int
}

// Throttles returns what limited the clock of the GPU.
func (v *View) Throttles() []Throttle {
	var out []Throttle
	throttled := Timed(v.Pick(func(r record.Record) bool { return r.GPU != nil && r.GPU.Throttled != "" }))
	for _, rows := range GroupBy(throttled, func(r record.Record) string { return r.GPU.Throttled }) {
		out = append(out, Throttle{rows[0].GPU.Throttled, len(rows)})
	}
	return out
}

// ladderSize is the size at which the ladder is read, if it was measured.
const ladderSize = 4096

// LadderRows returns the rows of a type at one size: ladderSize, or else the largest size at which
// most rungs were timed.
func (v *View) LadderRows(typ string) []record.Record {
	rows := Pick(v.Rungs(typ), func(r record.Record) bool { return ProblemOf(r).Cube() })
	if here := Pick(rows, func(r record.Record) bool { return r.N == ladderSize }); len(here) > 2 {
		return here
	}
	return LargestGroup(rows, ProblemOf, VariantOf, Problem.Compare)
}

// Precisions are the arithmetics of floating-point rows, the most accurate first. The accuracy of ozaki depends
// on its moduli.
var Precisions = []string{"f64", "f32", "f16x3", "tf32", "f16", "bf16", "ozaki"}

// LeastTimes are the least seconds of a product on the GPU: of its operations at the measured peak of the type, and of
// reading A, B and C and writing C at the measured bandwidth.
type LeastTimes struct {
	Problem
	Compute, Memory float64 // seconds of its operations; of its bytes
}

// Ratio is how many times as long the operations take as the memory.
func (l LeastTimes) Ratio() float64 { return l.Compute / l.Memory }

// LeastTimes returns them at the size of the ladder; nil if a peak is not known.
func (v *View) LeastTimes(typ string) *LeastTimes {
	rows := v.LadderRows(typ)
	peak, ok := v.Pipe(typ)
	if tensor, exact := v.Pipe(typ + "-tensor"); exact {
		peak = tensor
	}
	if len(rows) == 0 || !ok || !(v.DeviceCopy() > 0) {
		return nil
	}
	r := rows[0]
	m, n, k := float64(r.M), float64(r.N), float64(r.K)
	bytes := float64(gemm.TypeNamed(typ).Size) * (m*k + k*n + 2*m*n)
	return &LeastTimes{ProblemOf(r), 2 * r.Terms() / float64(peak.Gflops) / 1e9, bytes / v.DeviceCopy() / 1e9}
}

// Accuracies returns the rows at ladderSize, or else at the largest cube with as many precisions, with an error and a
// speed.
func (v *View) Accuracies() []record.Record {
	rows := Timed(v.Pick(func(r record.Record) bool {
		return r.Experiment == record.MainLadder && ProblemOf(r).Cube() && r.Residual > 0 &&
			slices.Contains(Precisions, r.Compute)
	}))
	return LargestGroup(rows, sizeOf, func(r record.Record) string { return r.Compute }, func(x, y int) int {
		return cmp.Or(cmp.Compare(slices.Index([]int{ladderSize}, x), slices.Index([]int{ladderSize}, y)), x-y)
	})
}

// ReportedSize is the size of that table.
const ReportedSize = 2048

// Entry is a row of the table for this GPU: a rung with one of its settings.
type Entry struct {
	record.Record
	Block, Slice int // 0: the rung has no such setting
}

// Entries returns the rows of the experiment block of a type, at the size of the report's table or else at the largest
// size, and rows of the other variants from the ladder. They are in the order of the ladder, large blocks first.
func (v *View) Entries(typ string) []Entry {
	rows := v.Pick(func(r record.Record) bool {
		return r.Experiment == record.BlockSizes && r.Type == typ && ByGPU(r) && ProblemOf(r).Cube()
	})
	if len(Timed(rows)) == 0 {
		return nil
	}
	n := slices.Max(Distinct(rows, sizeOf))
	if slices.Contains(Distinct(rows, sizeOf), ReportedSize) {
		n = ReportedSize
	}
	ladder := v.Rungs(typ)
	var out []Entry
	for _, variant := range v.gpuVariants() {
		var own []Entry
		for _, r := range rows {
			if r.Variant == variant && r.N == n {
				own = append(own, Entry{r, Requested[int](r, "block"), Requested[int](r, "bk")})
			}
		}
		if r, ok := At(ladder, variant, plainOf(typ, gemm.Cube(n), 1)); ok && len(own) == 0 {
			own = append(own, Entry{Record: r})
		}
		slices.SortStableFunc(own, func(x, y Entry) int {
			return cmp.Or(cmp.Compare(y.Block, x.Block), cmp.Compare(x.Slice, y.Slice))
		})
		out = append(out, own...)
	}
	return out
}

// Device returns the limits of the first GPU of the host. If the records have none, they are the limits of its
// compute capability, which old ones have with a sweep of occupancies; what is not known is 0.
func (v *View) Device() occupancy.GPU {
	if len(v.Devices) > 0 {
		return v.Devices[0]
	}
	for _, m := range v.Measurements {
		name := Value[string](m.Params, "cc")
		c, err := occupancy.ParseCapability(name)
		l, known := occupancy.LimitsOf(c)
		if m.Name == "occupancy" && err == nil && known == nil {
			return occupancy.GPU{Capability: name, Warp: l.Warp, Threads: l.Threads, Blocks: l.Blocks, Registers: l.Registers,
				Shared: l.Shared, BlockThreads: l.BlockThreads, BlockRegisters: l.BlockRegisters, BlockShared: l.BlockShared,
				BlockSharedOptIn: l.BlockSharedOptIn}
		}
	}
	return occupancy.GPU{}
}
