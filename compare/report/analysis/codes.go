package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gemm/compare/record"
)

// mostShards is how many shards a code over GF(2⁸) has at most.
const mostShards = 256

// encodes reports whether a row is a Reed–Solomon code: the k rows of B are data shards, the m rows
// of C are parity shards, of n bytes each.
func encodes(r record.Record) bool {
	p := ProblemOf(r)
	return r.Type == "gf256" && r.Experiment == record.MainLadder && p.plain() && !p.Cube() && r.M > 0 && r.K > 0 &&
		r.M+r.K <= mostShards
}

// Coder is a variant with a number of threads, which is 0 of a GPU.
type Coder struct {
	Variant string
	Threads int
}

// CoderOf returns what computed a row.
func CoderOf(r record.Record) Coder {
	if ByGPU(r) {
		return Coder{Variant: r.Variant}
	}
	return Coder{r.Variant, max(r.Threads, 1)}
}

// CodeName names the code of a problem by its data and parity shards.
func CodeName(p Problem) string { return fmt.Sprintf("%d+%d", p.K, p.M) }

// CodeRows returns the rows of codes, one a coder and problem: that with its parameters at
// their defaults, if it was measured with several.
func (v *View) CodeRows() []record.Record {
	var out []record.Record
	for _, same := range GroupBy(v.Pick(encodes), func(r record.Record) string {
		return r.Variant + " " + ProblemOf(r).String()
	}) {
		r, _ := At(same, same[0].Variant, ProblemOf(same[0]))
		out = append(out, r)
	}
	families := []string{Serial, Parallel, Reference, OnRanks, OnGPU}
	rungs := v.gpuVariants()
	slices.SortStableFunc(out, func(x, y record.Record) int {
		return cmp.Or(
			cmp.Compare(x.N, y.N), cmp.Compare(x.M, y.M), cmp.Compare(x.K, y.K),
			cmp.Compare(slices.Index(families, Family(x.Variant)), slices.Index(families, Family(y.Variant))),
			cmp.Compare(slices.Index(rungs, x.Variant), slices.Index(rungs, y.Variant)), cmp.Compare(x.Threads, y.Threads))
	})
	return out
}

// memoryShare is the part of what a product over GF(2⁸) moves that is data: it reads k shards and writes m.
func memoryShare(p Problem) float64 { return float64(p.K) / float64(p.K+p.M) }

// DataLimit is the data rate in GB/s at which memory could read the data and write the parity of a row once: by the
// triad on as many threads, or by copies on the GPU. It is NaN if these were not measured.
func (v *View) DataLimit(r record.Record) float64 {
	if ByGPU(r) {
		return memoryShare(ProblemOf(r)) * v.DeviceCopy()
	}
	if triad, ok := v.Bandwidth(max(r.Threads, 1)); ok {
		return memoryShare(ProblemOf(r)) * float64(triad.GBps)
	}
	return math.NaN()
}

// DeviceCopy returns the measured bandwidth of copies within the GPU's memory in GB/s. Of several runs it is
// the highest; without a measurement it is NaN.
func (v *View) DeviceCopy() float64 {
	if w, ok := v.bandwidth("gpu", "copy", 0); ok {
		return float64(w.GBps)
	}
	return math.NaN()
}

// AtWidths returns the widths of shards at which several codes were measured, ascending, and the rows with
// these widths. If there is no such width, it returns all rows.
func AtWidths(rows []record.Record) (widths []int, at []record.Record) {
	for _, own := range GroupBy(rows, sizeOf) {
		if len(Distinct(own, OnOneThread)) > 1 {
			widths, at = append(widths, own[0].N), append(at, own...)
		}
	}
	slices.Sort(widths)
	if len(widths) == 0 {
		return nil, rows
	}
	return widths, at
}

// Code is the fastest of ours on one code in one place: on a number of threads, or on the GPU.
type Code struct {
	record.Record
	Name       string     // data and parity shards
	Over       Comparison // with the library on as many threads, for a GPU on the most: above 1, ours is faster
	Compared   bool       // the library was timed
	Memory     float64    // share of the rate that memory permits; NaN if that was not measured
	HostToHost float64    // data rate of a GPU in GB/s with operands in host memory; NaN if copies were not timed
}

// Codes returns the fastest of ours on each code in each place. They are at the widths at which several codes were
// measured, if there are any.
func (v *View) Codes() []Code {
	all := Timed(v.CodeRows())
	_, rows := AtWidths(all)
	type place struct {
		Problem
		threads int
	}
	var out []Code
	for _, own := range GroupBy(Pick(rows, Ours), func(r record.Record) place {
		return place{OnOneThread(r), CoderOf(r).Threads}
	}) {
		slices.Reverse(own) // the last of equal ones
		r, _ := MinBy(own, median)
		c := Code{Record: r, Name: CodeName(ProblemOf(r)), Over: overLibrary(all, r),
			Memory: Known(r, r.DataGBps) / v.DataLimit(r), HostToHost: math.NaN()}
		if c.Compared = !math.IsNaN(c.Over.Ratio); ByGPU(r) {
			c.HostToHost = float64(r.K) * float64(r.N) / WithCopies(r) / 1e9
		}
		out = append(out, c)
	}
	return out
}

// overLibrary compares a row with the library on as many threads, the row of a GPU with that on the most.
func overLibrary(all []record.Record, r record.Record) Comparison {
	var library record.Record
	for _, o := range all {
		fits := max(o.Threads, 1) == max(r.Threads, 1) || ByGPU(r) && o.Threads >= library.Threads
		if OfLibrary(o) && OnOneThread(o) == OnOneThread(r) && fits {
			library = o
		}
	}
	if library.Variant == "" {
		return justRatio(math.NaN())
	}
	return Versus(library, r)
}

// OverLibrary is what interleaved comparisons with the library say on one number of threads.
type OverLibrary struct {
	Threads        int
	Codes          int // compared
	Faster, Slower int // of them ours, beyond the noise
	Least, Most    Code
}

// OverLibrary returns the comparisons with the library by the number of threads.
func (v *View) OverLibrary() []OverLibrary {
	compared := Pick(v.Codes(), func(c Code) bool { return !math.IsNaN(c.Over.P) })
	var out []OverLibrary
	for _, own := range GroupBy(compared, func(c Code) int { return max(c.Threads, 1) }) {
		r := OverLibrary{Threads: max(own[0].Threads, 1), Codes: len(own)}
		r.Least, _ = MinBy(own, func(c Code) float64 { return c.Over.Ratio })
		r.Most, _ = MinBy(own, func(c Code) float64 { return -c.Over.Ratio })
		r.Faster = len(Pick(own, func(c Code) bool { return c.Over.Outcome == Faster }))
		r.Slower = len(Pick(own, func(c Code) bool { return c.Over.Outcome == Slower }))
		out = append(out, r)
	}
	return out
}

// BestCode returns our fastest row of the code that most coders were timed at, with the largest shards; nil if there is
// none.
func (v *View) BestCode() *record.Record {
	rows := Timed(v.CodeRows())
	coders := map[Problem]int{}
	for _, r := range rows {
		coders[OnOneThread(r)]++
	}
	own := Pick(rows, Ours)
	if len(own) == 0 {
		return nil
	}
	best := slices.MaxFunc(own, func(r, s record.Record) int {
		return cmp.Or(cmp.Compare(r.N, s.N), cmp.Compare(coders[OnOneThread(r)], coders[OnOneThread(s)]),
			cmp.Compare(OnOneThread(r).String(), OnOneThread(s).String()), cmp.Compare(HostTime(s), HostTime(r)))
	})
	return &best
}
