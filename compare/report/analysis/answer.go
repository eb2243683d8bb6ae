package analysis

import (
	"cmp"
	"math"
	"slices"

	"gemm"
	"gemm/compare"
	"gemm/compare/note"
)

// Whole returns the time of a product that begins and ends in the memory of the host: of a GPU with
// the copies of the operands and of the result.
func Whole(r compare.Record) float64 {
	t := Known(r, r.Median)
	if ByGPU(r) {
		t += r.Phases["h2d"] + r.Phases["d2h"]
	}
	return t
}

// Champion is the fastest variant of one family at one size.
type Champion struct {
	compare.Record
	Key string // serial, parallel, mpi, cuda; of others and of the user the variant
}

// Answer is what a report says first: the fastest of every family at common sizes.
type Answer struct {
	Type  string
	Sizes []int // of square products, ascending: those that the textbook loops or else a family were timed at
	Main  int   // the largest of them, of which the table has all
	rows  []compare.Record
	view  *View
}

// Answer returns the answer for one type.
func (v *View) Answer(typ string) Answer {
	a := Answer{Type: typ, view: v}
	for _, r := range Timed(v.Ladder(typ)) {
		p := ProblemOf(r)
		if p.Cube() && p.plain() && r.Median > 0 && !v.Crowds(r) {
			a.rows = append(a.rows, r)
		}
	}
	counts := map[int]map[string]bool{}
	for _, r := range a.rows {
		if counts[r.N] == nil {
			counts[r.N] = map[string]bool{}
		}
		if !Foreign(r.Variant) {
			counts[r.N][Family(r.Variant)] = true
		}
		if Textbook(r) {
			counts[r.N][r.Variant] = true
		}
	}
	most := 0
	for _, families := range counts {
		most = max(most, len(families))
	}
	for n, families := range counts {
		if len(families) == most {
			a.Sizes = append(a.Sizes, n)
		}
	}
	slices.Sort(a.Sizes)
	if len(a.Sizes) > 0 {
		a.Main = a.Sizes[len(a.Sizes)-1]
	}
	return a
}

// Fastest returns the row of the least time at n among those that keep accepts. Where copies of others
// were timed, rows on a GPU without them are left out: their times are of less.
func (a Answer) Fastest(n int, keep func(compare.Record) bool) (compare.Record, bool) {
	copied := slices.ContainsFunc(a.rows, func(r compare.Record) bool { return r.N == n && withCopies(r) })
	return a.least(n, Whole, func(r compare.Record) bool {
		return keep(r) && (!ByGPU(r) || !copied || withCopies(r))
	})
}

// withCopies reports whether the copies of a row on a GPU were timed.
func withCopies(r compare.Record) bool { return !math.IsNaN(CopiedApart(r)) }

// least returns the row at n of the least time among those that keep accepts.
func (a Answer) least(n int, time func(compare.Record) float64,
	keep func(compare.Record) bool) (best compare.Record, found bool) {
	for _, r := range a.rows {
		if r.N == n && keep(r) && (!found || time(r) < time(best)) {
			best, found = r, true
		}
	}
	return best, found
}

// OnSpread is the key of the champion among the variants whose operands are spread over the ranks
// before they begin: their times are without distribution, so they are compared with nothing else.
const OnSpread = OnRanks + "-spread"

// median is the time of a row as it was measured: on a GPU that of the kernel alone.
func median(r compare.Record) float64 { return float64(r.Median) }

// Best returns the fastest row of our variants of a family at n. Those of the family mpi have their
// operands on one rank; OnSpread has the others.
func (a Answer) Best(family string, n int) (compare.Record, bool) {
	return a.Fastest(n, func(r compare.Record) bool {
		if Of(r).Spread != (family == OnSpread) {
			return false
		}
		return (family == OnSpread || Family(r.Variant) == family) && Ours(r) && InFull(r)
	})
}

// Leader returns the fastest row of ours or of the user at n that begins and ends in one memory.
func (a Answer) Leader(n int) (compare.Record, bool) {
	return a.Fastest(n, func(r compare.Record) bool {
		return (Ours(r) || Brought(r)) && InFull(r) && !Of(r).Spread
	})
}

// Level returns the variants whose rows at n are not slower than the leader by more than the noise: of each
// family of ours its fastest.
func (a Answer) Level(n int) []string {
	best, _ := a.Leader(n)
	var out []string
	for _, family := range []string{Serial, Parallel, OnRanks, OnGPU} {
		if r, ok := a.Best(family, n); ok && r.Variant != best.Variant && !ByGPU(r) && !ByGPU(best) && !Apart(r, best) {
			out = append(out, r.Variant)
		}
	}
	return out
}

// InFull reports whether a row is of a product in the arithmetic of its type.
func InFull(r compare.Record) bool { return !ByGPU(r) || Exact(r) }

// Textbook returns the row of the textbook loops at n.
func (a Answer) Textbook(n int) (compare.Record, bool) { return a.least(n, median, Textbook) }

// Of returns the fastest row of a variant at n, of a GPU by the kernel alone.
func (a Answer) Of(variant string, n int) (compare.Record, bool) {
	return a.least(n, median, func(r compare.Record) bool { return r.Variant == variant })
}

// Champions returns the rows of the table at n: the textbook loops, the fastest of each family,
// kernels of the user, and libraries of others, each on as many threads as it was timed on.
func (a Answer) Champions(n int) []Champion {
	var out []Champion
	if r, ok := a.Textbook(n); ok {
		out = append(out, Champion{r, r.Variant})
	}
	for _, family := range []string{Serial, Parallel, OnRanks, OnSpread, OnGPU} {
		if r, ok := a.Best(family, n); ok && !Textbook(r) {
			out = append(out, Champion{r, family})
		}
	}
	type place struct {
		variant string
		threads int
	}
	var kernels, peers []compare.Record
	of := func(r compare.Record) place {
		if Of(r).Location == gemm.OnRanks {
			return place{r.Variant, 0} // the best number of ranks
		}
		return place{r.Variant, r.Threads}
	}
	for _, p := range Distinct(a.rows, of) {
		r, ok := a.Fastest(n, func(r compare.Record) bool { return of(r) == p })
		switch {
		case ok && Brought(r):
			kernels = append(kernels, r)
		case ok && Rival(r):
			peers = append(peers, r)
		}
	}
	slices.SortStableFunc(peers, func(x, y compare.Record) int { return cmp.Compare(x.Threads, y.Threads) })
	for _, r := range append(kernels, peers...) {
		out = append(out, Champion{r, r.Variant})
	}
	return out
}

// Step is a step of the way from the textbook loops to the fastest variant.
type Step struct {
	Key    string // start, order, unrolling, packing, threads, ranks, gpu
	Row    compare.Record
	Factor float64 // how many times as fast as the step before; 1 for the first
	Total  float64 // how many times as fast as the textbook loops
}

// Steps returns the way from the textbook loops to the fastest variant at n. A step that no row
// shows is left out.
func (a Answer) Steps(n int) []Step {
	naive, ok := a.Textbook(n)
	if !ok {
		return nil
	}
	steps := []Step{{"start", naive, 1, 1}}
	ordered := func(r compare.Record) bool { // the same loops in another order
		return Of(r).Parent == naive.Variant && Of(r).Loop.Order != "" && Of(r).Loop.Order != Of(naive).Loop.Order
	}
	inner := func(r compare.Record) bool { // loops whose multiply-adds do not wait for one sum
		of := Of(r)
		return of.Class == gemm.Plain && of.Loop.Instructions > 0 && of.Loop.Sums != 1 && !ordered(r)
	}
	serial := func(r compare.Record) bool { return Family(r.Variant) == Serial && Ours(r) }
	for _, s := range []struct {
		key  string
		keep func(compare.Record) bool
	}{
		{"order", func(r compare.Record) bool { return serial(r) && ordered(r) }},
		{"unrolling", func(r compare.Record) bool { return serial(r) && inner(r) }},
		{"packing", func(r compare.Record) bool { return serial(r) && !inner(r) && !ordered(r) }},
		{"threads", func(r compare.Record) bool { return Family(r.Variant) == Parallel }},
		{"ranks", func(r compare.Record) bool {
			return Family(r.Variant) == OnRanks && Ours(r) && !Of(r).Spread
		}},
		{"gpu", func(r compare.Record) bool { return ByGPU(r) && Ours(r) && Exact(r) }},
	} {
		r, ok := a.Fastest(n, s.keep)
		if !ok || Textbook(r) {
			continue
		}
		last := steps[len(steps)-1].Row
		steps = append(steps, Step{s.key, r, Whole(last) / Whole(r), Whole(naive) / Whole(r)})
	}
	return steps
}

// Win says from which size on one family is faster than another.
type Win struct {
	Over     string    // the other family
	Variants [2]string // at the largest common size, of both
	From     int       // the least size from which on it is faster at all larger ones; 0: at none
	Always   bool      // at every common size
	At       int       // the largest common size
	Ratio    float64   // how many times as fast at that size
	Compared int       // common sizes
}

// Wins compares the fastest rows of two families at all sizes that both were timed at. It reports
// false if there is none.
func (a Answer) Wins(family, over string) (Win, bool) {
	w := Win{Over: over}
	first := true
	for _, n := range Distinct(a.bySize(), func(r compare.Record) int { return r.N }) {
		own, ok := a.Best(family, n)
		other, too := a.Best(over, n)
		if !ok || !too {
			continue
		}
		w.Compared++
		w.At, w.Ratio, w.Variants = n, Whole(other)/Whole(own), [2]string{own.Variant, other.Variant}
		switch {
		case !(w.Ratio > 1) || !Apart(own, other):
			w.From, first = 0, false
		case w.From == 0:
			w.From, w.Always = n, first
		}
	}
	return w, w.Compared > 0
}

// Wide reports whether a row has that warning.
func Wide(r compare.Record) bool {
	return r.Warns(note.Spread)
}

// bySize returns the rows, the smallest first.
func (a Answer) bySize() []compare.Record {
	rows := slices.Clone(a.rows)
	slices.SortStableFunc(rows, func(x, y compare.Record) int { return cmp.Compare(x.N, y.N) })
	return rows
}

// Families returns how many of the families of the suite have timed rows.
func (v *View) Families() int {
	return len(Distinct(Timed(v.Pick(Ours)), Home))
}

// AllSizes returns the sizes of square products at which a family was timed, ascending.
func (a Answer) AllSizes(family string) []int {
	var own []compare.Record
	for _, r := range a.bySize() {
		if Family(r.Variant) == family {
			own = append(own, r)
		}
	}
	return Distinct(own, func(r compare.Record) int { return r.N })
}

// Pair is our fastest row and that of a library of others, on equally many threads or on the GPU.
type Pair struct{ Own, Peer compare.Record }

// Pairs pairs the fastest rows of ours and of the libraries of others at n, at each number of threads
// that both were timed on, and on the GPU, where the kernels alone count. Rows on ranks have no part
// in it.
func (a Answer) Pairs(n int) []Pair {
	// onGPU comes after all numbers of threads.
	const onGPU = math.MaxInt
	place := func(r compare.Record) int { // 0: nowhere
		switch f := Family(r.Variant); {
		case f == OnGPU && Exact(r):
			return onGPU
		case (f == Serial || f == Parallel || f == Reference) && Of(r).Location == gemm.InProcess && !Program(r):
			return max(r.Threads, 1)
		}
		return 0
	}
	var out []Pair
	places := Distinct(a.rows, place)
	slices.Sort(places)
	for _, threads := range places {
		at := func(r compare.Record) bool { return threads != 0 && place(r) == threads }
		own, ok := a.least(n, median, func(r compare.Record) bool { return at(r) && Ours(r) })
		peer, too := a.least(n, median, func(r compare.Record) bool { return at(r) && Rival(r) })
		if ok && too {
			out = append(out, Pair{own, peer})
		}
	}
	return out
}

// Like returns the row at n that belongs in the line of c: of the same variant on as many threads.
func (a Answer) Like(c Champion, n int) (compare.Record, bool) {
	return a.Fastest(n, func(r compare.Record) bool { return r.Variant == c.Variant && r.Threads == c.Threads })
}

// FamilyAt returns the fastest row of each variant of a family, in the order of the records, at the
// main size if more than half of the variants were timed at it, else, and for a GPU always, at the
// largest size of which that is true. Rows of other arithmetic than the type's are among them.
func (a Answer) FamilyAt(fam string) []compare.Record {
	variants := map[int]int{}
	rows := map[int][]compare.Record{}
	var own []compare.Record
	for _, r := range a.rows {
		if Home(r) == fam {
			own = append(own, r)
		}
	}
	for _, n := range Distinct(own, func(r compare.Record) int { return r.N }) {
		for _, variant := range Distinct(own, VariantOf) {
			if r, ok := a.Of(variant, n); ok {
				variants[n]++
				rows[n] = append(rows[n], r)
			}
		}
	}
	most, best := 0, 0
	for _, count := range variants {
		most = max(most, count)
	}
	if fam != OnGPU && 2*variants[a.Main] > most { // a GPU shows what it can at large sizes
		return rows[a.Main]
	}
	for n, count := range variants {
		if 2*count > most && n > best {
			best = n
		}
	}
	return rows[best]
}

// Missing returns the variants of a family, in the order of the records, that were not timed at n.
func (a Answer) Missing(v *View, fam string, n int) []string {
	var out []string
	own := slices.DeleteFunc(v.WholeLadder(a.Type), func(r compare.Record) bool { return Home(r) != fam })
	for _, variant := range Distinct(own, VariantOf) {
		at := func(r compare.Record) bool {
			return r.Variant == variant && r.N == n && ProblemOf(r).Cube() && r.Speed()
		}
		if !slices.ContainsFunc(own, at) {
			out = append(out, variant)
		}
	}
	return out
}

// Borrowed returns the rows of a family at n that another variant computed.
func (a Answer) Borrowed(v *View, fam string, n int) []compare.Record {
	var out []compare.Record
	for _, r := range Timed(v.WholeLadder(a.Type)) {
		p := ProblemOf(r)
		if Family(r.Variant) == fam && p.Cube() && p.plain() && r.N == n && !RanItself(r) {
			out = append(out, r)
		}
	}
	return out
}

// MainType returns the element type that most of a report is about: the first that was timed, in the
// order of gemm.Types.
func (v *View) MainType() string {
	types := Types(Timed(v.Records))
	if len(types) == 0 {
		return ""
	}
	return types[0]
}
