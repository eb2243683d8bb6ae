package analysis

import (
	"cmp"
	"math"
	"slices"

	"gemm"
	"gemm/compare/record"
	"gemm/internal/note"
)

// Whole returns the time of a product that begins and ends in the memory of the host: of a GPU with
// the copies of the operands and of the result.
func Whole(r record.Record) float64 {
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

// Champion is the fastest variant of one family at one size.
type Champion struct {
	record.Record
	Mark              // best: the fastest of those that begin in one memory
	Key       string  // serial, parallel, mpi, cuda; of others and of the user the variant
	OverNaive float64 // how many times as fast as the textbook loops; NaN if these were not timed
}

// Line is the word for the line of a champion: its family, or textbook, user or library.
func (c Champion) Line() string {
	switch {
	case Textbook(c.Record):
		return "textbook"
	case Brought(c.Record):
		return "user"
	case !Ours(c.Record):
		return "library"
	}
	return c.Key
}

// Copied reports whether the copies of a GPU are in the time of a champion.
func (c Champion) Copied() bool { return ByGPU(c.Record) && withCopies(c.Record) }

// Answer is what a report says first: the fastest of every family at common sizes.
type Answer struct {
	Type string
	Main int // the largest size that the textbook loops and the most families were timed at
	rows []record.Record
	view *View
}

// Answer returns the answer for one type.
func (v *View) Answer(typ string) Answer {
	a := Answer{Type: typ, view: v}
	a.rows = Pick(Timed(v.Ladder(typ)), func(r record.Record) bool {
		p := ProblemOf(r)
		return p.Cube() && p.plain() && r.Median > 0 && !v.Crowds(r)
	})
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

// Fastest returns the row of the least time at n among those that keep accepts. Where copies of others
// were timed, rows on a GPU without them are left out: their times are of less.
func (a Answer) Fastest(n int, keep func(record.Record) bool) (record.Record, bool) {
	copied := slices.ContainsFunc(a.rows, func(r record.Record) bool { return r.N == n && withCopies(r) })
	return a.least(n, Whole, func(r record.Record) bool {
		return keep(r) && (!ByGPU(r) || !copied || withCopies(r))
	})
}

// withCopies reports whether the copies of a row on a GPU were timed.
func withCopies(r record.Record) bool { return !math.IsNaN(CopiedApart(r)) }

// least returns the row at n of the least time among those that keep accepts.
func (a Answer) least(n int, time func(record.Record) float64,
	keep func(record.Record) bool) (best record.Record, found bool) {
	return Least(a.rows, func(r record.Record) float64 {
		if r.N != n || !keep(r) {
			return math.NaN()
		}
		return time(r)
	})
}

// OnSpread is the key of the champion among the variants whose operands are spread over the ranks
// before they begin: their times are without distribution, so they are compared with nothing else.
const OnSpread = OnRanks + "-spread"

// Best returns the fastest row of a family at n: of our variants, or of the kernels of the user. Those of the family
// mpi have their operands on one rank; OnSpread has the others.
func (a Answer) Best(family string, n int) (record.Record, bool) {
	return a.Fastest(n, func(r record.Record) bool {
		own := Family(r.Variant)
		if Of(r).Spread {
			own = OnSpread
		}
		return own == family && (Ours(r) || Brought(r)) && InFull(r)
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

// Champions returns the rows of the table at n: the textbook loops, the fastest of each family,
// kernels of the user, and libraries of others, each on as many threads as it was timed on.
func (a Answer) Champions(n int) []Champion {
	var out []Champion
	naive, timed := a.Textbook(n)
	if timed {
		out = append(out, Champion{Record: naive, Key: naive.Variant})
	}
	for _, family := range []string{Serial, Parallel, OnRanks, OnSpread, OnGPU} {
		if r, ok := a.Best(family, n); ok && !Textbook(r) {
			out = append(out, Champion{Record: r, Key: family})
		}
	}
	of := func(r record.Record) Coder {
		if Of(r).Location == gemm.OnRanks {
			return Coder{r.Variant, 0} // the best number of ranks
		}
		return Coder{r.Variant, r.Threads}
	}
	var kernels, peers []Champion
	for _, place := range Distinct(a.rows, of) {
		r, ok := a.Fastest(n, func(r record.Record) bool { return of(r) == place })
		switch c := (Champion{Record: r, Key: r.Variant}); {
		case ok && Brought(r):
			kernels = append(kernels, c)
		case ok && Rival(r):
			peers = append(peers, c)
		}
	}
	slices.SortStableFunc(peers, func(x, y Champion) int { return cmp.Compare(x.Threads, y.Threads) })
	out = slices.Concat(out, kernels, peers)
	best := -1
	for i, c := range out {
		out[i].OverNaive = math.NaN()
		if timed {
			out[i].OverNaive = Whole(naive) / Whole(c.Record)
		}
		if c.Key != OnSpread && (best < 0 || Whole(c.Record) < Whole(out[best].Record)) {
			best = i
		}
	}
	if best >= 0 {
		out[best].Mark = "best"
	}
	return out
}

// Step is a step of the way from the textbook loops to the fastest variant.
type Step struct {
	Key    string // start, order, unrolling, packing, threads, ranks, gpu
	Row    record.Record
	Factor float64 // how many times as fast as the step before; 1 for the first
	Total  float64 // how many times as fast as the textbook loops
}

// Steps returns the way from the textbook loops to the fastest variant at n. A step that no row shows is left out.
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
			steps = append(steps, Step{s.key, r, Whole(last) / Whole(r), Whole(naive) / Whole(r)})
		}
	}
	return steps
}

// Way is the way from the textbook loops to our fastest variant at the main size of an answer.
type Way struct {
	Naive, Best Step
	Largest     []Step // the two that gain the most, the larger first
	Losses      []Step // those that lose by more than the noise
}

// Way returns the way, or nil if the textbook loops or all other rungs were not timed.
func (a Answer) Way() *Way {
	steps := a.Steps(a.Main)
	if len(steps) < 2 {
		return nil
	}
	w := Way{Naive: steps[0], Best: steps[0]}
	for i, s := range steps[1:] {
		switch last := steps[i].Row; {
		case s.Factor > 1:
			w.Largest = append(w.Largest, s)
		case s.Factor < 1-Tolerance && Behind(s.Row, last):
			w.Losses = append(w.Losses, s)
		}
		if s.Total > w.Best.Total {
			w.Best = s
		}
	}
	slices.SortStableFunc(w.Largest, func(x, y Step) int { return cmp.Compare(y.Factor, x.Factor) })
	w.Largest = w.Largest[:min(2, len(w.Largest))]
	return &w
}

// Comparison compares the best of the way with the textbook loops.
func (w Way) Comparison() Comparison { return wholly(w.Naive.Row, w.Best.Row) }

// wholly compares two rows like Versus, but with the copies of a GPU, of which there is no interval.
func wholly(a, b record.Record) Comparison {
	if ByGPU(a) || ByGPU(b) {
		return justRatio(Whole(a) / Whole(b))
	}
	return Versus(a, b)
}

// Behind reports whether a product takes longer than another by more than the noise. With the copies of a GPU, which
// have no interval, it is by more than Tolerance.
func Behind(r, best record.Record) bool {
	if ByGPU(r) || ByGPU(best) {
		return Whole(r) > Whole(best)*(1+Tolerance)
	}
	return Whole(r) > Whole(best) && Apart(r, best)
}

// Win says from which size on one family is faster than another.
type Win struct {
	Family, Over string
	Variants     [2]string // at the largest common size, of both
	From         int       // the least size from which on it is faster at all larger ones; 0: at none
	Always       bool      // at every common size
	At           int       // the largest common size
	Slower       bool      // it is slower at that size by more than the noise
	Comparison
}

// Wins compares the fastest rows of pairs of families at all sizes that both were timed at.
func (a Answer) Wins() []Win {
	var out []Win
	for _, pair := range [][2]string{{Parallel, Serial}, {OnRanks, Serial}, {OnRanks, Parallel}, {OnGPU, Serial},
		{OnGPU, Parallel}} {
		w, first := Win{Family: pair[0], Over: pair[1]}, true
		for _, n := range Ascending(a.rows, sizeOf) {
			own, ok := a.Best(w.Family, n)
			other, too := a.Best(w.Over, n)
			if !ok || !too {
				continue
			}
			w.At, w.Comparison, w.Variants = n, wholly(other, own), [2]string{own.Variant, other.Variant}
			w.Slower = Behind(own, other)
			switch {
			case !Behind(other, own):
				w.From, w.Always, first = 0, false, false
			case w.From == 0:
				w.From, w.Always = n, first
			}
		}
		if w.At > 0 {
			out = append(out, w)
		}
	}
	return out
}

// AllSizes returns the sizes of square products at which a family was timed, ascending.
func (a Answer) AllSizes(family string) []int {
	return Ascending(Pick(a.rows, func(r record.Record) bool { return Family(r.Variant) == family }), sizeOf)
}

// Pair is our fastest row and that of a library of others, on equally many threads or on the GPU.
type Pair struct{ Own, Peer record.Record }

// Rivals pairs our fastest row with that of the fastest library on one thread, on the most threads and on the GPU,
// where the kernels alone count: each at the largest size that most libraries were timed at. Rows on ranks have no
// part in it.
func (a Answer) Rivals() []Pair {
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
			own, ok := Least(Pick(rows, Ours), median)
			peer, too := Least(Pick(rows, Rival), median)
			if !ok || !too || threads == 0 {
				continue
			}
			same := func(r record.Record) bool { return Rival(r) && max(r.Threads, 1) == threads && !ByGPU(r) }
			if threads == onGPU {
				same = func(r record.Record) bool { return Rival(r) && ByGPU(r) && Exact(r) }
			} else {
				most = max(most, threads)
			}
			if count := len(Distinct(Pick(at[n].rows, same), VariantOf)); count >= libraries[threads] {
				found[threads], libraries[threads] = Pair{own, peer}, count
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

// OnGPU reports whether a GPU computed the pair.
func (p Pair) OnGPU() bool { return ByGPU(p.Own) }

// N is the size of the pair.
func (p Pair) N() int { return p.Own.N }

// Comparison compares the two: above 1, ours is faster.
func (p Pair) Comparison() Comparison { return Versus(p.Peer, p.Own) }

// Verdict says whether our row is faster, slower or level with the library: by more than the noise, and by more than
// Tolerance if they were not interleaved.
func (p Pair) Verdict() string {
	switch c := p.Comparison(); {
	case !Apart(p.Peer, p.Own), Alike(c.Ratio) && !InTurn(p.Peer, p.Own):
		return "level"
	case c.Ratio > 1:
		return "faster"
	}
	return "slower"
}

// MainType returns the element type that most of a report is about: the first that was timed, in the
// order of gemm.Types.
func (v *View) MainType() string {
	types := append(Types(Timed(v.Records)), "")
	return types[0]
}

// Others returns the answers for all types but the main one that have ranges.
func (v *View) Others() []Answer {
	var out []Answer
	for _, typ := range Types(Timed(v.Records)) {
		if a := v.Answer(typ); typ != v.MainType() && len(a.Ranking().Ranges) > 0 {
			out = append(out, a)
		}
	}
	return out
}

// Highest returns our row of the highest speed in a type, in any experiment; nil if there is none.
func (v *View) Highest(typ string) *Champion {
	best, ok := Least(v.Records, func(r record.Record) float64 {
		if r.Type != typ || !r.Speed() || !Ours(r) || !InFull(r) || v.Crowds(r) {
			return math.NaN()
		}
		x, _ := Speed(r)
		return -float64(x) * float64(r.Median) / Whole(r)
	})
	if !ok {
		return nil
	}
	return &Champion{Record: best}
}

// Wide reports whether a row has the warning that its samples vary too much.
func Wide(r record.Record) bool { return r.Warns(note.Spread) }
