package turn

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"time"

	"gemm/compare/plan"
	"gemm/compare/record"
)

// ceilingTime is the time to measure the ceiling after a burst of a case in a turn.
const ceilingTime = 6 * time.Millisecond

// turn is a group of cases whose samples are interleaved. It may be a single case.
type turn struct {
	b          *Bench
	budget     plan.Budget
	procs      int          // processors that this process may use
	candidates []*candidate // in the order of the cases
	prepared   []*candidate // in the order of preparation
	before     *candidate   // the candidate that ran last
	peaks      map[int][]float64
}

// onFastest reports whether the cases are all measured on one set of processors that pinFastest chooses.
func onFastest(cases []plan.Case) bool {
	placed := func(c plan.Case) bool { return c.Pinned() || c.OnDevice() }
	return cases[0].Turn != "" && len(cases) > 1 && !slices.ContainsFunc(cases, placed)
}

// begin prepares all cases and warms them up.
func (t *turn) begin(ctx context.Context, cases []plan.Case) {
	for _, i := range mostThreadsFirst(cases, t.procs) {
		c := cases[i]
		runtime.GOMAXPROCS(processors(c, t.procs))
		x := t.b.prepare(ctx, c, busy(c, t.procs))
		t.prepared = append(t.prepared, x)
		t.candidates[i], t.before = x, x
		x.begin(ctx, t.budget)
	}
}

// close frees what the candidates hold, in reverse order.
func (t *turn) close() {
	for _, x := range slices.Backward(t.prepared) {
		x.close()
	}
}

// sample takes the samples, in interleaved bursts.
func (t *turn) sample(ctx context.Context) {
	bursts := 1
	if len(t.candidates) > 1 {
		bursts = burstsOf(t.candidates, t.budget)
	}
	for burst := range bursts {
		for _, x := range t.candidates {
			if x.err == nil && !x.done && x.row.Status != record.Wrong {
				t.burst(ctx, x, burst, bursts)
			}
		}
	}
}

// burst takes the samples of one burst. After the last burst of a candidate it checks the result.
func (t *turn) burst(ctx context.Context, x *candidate, burst, bursts int) {
	if t.before != x && t.before.disturbs(x) {
		waitUntilParked()
	}
	t.before = x
	runtime.GOMAXPROCS(processors(x.c, t.procs))
	if x.remote.gpu == nil {
		x.product.timed.Poison()
	}
	x.within(ctx, func(ctx context.Context) error {
		return x.sampler.Burst(ctx, x.share(t.budget, burst, bursts))
	})
	if t.b.Ceilings > 0 && x.c.Turn != "" && burst%max(1, bursts/leastBursts) == 0 {
		if gflops, ok := x.peak(ctx); ok {
			t.peaks[x.busy] = append(t.peaks[x.busy], gflops)
		}
	}
	if burst == bursts-1 || x.spent(t.budget) {
		x.done = true
		x.fetch(ctx)
	}
}

// followUp reads the power that GPUs take while they compute the products, and records the requested timelines.
func (t *turn) followUp(ctx context.Context) {
	for _, x := range t.candidates {
		if x.err != nil || x.row.Status != record.OK {
			continue
		}
		if x.remote.gpu != nil {
			x.power(ctx, t.budget.Timeout)
		}
		if x.c.Timeline {
			runtime.GOMAXPROCS(processors(x.c, t.procs))
			x.traceProduct(ctx, t.budget.Timeout)
		}
	}
}

func (t *turn) finish(ctx context.Context) ([]record.Record, []record.Trace) {
	records := make([]record.Record, len(t.candidates))
	var traces []record.Trace
	for i, x := range t.candidates {
		if found := t.peaks[x.busy]; len(found) > 0 {
			x.row.Ceiling = slices.Max(found) // a disturbance can only lower a peak
		}
		records[i] = x.finish(x.err)
		runtime.GOMAXPROCS(t.procs)
		x.checkPeak(ctx, &records[i])
		if x.trace != nil {
			r := records[i]
			x.trace.Key, x.trace.Run, x.trace.Params, x.trace.Resolved = r.Key, r.Run, r.Params, r.Resolved
			traces = append(traces, *x.trace)
		}
	}
	return records, traces
}

// mostThreadsFirst returns the indices of the cases in the order of preparation. Cases with the same
// operands are together. The first of them has its workers touch the operands first, so it is one
// that keeps as many of the procs processors busy as possible. Libraries and programs of others touch nothing,
// so they come after our variants with as many threads.
func mostThreadsFirst(cases []plan.Case, procs int) []int {
	foreign := func(c plan.Case) int {
		if c.Outside() {
			return 1
		}
		return 0
	}
	order := make([]int, len(cases))
	operandCaches := map[record.Problem]int{}
	for i, c := range cases {
		order[i] = i
		if _, ok := operandCaches[c.Problem]; !ok {
			operandCaches[c.Problem] = len(operandCaches)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int {
		x, y := cases[i], cases[j]
		return cmp.Or(
			cmp.Compare(operandCaches[x.Problem], operandCaches[y.Problem]),
			cmp.Compare(busy(y, procs), busy(x, procs)),
			cmp.Compare(y.Threads(), x.Threads()),
			cmp.Compare(foreign(x), foreign(y)),
		)
	})
	return order
}

// parkTime is longer than workers spin before they park, and than Go's monitor thread polls at its highest rate.
const parkTime = 20 * time.Millisecond

// waitUntilParked waits, busily, until the workers of the last candidate are parked. It does not sleep: if no
// processor of a virtual machine is busy, the host may move the virtual processors, even two to one
// core. Go's monitor thread would not slow down either.
func waitUntilParked() {
	for start := time.Now(); time.Since(start) < parkTime; {
		runtime.Gosched()
	}
}

// disturbs reports whether t disturbs a candidate that runs immediately after it. There are two reasons.
//
// Workers of t spin for some milliseconds before they park. They take processors from a candidate that runs in
// another process, or without these workers.
//
// While t runs in another process, this process waits. Then the monitor thread of Go's scheduler polls every 70 µs,
// and after 5 ms less and less often. A poll on the processor of the next product takes 20 µs of it: a product of
// 24×24 doubles takes 0.87 µs instead of 0.55 µs on an EPYC.
func (t *candidate) disturbs(next *candidate) bool {
	workers := t.row.Threads > 1 && (next.row.Threads == 1 || next.c.Outside())
	return workers || t.product.elsewhere && !next.product.elsewhere
}
