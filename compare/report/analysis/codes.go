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
	return r.Type == "gf256" && r.Experiment == record.MainLadder && p.Plain() && !p.Cube() && r.M > 0 && r.K > 0 &&
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
	triad, _ := v.Bandwidth(max(r.Threads, 1))
	return memoryShare(ProblemOf(r)) * float64(positive(triad.GBps))
}

// DeviceCopy returns the measured bandwidth of copies within the GPU's memory in GB/s. Of several runs it is
// the highest; without a measurement it is NaN.
func (v *View) DeviceCopy() float64 {
	w, _ := v.bandwidth("gpu", "copy", 0)
	return float64(positive(w.GBps))
}

// AtWidths returns the widths of shards at which several codes were measured, ascending, and the rows with
// these widths. If there is no such width, it returns all rows.
func AtWidths(rows []record.Record) (widths []int, at []record.Record) {
	for _, own := range GroupBy(rows, sizeOf) {
		if len(Distinct(own, OnOneThread)) > 1 {
			widths, at = append(widths, own[0].N), append(at, own...)
		}
	}
	if len(widths) == 0 {
		return nil, rows
	}
	return slices.Sorted(slices.Values(widths)), at
}

// CodeRow is a code with shards of one width: the fastest of ours in each place.
type CodeRow struct {
	Name  string                // data and parity shards
	N     int                   // bytes of a shard
	at    map[int]record.Record // by threads, 0: on the GPU
	other map[int]Comparison    // with the library on as many threads: above 1, ours is faster
}

// GBps returns the data rate on a number of threads, or on the GPU if that is 0.
func (r CodeRow) GBps(threads int) float64 { return Known(r.at[threads], r.at[threads].DataGBps) }

// Over returns the comparison with the library on a number of threads.
func (r CodeRow) Over(threads int) Comparison {
	if c, ok := r.other[threads]; ok {
		return c
	}
	return justRatio(math.NaN())
}

// OnGPU returns the data rate of the kernel on the GPU.
func (r CodeRow) OnGPU() float64 { return r.GBps(0) }

// HostToHost returns the data rate of the GPU with operands in host memory; NaN if copies were not timed.
func (r CodeRow) HostToHost() float64 {
	return float64(r.at[0].K) * float64(r.N) / WithCopies(r.at[0]) / 1e9
}

// CodeTable is codes by data shards, parity shards and width. They are at the widths at which several codes were
// measured, if there are any.
type CodeTable struct {
	Rows     []CodeRow
	Threads  []int    // in use
	Variants []string // that are the fastest of ours in a row
}

// CodeTable returns the fastest of ours on each code in each place, nil if there is none.
func (v *View) CodeTable() *CodeTable {
	all := Timed(v.CodeRows())
	_, rows := AtWidths(all)
	threads := func(r record.Record) int { return CoderOf(r).Threads }
	var fastest []record.Record
	var t CodeTable
	for _, code := range GroupBy(Pick(rows, Ours), OnOneThread) {
		row := CodeRow{CodeName(OnOneThread(code[0])), code[0].N, map[int]record.Record{}, map[int]Comparison{}}
		for _, own := range GroupBy(code, threads) {
			slices.Reverse(own) // the last of equal ones
			r, _ := MinBy(own, median)
			row.at[threads(r)], row.other[threads(r)] = r, overLibrary(all, r)
			fastest = append(fastest, r)
		}
		t.Rows = append(t.Rows, row)
	}
	if len(t.Rows) == 0 {
		return nil
	}
	t.Threads = slices.DeleteFunc(Ascending(fastest, threads), func(n int) bool { return n == 0 })
	t.Variants = Distinct(fastest, VariantOf)
	return &t
}

// overLibrary compares a row with the library on as many threads.
func overLibrary(all []record.Record, r record.Record) Comparison {
	var library record.Record
	for _, o := range all {
		if OfLibrary(o) && OnOneThread(o) == OnOneThread(r) && CoderOf(o).Threads == CoderOf(r).Threads {
			library = o
		}
	}
	if library.Variant == "" {
		return justRatio(math.NaN())
	}
	return Versus(library, r)
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
