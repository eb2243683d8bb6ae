package analysis

import (
	"cmp"
	"math"
	"slices"

	"gemm"
	"gemm/compare/record"
)

// A Reason is what limits a loop, or what a step between two variants changes.
type Reason string

// The reasons, in the order in which equal ones are named.
const (
	NoReason     Reason = ""
	Vectors      Reason = "vector"       // elements that an instruction computes
	Conflicts    Reason = "conflict"     // lines of a column in few sets of a cache
	Lines        Reason = "lines"        // a cache line for every element
	Chain        Reason = "chain"        // additions that wait for one another
	Instructions Reason = "instructions" // instructions in the loop
	Stream       Reason = "stream"       // lines of B from behind the first level of cache
	Arithmetic   Reason = "arithmetic"   // multiply-adds themselves
	Atomics      Reason = "atomics"      // atomic additions of all terms
	Merges       Reason = "merges"       // atomic additions of private copies of C
	Joins        Reason = "joins"        // fork and join for every element of A
	Workers      Reason = "workers"      // workers that share the product
	Balance      Reason = "balance"      // tiles for some of the workers only
	Operations   Reason = "operations"
	Accesses     Reason = "accesses"
	Traffic1     Reason = "traffic1" // behind the first level of cache
	Traffic2     Reason = "traffic2" // behind the second
)

// The cycles of a core in the model: values in the middle of the range of common x86 processors since 2013 (Agner Fog,
// Instruction tables, and The microarchitecture of Intel, AMD and VIA CPUs). They differ between processors by less
// than the factor of two within which a step counts as explained. The model was checked on one host, a Zen 4.
const (
	addLatency     = 3.0  // a dependent addition in registers: 2 to 4
	forwardLatency = 7.0  // a load of what was just stored: 5 on Skylake, 6 on Haswell, 8 on Zen 2
	issueWidth     = 4.0  // instructions a cycle: 4 to 6
	multiplyAdd    = 0.5  // a multiply-add; there are two units
	atomicCycles   = 20.0 // a compare-and-swap of a line in the own cache: 17 to 20
	joinSeconds    = 3e-7 // fork and join of a few workers that spin
)

// The cycles of a cache line by level of cache (Hennessy and Patterson, Computer Architecture, 6th ed.,
// chapter 2). They are throughputs: a core has several misses in flight.
var (
	// walked is for lines in a walk down a column, which the hardware does not prefetch: the latency,
	// 14 and 40 to 50 cycles, over some four misses at a time.
	walked = map[int]float64{2: 4, 3: 12}
	// streamed is for lines in sequence, which it prefetches: 32 and 16 bytes a cycle.
	streamed = map[int]float64{1: 0, 2: 2, 3: 4}
)

// loopReasons are the terms of a Cost.
var loopReasons = []Reason{Conflicts, Lines, Chain, Instructions, Stream, Arithmetic, Atomics, Merges, Joins}

// core is a core of a host, for products of one type.
type core struct {
	lanes  float64 // elements of a vector; 1: no vector instructions
	units  float64 // that multiply and add vectors
	clock  float64 // cycles a second
	memory float64 // cycles a line from memory
	caches []record.Cache
	line   float64 // bytes
	size   float64 // bytes of an element
}

// field is the type of elements of GF(2⁸).
const field = "gf256"

// core returns the model of a core. A record has no clock: it follows from the measured peak. With
// AVX-512 some processors have one unit of the full width and others have two. No clock is high enough for the peak
// of two units to be mistaken for the peak of one.
func (v *View) core(typ string) core {
	c := core{lanes: 1, units: 2, clock: 3.5e9, line: 64, caches: v.Caches, size: float64(gemm.TypeNamed(typ).Size)}
	vector := 0.0 // bytes
	switch {
	case v.ISA == "avx512":
		vector = 64
	case v.ISA == "avx2", v.ISA == "avx2-nogfni" && typ != field:
		vector = 32
	case v.ISA == "neon":
		vector = 16
	}
	if vector > 0 {
		c.lanes = vector / c.size
		if peak, ok := v.Ceiling("f64", 1); ok {
			perUnit := float64(peak.Gflops) * 1e9 / (2 * vector / 8)
			if v.ISA == "avx512" && perUnit < 4.8e9 {
				c.units = 1
			}
			c.clock = perUnit / c.units
		}
	}
	if len(c.caches) > 0 && c.caches[0].Line > 0 {
		c.line = float64(c.caches[0].Line)
	}
	c.memory = walked[3]
	if triad, ok := v.Bandwidth(1); ok {
		c.memory = max(c.memory, c.line*c.clock/float64(triad.GBps)/1e9)
	}
	return c
}

// ways is the usual associativity of a cache. A first level has as many sets as a page has lines, so
// that its sets are found before the address is translated: 8 ways for 32 KiB, 12 for 48 KiB.
func ways(c record.Cache) float64 {
	switch {
	case c.Level == 1:
		return max(1, float64(c.Bytes)/4096)
	case c.Bytes <= 512<<10:
		return 8
	}
	return 16
}

// sets returns the number of sets of a cache that lines with a stride in bytes fall into. Lines whose
// stride is a multiple of a power of two fall into few.
func (c core) sets(cache record.Cache, stride int) float64 {
	all := int(float64(cache.Bytes) / (c.line * ways(cache)))
	if all < 1 || stride%int(c.line) != 0 {
		return float64(max(1, all))
	}
	a, b := all, stride/int(c.line)
	for b != 0 {
		a, b = b, a%b
	}
	return float64(all / max(1, a))
}

// level returns the first level of cache for which fits says so, 0 for memory.
func (c core) level(fits func(record.Cache) bool) int {
	cache, _ := Find(c.caches, fits)
	return cache.Level
}

// cost returns the cycles of a line from a level, 0 for memory.
func (c core) cost(cycles map[int]float64, level int) float64 {
	if x, ok := cycles[level]; ok {
		return x
	}
	return c.memory
}

// Cost is the predicted time of a multiply-add, in cycles.
type Cost struct {
	Loop    record.Loop
	Terms   map[Reason]float64 // the terms, as if each were alone, of all workers together
	Cycles  float64
	Workers float64 // that compute at the same time, on average
	Lanes   float64 // elements that an instruction computes
	Share   float64 // of a line of B that is used when it is fetched
	Column  float64 // lines of a column of B
	Sets    float64 // sets of the first level of cache that they fall into
	AllSets float64 // of that level
}

// Cost predicts the time of a multiply-add of a row from the loop of its variant: the largest of what
// the chain of additions, the instructions, the lines of B and the arithmetic take, divided by the
// workers, and what the workers do one after the other. It has no prediction for loops that are not
// described, and for vector loops on hosts without vector instructions for the type.
func (v *View) Cost(r record.Record) (Cost, bool) {
	declared := *Of(r)
	if ran := Ran(r); ran != r.Variant {
		declared = v.Variant(ran)
	}
	if declared.Loop.Local {
		declared = v.Variant(cmp.Or(Local(r), declared.Leaf))
	}
	loop := declared.Loop
	if r.Type == field {
		loop = declared.FieldLoop
	}
	c := v.core(r.Type)
	m, n, k := float64(r.M), float64(r.N), float64(r.K)
	if loop.Instructions == 0 || m*n*k == 0 || loop.Vector && c.lanes == 1 {
		return Cost{}, false
	}
	out := Cost{Loop: loop, Lanes: 1, Workers: busy(r), Share: 1, Column: k}
	terms := map[Reason]float64{Arithmetic: multiplyAdd}
	if loop.Sums > 0 {
		latency := addLatency
		if loop.Stored {
			latency += forwardLatency
		}
		terms[Chain] = latency / float64(loop.Sums)
	}
	terms[Instructions] = loop.Instructions / issueWidth
	c.fetch(&out, terms, r)
	if loop.Vector {
		out.Lanes = c.lanes
		terms[Arithmetic] = 1 / c.units
		for reason := range terms {
			terms[reason] /= c.lanes
		}
	}
	if loop.Atomic == record.AtomicTerms {
		terms[Atomics] = atomicCycles
	}
	for reason, cycles := range terms {
		terms[reason] = cycles / out.Workers
		out.Cycles = max(out.Cycles, terms[reason])
	}
	if loop.Atomic == record.AtomicCopies {
		terms[Merges] = atomicCycles / k
		out.Cycles += terms[Merges]
	}
	if loop.Joins {
		terms[Joins] = joinSeconds * c.clock / n
		out.Cycles += terms[Joins]
	}
	out.Terms = terms
	return out, true
}

// fetch adds the term of the cache lines of B, and what is to be said about them.
func (c core) fetch(out *Cost, terms map[Reason]float64, r record.Record) {
	k, perLine := float64(r.K), c.line/c.size
	inB := c.level(func(cache record.Cache) bool {
		return float64(r.K)*float64(r.N)*c.size <= float64(cache.Bytes)
	})
	switch {
	case out.Loop.Vector: // the blocks are packed, and each line is used for several rows of C
		return
	case out.Loop.Walk == record.Rows:
		terms[Stream] = c.cost(streamed, inB) / perLine
		return
	case out.Loop.Walk == record.Blocks:
		terms[Stream] = c.cost(streamed, min(max(inB, 1), 2)) / perLine
		return
	}
	// Down the columns. The lines of a column are used again for the next columns if they still are in
	// the first level of cache.
	stride := max(r.LDB, r.N) * int(c.size)
	roomy := c.level(func(cache record.Cache) bool { return k*c.line <= float64(cache.Bytes) })
	level := c.level(func(cache record.Cache) bool { return k <= c.sets(cache, stride)*ways(cache) })
	switch {
	case level == 1:
		if inB != 1 {
			terms[Stream] = c.cost(walked, inB) / perLine
		}
		return
	case level != roomy:
		terms[Conflicts] = c.cost(walked, level)
	default:
		terms[Lines] = c.cost(walked, level)
	}
	out.Share = 1 / perLine
	if len(c.caches) > 0 {
		out.Sets, out.AllSets = c.sets(c.caches[0], stride), c.sets(c.caches[0], int(c.line))
	}
}

// busy returns how many workers of a row compute at the same time, on average.
func busy(r record.Record) float64 {
	workers := float64(max(1, r.Threads))
	tile := Value[int](r.Resolved, "tile")
	if Of(r).Loop.Level != record.TilesLevel || tile < 1 || r.M*r.N == 0 {
		return workers
	}
	// A worker gets consecutive tiles.
	across, down := (r.N+tile-1)/tile, (r.M+tile-1)/tile
	most := 0
	for w, first := 0, 0; w < max(1, r.Threads); w++ {
		end := across * down * (w + 1) / max(1, r.Threads)
		elements := 0
		for i := first; i < end; i++ {
			elements += min(tile, r.M-i/across*tile) * min(tile, r.N-i%across*tile)
		}
		most, first = max(most, elements), end
	}
	return float64(r.M*r.N) / float64(most)
}

// Explanation is what the models say of a step between two rows.
type Explanation struct {
	Before, After Cost     // zero where a loop is not described
	Predicted     float64  // ratio; NaN if there is no prediction
	Cause         Reason   // what accounts for most; NoReason if no model accounts for the ratio that was measured
	Counted       *Counted // of Profiled
}

// Accounts reports whether a prediction accounts for a measured ratio: both are on one side of 1, and
// not more than a factor of two apart, nor more than a factor of four in their logarithms. For a
// measured ratio close to 1 the prediction is too.
func Accounts(predicted, measured float64) bool {
	if Alike(measured) {
		return Alike(predicted)
	}
	p, m := math.Log(predicted), math.Log(measured)
	return p*m > 0 && math.Abs(p-m) <= math.Ln2+1e-9 && max(p/m, m/p) <= 4
}

// Explain returns what accounts for a measured ratio of two rows: their loops, or else the nearest of
// the ratios of operations, accesses and traffic. Differences below Tolerance are finer than these.
func (v *View) Explain(before, after record.Record, measured float64) Explanation {
	out := Explanation{Predicted: math.NaN()}
	p, ok1 := v.Cost(before)
	q, ok2 := v.Cost(after)
	if ok1 && ok2 {
		out.Before, out.After, out.Predicted = p, q, p.Cycles/q.Cycles
		if Accounts(out.Predicted, measured) && !Alike(out.Predicted) {
			out.Cause = cause(p, q)
			return out
		}
	} else if busy(before) != busy(after) {
		// Whatever the loops do, the workers share it.
		out.Before.Workers, out.After.Workers = busy(before), busy(after)
		out.Predicted = out.After.Workers / out.Before.Workers
		if Accounts(out.Predicted, measured) && !Alike(measured) {
			out.Cause = shared(out.Before, out.After)
			return out
		}
	}
	predicted := Predictions(before, after)
	if math.IsNaN(out.Predicted) {
		out.Predicted = predicted[0]
	}
	nearest := math.Inf(1)
	for i, x := range predicted {
		d := math.Abs(math.Log(x / measured))
		if Accounts(x, measured) && d < nearest && !Alike(measured) {
			nearest, out.Predicted = d, x
			out.Cause = []Reason{Operations, Accesses, Traffic1, Traffic2}[i]
		}
	}
	if counted, ratio := v.counted(before, after, measured); out.Cause == NoReason && counted != nil {
		out.Cause, out.Counted, out.Predicted = Profiled, counted, ratio
	}
	return out
}

// Alike reports whether a ratio differs from 1 by less than Tolerance.
func Alike(ratio float64) bool { return math.Abs(math.Log(ratio)) < math.Log1p(Tolerance) }

// shared is the reason why one product has more busy workers than another.
func shared(before, after Cost) Reason {
	if before.Workers < after.Workers {
		return Workers
	}
	return Balance
}

// cause returns why the loops of two rows differ in time: the term that is longer in the slower loop by most.
func cause(before, after Cost) Reason {
	slow, fast := before, after
	if before.Cycles < after.Cycles {
		slow, fast = after, before
	}
	switch workers := math.Abs(math.Log(before.Workers / after.Workers)); {
	case before.Lanes != after.Lanes:
		return Vectors
	case workers > math.Abs(math.Log(before.Cycles/after.Cycles))/2:
		return shared(before, after)
	}
	return slices.MaxFunc(loopReasons, func(x, y Reason) int {
		more := func(reason Reason) float64 {
			if reason == Arithmetic { // the same in all scalar loops
				return 0
			}
			return slow.Terms[reason] - fast.Terms[reason]
		}
		return cmp.Compare(more(x), more(y))
	})
}

// Predictions returns the predicted ratios of operations, accesses and traffic of two rows; NaN if a model is missing.
func Predictions(before, after record.Record) (ratios [4]float64) {
	of := func(r record.Record) (x [4]float64) {
		if p := r.Predicted; p != nil {
			x = [4]float64{p.Flops, p.Accesses, p.L1Traffic, p.L2Traffic}
		}
		return x
	}
	p, q := of(before), of(after)
	for i := range ratios {
		ratios[i] = positive(p[i]) / positive(q[i])
	}
	return ratios
}
