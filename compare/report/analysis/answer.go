package analysis

import (
	"cmp"
	"math"
	"slices"

	"gemm"
	"gemm/compare/record"
)

// HostTime returns the time of a product that begins and ends in the memory of the host: GPU times include the copies.
func HostTime(r record.Record) float64 {
	t := median(r)
	if ByGPU(r) {
		t += r.Phases["h2d"] + r.Phases["d2h"]
	}
	return t
}

// A Mark is how a row of a table is shown: best, wrong or muted.
type Mark string

// Class returns the mark.
func (m Mark) Class() string { return string(m) }

// Fastest is the fastest variant of one family at one size.
type Fastest struct {
	record.Record
	Mark              // best: the fastest whose operands begin in one memory
	Key       string  // serial, parallel, mpi, cuda; of others and of the user the variant
	OverNaive float64 // how many times as fast as the textbook loops; NaN if these were not timed
}

// Category is the key of the word for a row: its family, or textbook, user or library.
func (c Fastest) Category() string {
	switch {
	case Textbook(c.Record):
		return "textbook"
	case OfUser(c.Record):
		return "user"
	case !Ours(c.Record):
		return "library"
	}
	return c.Key
}

// HasCopies reports whether the time includes the copies of a GPU.
func (c Fastest) HasCopies() bool { return ByGPU(c.Record) && withCopies(c.Record) }

// Answer is what a report says first: the fastest of every family at common sizes.
type Answer struct {
	Type string
	Main int // the largest size that the textbook loops and the most families were timed at
	rows []record.Record
}

// Answer returns the answer for one type.
func (v *View) Answer(typ string) Answer {
	a := Answer{Type: typ, rows: Pick(Timed(v.Ladder(typ)), func(r record.Record) bool {
		p := ProblemOf(r)
		return p.Cube() && p.Plain() && r.Median > 0 && !v.Oversubscribes(r)
	})}
	most := 0
	for _, rows := range GroupBy(a.rows, sizeOf) {
		own := Pick(rows, func(r record.Record) bool { return !Foreign(r.Variant) })
		count := len(Distinct(own, func(r record.Record) string { return Family(r.Variant) })) +
			len(Distinct(Pick(rows, Textbook), VariantOf))
		if count > most || count == most && rows[0].N > a.Main {
			most, a.Main = count, rows[0].N
		}
	}
	return a
}

// Fastest returns the row of the least time at n that keep accepts. If a row of a GPU has timed copies, rows of a GPU
// without them are left out.
func (a Answer) Fastest(n int, keep func(record.Record) bool) (record.Record, bool) {
	copied := slices.ContainsFunc(a.rows, func(r record.Record) bool { return r.N == n && withCopies(r) })
	return a.least(n, HostTime, func(r record.Record) bool {
		return keep(r) && (!ByGPU(r) || !copied || withCopies(r))
	})
}

func withCopies(r record.Record) bool { return !math.IsNaN(CopiedApart(r)) }

// least returns the row of the least time at n that keep accepts.
func (a Answer) least(n int, time func(record.Record) float64, keep func(record.Record) bool) (record.Record, bool) {
	return leastOf(a.rows, func(r record.Record) bool { return r.N == n && keep(r) }, time)
}

// OnRanksDistributed is the key of the variants whose operands are distributed over the ranks before timing begins.
// Their times are compared with nothing else.
const OnRanksDistributed = OnRanks + "-spread"

// Best returns the fastest row of a family at n: of our variants, or of the kernels of the user. For the family mpi,
// the operands are on one rank; OnRanksDistributed has the other variants.
func (a Answer) Best(family string, n int) (record.Record, bool) {
	return a.Fastest(n, func(r record.Record) bool {
		own := Family(r.Variant)
		if Of(r).Spread {
			own = OnRanksDistributed
		}
		return own == family && (Ours(r) || OfUser(r)) && InFull(r)
	})
}

// InFull reports whether a row is of a product in the arithmetic of its type.
func InFull(r record.Record) bool { return !ByGPU(r) || Exact(r) }

// Textbook returns the row of the textbook loops at n.
func (a Answer) Textbook(n int) (record.Record, bool) { return a.least(n, median, Textbook) }

// Of returns the fastest row of a variant at n, of a GPU by the kernel alone.
func (a Answer) Of(variant string, n int) (record.Record, bool) {
	return a.least(n, median, func(r record.Record) bool { return r.Variant == variant })
}

// FastestRows returns the rows of the table at n: the textbook loops, the fastest of each family, kernels of the user,
// and the fastest library on every number of threads, on ranks and on the GPU.
func (a Answer) FastestRows(n int) []Fastest {
	var out []Fastest
	if naive, ok := a.Textbook(n); ok {
		out = append(out, a.fastest(naive, naive.Variant))
	}
	for _, family := range []string{Serial, Parallel, OnRanks, OnRanksDistributed, OnGPU} {
		if r, ok := a.Best(family, n); ok && !Textbook(r) {
			out = append(out, a.fastest(r, family))
		}
	}
	of := func(r record.Record) Coder {
		place := CoderOf(r)
		if OfLibrary(r) {
			place.Variant = ""
		}
		if Of(r).Location == gemm.OnRanks {
			place.Threads = -1 // the best number of ranks
		}
		return place
	}
	var kernels, peers []Fastest
	for _, place := range Distinct(a.rows, of) {
		r, ok := a.Fastest(n, func(r record.Record) bool { return of(r) == place })
		switch c := a.fastest(r, r.Variant); {
		case ok && OfUser(r):
			kernels = append(kernels, c)
		case ok && OfLibrary(r):
			peers = append(peers, c)
		}
	}
	slices.SortStableFunc(peers, func(x, y Fastest) int { return cmp.Compare(x.Threads, y.Threads) })
	out = slices.Concat(out, kernels, peers)
	best := -1
	for i, c := range out {
		if c.Key != OnRanksDistributed && (best < 0 || HostTime(c.Record) < HostTime(out[best].Record)) {
			best = i
		}
	}
	if best >= 0 {
		out[best].Mark = "best"
	}
	return out
}

func (a Answer) fastest(r record.Record, key string) Fastest {
	c := Fastest{Record: r, Key: key, OverNaive: math.NaN()}
	if naive, ok := a.Textbook(r.N); ok {
		c.OverNaive = HostTime(naive) / HostTime(r)
	}
	return c
}

// Step is a step from the textbook loops to the fastest variant.
type Step struct {
	Key    string // start, order, unrolling, packing, threads, ranks, gpu
	Row    record.Record
	Factor float64 // how many times as fast as the step before; 1 for the first
	Total  float64 // how many times as fast as the textbook loops
}

// Steps returns the steps from the textbook loops to the fastest variant at n, without those that no row shows.
func (a Answer) Steps(n int) []Step {
	naive, ok := a.Textbook(n)
	if !ok {
		return nil
	}
	steps := []Step{{"start", naive, 1, 1}}
	ordered := func(r record.Record) bool { // the same loops in another order
		return Of(r).Parent == naive.Variant && Of(r).Loop.Order != "" && Of(r).Loop.Order != Of(naive).Loop.Order
	}
	inner := func(r record.Record) bool { // loops whose multiply-adds do not wait for one sum
		of := Of(r)
		return of.Class == gemm.Plain && of.Loop.Instructions > 0 && of.Loop.Sums != 1 && !ordered(r)
	}
	serial := func(r record.Record) bool { return Family(r.Variant) == Serial && Ours(r) }
	for _, s := range []struct {
		key  string
		keep func(record.Record) bool
	}{
		{"order", func(r record.Record) bool { return serial(r) && ordered(r) }},
		{"unrolling", func(r record.Record) bool { return serial(r) && inner(r) }},
		{"packing", func(r record.Record) bool { return serial(r) && !inner(r) && !ordered(r) }},
		{"threads", func(r record.Record) bool { return Family(r.Variant) == Parallel }},
		{"ranks", func(r record.Record) bool {
			return Family(r.Variant) == OnRanks && Ours(r) && !Of(r).Spread
		}},
		{"gpu", func(r record.Record) bool { return ByGPU(r) && Ours(r) && Exact(r) }},
	} {
		if r, ok := a.Fastest(n, s.keep); ok && !Textbook(r) {
			last := steps[len(steps)-1].Row
			steps = append(steps, Step{s.key, r, HostTime(last) / HostTime(r), HostTime(naive) / HostTime(r)})
		}
	}
	return steps
}

// Waterfall is the steps from the textbook loops to our fastest variant at the main size of an answer.
type Waterfall struct {
	Naive, Best Step
	Comparison  Comparison // of the best variant with the textbook loops
	Largest     []Step     // the two with the largest factors, the larger first
	Slowdowns   []Step     // slower than the step before by more than the noise
}

// Waterfall returns the steps, nil if the textbook loops or all other rungs were not timed.
func (a Answer) Waterfall() *Waterfall {
	steps := a.Steps(a.Main)
	if len(steps) < 2 {
		return nil
	}
	w := Waterfall{Naive: steps[0], Best: steps[0]}
	for i, s := range steps[1:] {
		switch last := steps[i].Row; {
		case s.Factor > 1:
			w.Largest = append(w.Largest, s)
		case s.Factor < 1-Tolerance && IsSlower(s.Row, last):
			w.Slowdowns = append(w.Slowdowns, s)
		}
		if s.Total > w.Best.Total {
			w.Best = s
		}
	}
	slices.SortStableFunc(w.Largest, func(x, y Step) int { return cmp.Compare(y.Factor, x.Factor) })
	w.Largest = w.Largest[:min(2, len(w.Largest))]
	w.Comparison = compareHostTimes(w.Naive.Row, w.Best.Row)
	return &w
}

// compareHostTimes compares two rows like Versus, but by HostTime. With the copies of a GPU there is no interval.
func compareHostTimes(a, b record.Record) Comparison {
	if ByGPU(a) || ByGPU(b) {
		return justRatio(HostTime(a) / HostTime(b))
	}
	return Versus(a, b)
}

// IsSlower reports whether a product takes longer than another by more than the noise, or, with the copies of a GPU,
// which have no interval, by more than Tolerance.
func IsSlower(r, best record.Record) bool {
	if ByGPU(r) || ByGPU(best) {
		return HostTime(r) > HostTime(best)*(1+Tolerance)
	}
	return HostTime(r) > HostTime(best) && Distinguishable(r, best)
}

// AllSizes returns the sizes of square products at which a family was timed, ascending.
func (a Answer) AllSizes(family string) []int {
	return Ascending(Pick(a.rows, func(r record.Record) bool { return Family(r.Variant) == family }), sizeOf)
}

// Pair is our fastest row and the row of a library, on equally many threads or on the GPU.
type Pair struct {
	Own, Peer  record.Record
	Comparison Comparison // above 1, ours is faster
	Verdict    string     // faster, slower or level: by more than the noise, and Tolerance if they were not interleaved
}

func pairOf(own, peer record.Record) Pair {
	p := Pair{own, peer, Versus(peer, own), "slower"}
	switch ratio := p.Comparison.Ratio; {
	case !Distinguishable(peer, own), Alike(ratio) && !Interleaved(peer, own):
		p.Verdict = "level"
	case ratio > 1:
		p.Verdict = "faster"
	}
	return p
}

// LibraryPairs pairs our fastest row with the row of the fastest library on one thread, on the most threads and on the
// GPU (kernels alone), each at the largest size that most libraries were timed at. Rows on ranks are left out.
func (a Answer) LibraryPairs() []Pair {
	const onGPU = math.MaxInt
	place := func(r record.Record) int { // the number of threads; 0: nowhere
		switch f := Family(r.Variant); {
		case f == OnGPU && Exact(r):
			return onGPU
		case (f == Serial || f == Parallel || f == Reference) && Of(r).Location == gemm.InProcess && !Program(r):
			return max(r.Threads, 1)
		}
		return 0
	}
	found, libraries := map[int]Pair{}, map[int]int{}
	most := 1
	sizes, at := a.split()
	for _, n := range sizes {
		for _, rows := range GroupBy(at[n].rows, place) {
			threads := place(rows[0])
			peers := Pick(rows, OfLibrary)
			own, ok := MinBy(Pick(rows, Ours), median)
			peer, too := MinBy(peers, median)
			if !ok || !too || threads == 0 {
				continue
			}
			if threads != onGPU {
				most = max(most, threads)
			}
			if count := len(Distinct(peers, VariantOf)); count >= libraries[threads] {
				found[threads], libraries[threads] = pairOf(own, peer), count
			}
		}
	}
	var out []Pair
	for _, threads := range slices.Compact([]int{1, most, onGPU}) {
		if p, ok := found[threads]; ok {
			out = append(out, p)
		}
	}
	return out
}
