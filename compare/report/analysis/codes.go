package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gemm/compare"
)

// mostShards is how many shards a code over GF(2⁸) has at most.
const mostShards = 256

// encodes reports whether a row is a Reed–Solomon code: the k rows of B are data shards, the m rows
// of C are parity shards, of n bytes each.
func encodes(r compare.Record) bool {
	p := ProblemOf(r)
	return r.Type == "gf256" && r.Experiment == compare.MainLadder && p.plain() && !p.Cube() && r.M > 0 && r.K > 0 &&
		r.M+r.K <= mostShards
}

// Coder is a variant with a number of threads, which is 0 of a GPU.
type Coder struct {
	Variant string
	Threads int
}

// CoderOf returns what computed a row.
func CoderOf(r compare.Record) Coder {
	if ByGPU(r) {
		return Coder{Variant: r.Variant}
	}
	return Coder{r.Variant, max(r.Threads, 1)}
}

// CodeName names the code of a problem by its data and parity shards.
func CodeName(p Problem) string { return fmt.Sprintf("%d+%d", p.K, p.M) }

// CodeRows returns the rows of codes, one a coder and problem: that with its parameters at
// their defaults, if it was measured with several.
func (v *View) CodeRows() []compare.Record {
	type place struct {
		Problem
		variant string
	}
	all := v.Pick(encodes)
	var out []compare.Record
	for _, p := range Distinct(all, func(r compare.Record) place { return place{ProblemOf(r), r.Variant} }) {
		if r, ok := At(all, p.variant, p.Problem); ok {
			out = append(out, r)
		}
	}
	families := []string{Serial, Parallel, Reference, OnRanks, OnGPU}
	rungs := v.gpuVariants()
	slices.SortStableFunc(out, func(x, y compare.Record) int {
		return cmp.Or(
			cmp.Compare(x.N, y.N), cmp.Compare(x.M, y.M), cmp.Compare(x.K, y.K),
			cmp.Compare(slices.Index(families, Family(x.Variant)), slices.Index(families, Family(y.Variant))),
			cmp.Compare(slices.Index(rungs, x.Variant), slices.Index(rungs, y.Variant)), cmp.Compare(x.Threads, y.Threads))
	})
	return out
}

// memoryShare is the part of what a product over GF(2⁸) moves that is data: it reads k
// shards and writes m.
func memoryShare(p Problem) float64 { return float64(p.K) / float64(p.K+p.M) }

// DataLimit is the data rate in GB/s at which memory could read the data and write the parity of a
// row once: by the triad on as many threads, or by copies on the GPU. It is NaN if these were not
// measured.
func (v *View) DataLimit(r compare.Record) float64 {
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
	fastest := math.NaN()
	for _, w := range v.Bandwidths {
		if w.Unit == "gpu" && w.Name == "copy" && w.GBps.Known() && !(float64(w.GBps) <= fastest) {
			fastest = float64(w.GBps)
		}
	}
	return fastest
}

// HostRate is the data rate in GB/s of a GPU code with operands in host memory. It is NaN if copies
// were not timed.
func HostRate(r compare.Record) float64 {
	return Known(r, compare.Number(float64(r.K)*float64(r.N)/WithCopies(r)/1e9))
}

// CodeThreads returns the numbers of threads of the processor's rows, ascending.
func (v *View) CodeThreads(rows []compare.Record) []int {
	var out []int
	for _, r := range rows {
		if !ByGPU(r) && !slices.Contains(out, max(r.Threads, 1)) {
			out = append(out, max(r.Threads, 1))
		}
	}
	slices.Sort(out)
	return out
}

// AtWidths returns the widths of shards at which several codes were measured, ascending, and the rows with
// these widths. If there is no such width, it returns all rows.
func AtWidths(rows []compare.Record) (widths []int, at []compare.Record) {
	codes := map[int]int{}
	for _, p := range Distinct(rows, Alone) {
		if codes[p.N]++; codes[p.N] == 2 {
			widths = append(widths, p.N)
		}
	}
	slices.Sort(widths)
	if len(widths) == 0 {
		return nil, rows
	}
	return widths, slices.DeleteFunc(slices.Clone(rows),
		func(r compare.Record) bool { return !slices.Contains(widths, r.N) })
}
