package compare

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"time"

	"gemm/internal/cpu"
	"gemm/internal/sample"
)

// ceilingTime is the time to measure the ceiling after a burst of a case in a turn.
const ceilingTime = 6 * time.Millisecond

// turn is a group of cases whose samples are interleaved. It may be a single case.
type turn struct {
	d          *Driver
	budget     Budget
	procs      int          // processors that this process may use
	contenders []*contender // in the order of the cases
	prepared   []*contender // in the order of preparation
	before     *contender   // the contender that ran last
	peaks      map[int][]float64
}

// measure measures the cases of one turn: prepare all, sample them in interleaved bursts, check the
// results. It returns their rows, and the traces of those that request a timeline. If there are
// several cases, the ceiling is measured after some of the bursts, at the case's number of threads.
// If the context is cancelled, measure returns its error and no rows, since rows are complete only
// after the last burst.
func (d *Driver) measure(ctx context.Context, cases []Case) ([]Record, []Trace, error) {
	procs := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(procs)
	if onFastest(cases) {
		most := 1
		for _, c := range cases {
			most = max(most, c.Threads(), processors(c, procs))
		}
		runtime.GOMAXPROCS(1)
		defer pinFastest(ctx, cases[0].pipe(), most)()
	}
	t := turn{d: d, budget: d.Budget.of(cases[0].Experiment), procs: procs,
		contenders: make([]*contender, len(cases)), peaks: map[int][]float64{}}
	defer t.close()
	began := cpu.Now()
	t.begin(ctx, cases)
	t.sample(ctx)
	stolen := cpu.Now().StolenSince(began)
	t.weigh(ctx)
	t.draw(ctx)
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	records, traces := t.finish(ctx)
	for i := range records {
		records[i].Steal = stolen
	}
	return records, traces, nil
}

// onFastest reports whether the cases are all measured on one set of processors that pinFastest chooses.
func onFastest(cases []Case) bool {
	placed := func(c Case) bool { return c.Pinned() || c.OnDevice() }
	return cases[0].Turn != "" && len(cases) > 1 && !slices.ContainsFunc(cases, placed)
}

// begin prepares all cases and warms them up.
func (t *turn) begin(ctx context.Context, cases []Case) {
	for _, i := range mostThreadsFirst(cases, t.procs) {
		c := cases[i]
		runtime.GOMAXPROCS(processors(c, t.procs))
		x := t.d.prepare(ctx, c, busy(c, t.procs))
		t.prepared = append(t.prepared, x)
		t.contenders[i], t.before = x, x
		x.begin(ctx, t.budget)
	}
}

// close frees what the contenders hold, in reverse order.
func (t *turn) close() {
	for _, x := range slices.Backward(t.prepared) {
		x.close()
	}
}

// sample takes the samples, in interleaved bursts.
func (t *turn) sample(ctx context.Context) {
	bursts := 1
	if len(t.contenders) > 1 {
		bursts = burstsOf(t.contenders, t.budget)
	}
	for burst := range bursts {
		for _, x := range t.contenders {
			if x.err == nil && !x.done && x.record.Status != Wrong {
				t.burst(ctx, x, burst, bursts)
			}
		}
	}
}

// burst takes the samples of one burst. After the last burst of a contender it checks the result.
func (t *turn) burst(ctx context.Context, x *contender, burst, bursts int) {
	if t.before != x && t.before.disturbs(x) {
		rest()
	}
	t.before = x
	runtime.GOMAXPROCS(processors(x.c, t.procs))
	if x.device == nil {
		x.product.poison()
	}
	x.within(ctx, func(ctx context.Context) error {
		return x.sampler.Burst(ctx, x.share(t.budget, burst, bursts))
	})
	if t.d.Ceilings > 0 && x.c.Turn != "" && burst%max(1, bursts/leastBursts) == 0 {
		if gflops, ok := t.d.peak(ctx, x); ok {
			t.peaks[x.busy] = append(t.peaks[x.busy], gflops)
		}
	}
	if burst == bursts-1 || x.spent(t.budget) {
		x.done = true
		x.fetch(ctx)
	}
}

// weigh reads the power that GPUs take while they compute the products.
func (t *turn) weigh(ctx context.Context) {
	for _, x := range t.contenders {
		if x.device != nil && x.err == nil && x.record.Status == OK {
			x.power(ctx, t.budget.Timeout)
		}
	}
}

// draw records the timelines that are requested.
func (t *turn) draw(ctx context.Context) {
	for _, x := range t.contenders {
		if x.c.Timeline && x.err == nil && x.record.Status == OK {
			runtime.GOMAXPROCS(processors(x.c, t.procs))
			x.draw(ctx, t.budget.Timeout)
		}
	}
}

// finish returns the rows and the traces.
func (t *turn) finish(ctx context.Context) ([]Record, []Trace) {
	records := make([]Record, len(t.contenders))
	var traces []Trace
	for i, x := range t.contenders {
		if found := t.peaks[x.busy]; len(found) > 0 {
			x.record.Ceiling = slices.Max(found) // a disturbance can only lower a peak
		}
		records[i] = t.d.finish(x)
		runtime.GOMAXPROCS(t.procs)
		t.d.doubt(ctx, &records[i], x)
		if x.trace != nil {
			trace := records[i].trace()
			trace.Workers, trace.Seconds = x.trace.Workers, x.trace.Seconds
			trace.Spans = append(trace.Spans, x.trace.Spans...)
			trace.Ranks, trace.Activity = x.trace.Ranks, x.trace.Activity
			traces = append(traces, trace)
		}
	}
	return records, traces
}

// mostThreadsFirst returns the indices of the cases in the order of preparation. Cases with the same
// operands are together. The first of them has its workers touch the operands first, so it is one
// that keeps as many of the procs processors busy as possible. Libraries and programs of others touch nothing,
// so they come after our variants with as many threads.
func mostThreadsFirst(cases []Case, procs int) []int {
	foreign := func(c Case) int {
		if c.outside() {
			return 1
		}
		return 0
	}
	order := make([]int, len(cases))
	settings := map[Problem]int{}
	for i, c := range cases {
		order[i] = i
		if _, ok := settings[c.Problem]; !ok {
			settings[c.Problem] = len(settings)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int {
		x, y := cases[i], cases[j]
		return cmp.Or(
			cmp.Compare(settings[x.Problem], settings[y.Problem]),
			cmp.Compare(busy(y, procs), busy(x, procs)),
			cmp.Compare(y.Threads(), x.Threads()),
			cmp.Compare(foreign(x), foreign(y)),
		)
	})
	return order
}

// restTime is longer than workers spin before they park, and than Go's monitor thread polls at its
// highest rate.
const restTime = 20 * time.Millisecond

// rest waits, busily, until the workers of the last contender are parked. It does not sleep: if no
// processor of a virtual machine is busy, the host may move the virtual processors, even two to one
// core. Go's monitor thread would not slow down either.
func rest() {
	for start := time.Now(); time.Since(start) < restTime; {
		runtime.Gosched()
	}
}

// disturbs reports whether t disturbs a contender that runs immediately after it. There are two
// reasons.
//
// Workers of t spin for some milliseconds before they park. They take processors from a contender
// that runs in another process, or without these workers.
//
// While t runs in another process, this process waits. Then the monitor thread of Go's scheduler
// polls every 70 µs, and after 5 ms less and less often. A poll on the processor of the next product
// takes 20 µs of it: a product of 24×24 doubles takes 0.87 µs instead of 0.55 µs on an EPYC.
func (t *contender) disturbs(next *contender) bool {
	workers := t.record.Threads > 1 && (next.record.Threads == 1 || next.c.outside())
	return workers || t.elsewhere && !next.elsewhere
}

// Budget limits the time of a row.
type Budget struct {
	Reps int           // least number of samples, as far as Patience and Timeout permit
	Time time.Duration // most time for samples after there are Reps
	// Timeout limits staging, warm-up and samples together. The product of integers before them and
	// the timeline after them have the same limit each. 0: no limit.
	Timeout time.Duration
	// Patience limits the samples of a slow product while there are fewer than Reps. A sample that
	// would exceed it is not taken, except the first. 0: no limit.
	Patience time.Duration
	// Call limits one call of a product with more than callTerms terms, as predicted by the rate of
	// the size before. 0: no limit but Timeout.
	Call time.Duration
	// Loops has Call and Patience for the rows of the experiment distribution, which run textbook loops.
	Loops Limits
	// Bursts limits the bursts of a turn: between them, time passes without samples. 0: mostBursts.
	Bursts int
}

// Limits are limits of a Budget for some rows.
type Limits struct{ Call, Patience time.Duration }

// of returns the budget of the rows of an experiment.
func (b Budget) of(e Experiment) Budget {
	if e == Distributions {
		b.Call, b.Patience = b.Loops.Call, b.Loops.Patience
	}
	return b
}

// callTerms is the number of terms up to which Budget.Call does not matter.
const callTerms = 512 * 512 * 512

// The samples of a turn are taken in leastBursts to mostBursts bursts. There are as many bursts as
// each can have burstSamples samples of every case. All bursts of a case have the same number of
// samples: so other load on the machine, which comes and goes, meets all cases alike.
const (
	leastBursts  = 6
	mostBursts   = 48
	burstSamples = 2
)

// burstsOf returns the number of bursts of a turn.
func burstsOf(contenders []*contender, b Budget) int {
	bursts := cmp.Or(b.Bursts, mostBursts)
	for _, t := range contenders {
		if took := t.sampler.Sample(); took > 0 {
			bursts = min(bursts, int(b.Time/(burstSamples*took)))
		}
	}
	return max(leastBursts, bursts)
}

// share returns the part of the row's budget for one burst.
func (t *contender) share(b Budget, burst, bursts int) sample.Budget {
	done, left := len(t.sampler.Seconds), bursts-burst
	out := sample.Budget{
		// As many samples as in the bursts before: otherwise the median would be of the first ones.
		Reps:  done + max((b.Reps-done+left-1)/left, done/max(1, burst)),
		Time:  b.Time / time.Duration(bursts),
		Limit: limit(t.timeout, b.Patience) / time.Duration(left),
		Max:   sample.MaxSamples * (burst + 1) / bursts,
	}
	if took := t.sampler.Sample(); bursts > leastBursts && took > 0 {
		each := max(burstSamples, int(out.Time/took), (b.Reps+bursts-1)/bursts)
		out.Reps = min(done+each, out.Max)
		out.Max = out.Reps
	}
	return out
}

// limit returns the smaller of two limits, of which 0 means none.
func limit(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// spent reports whether one more sample like the last ones might exceed the budget.
func (t *contender) spent(b Budget) bool {
	if len(t.sampler.Seconds) == 0 {
		return false
	}
	all := 0.0
	for _, seconds := range t.sampler.Seconds {
		all += seconds * float64(t.sampler.Inner)
	}
	mean := all / float64(len(t.sampler.Seconds))
	return b.Timeout > 0 && !sample.Fits(time.Duration(mean*float64(time.Second)), t.timeout) ||
		b.Patience > 0 && len(t.sampler.Seconds) < b.Reps && all+mean > b.Patience.Seconds()
}
