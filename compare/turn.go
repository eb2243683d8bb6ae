package compare

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"time"

	"gemm/internal/sample"
)

// ceilingTime is how long the ceiling is measured after each burst of a case that is
// compared with others.
const ceilingTime = 6 * time.Millisecond

// turn is cases whose samples are interleaved, or one case.
type turn struct {
	d          *Driver
	procs      int          // that this process may use
	contenders []*contender // in the order of the cases
	prepared   []*contender // in the order in which they were made ready
	before     *contender   // the last that ran
	peaks      map[int][]float64
}

// measure interleaves the samples of the cases and returns their rows and the traces of those
// whose timeline was drawn, or the context's error if it was cancelled: then there are none,
// since a row is finished with the last burst. If cases are compared with one another, the
// ceiling is measured after some of the bursts, at the number of threads of the case.
func (d *Driver) measure(ctx context.Context, cases []Case) ([]Record, []Trace, error) {
	procs := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(procs)
	if gathers(cases) {
		most := 1
		for _, c := range cases {
			most = max(most, c.Threads(), processors(c, procs))
		}
		runtime.GOMAXPROCS(1)
		defer gather(ctx, cases[0].Type, most)()
	}
	t := turn{d: d, procs: procs, contenders: make([]*contender, len(cases)), peaks: map[int][]float64{}}
	defer t.close()
	t.begin(ctx, cases)
	t.sample(ctx)
	t.draw(ctx)
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	records, traces := t.finish()
	return records, traces, nil
}

// gathers reports whether all the cases are measured on the same processors, which are
// chosen for them.
func gathers(cases []Case) bool {
	placed := func(c Case) bool { return c.Pinned() || c.OnDevice() }
	return cases[0].Turn != "" && len(cases) > 1 && !slices.ContainsFunc(cases, placed)
}

// begin makes all cases ready and warms them up.
func (t *turn) begin(ctx context.Context, cases []Case) {
	for _, i := range mostThreadsFirst(cases, t.procs) {
		c := cases[i]
		runtime.GOMAXPROCS(processors(c, t.procs))
		x := t.d.prepare(ctx, c, busy(c, t.procs))
		t.prepared = append(t.prepared, x)
		t.contenders[i], t.before = x, x
		x.begin(ctx, t.d.Budget)
	}
}

// close frees what the contenders hold, the last one first.
func (t *turn) close() {
	for _, x := range slices.Backward(t.prepared) {
		x.close()
	}
}

// sample takes the samples, in bursts that are interleaved.
func (t *turn) sample(ctx context.Context) {
	bursts := 1
	if len(t.contenders) > 1 {
		bursts = burstsOf(t.contenders, t.d.Budget.Time)
	}
	for burst := range bursts {
		for _, x := range t.contenders {
			if x.err == nil && !x.done && x.record.Status != Wrong {
				t.burst(ctx, x, burst, bursts)
			}
		}
	}
}

// burst takes the samples of one burst, and checks the result after the last one.
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
		return x.sampler.Burst(ctx, x.share(t.d.Budget, burst, bursts))
	})
	if t.d.Ceilings > 0 && x.c.Turn != "" && burst%max(1, bursts/leastBursts) == 0 {
		if gflops, ok := t.d.peak(ctx, x); ok {
			t.peaks[x.busy] = append(t.peaks[x.busy], gflops)
		}
	}
	if burst == bursts-1 || x.spent(t.d.Budget) {
		x.done = true
		x.fetch(ctx)
	}
}

// draw draws the timelines that are requested.
func (t *turn) draw(ctx context.Context) {
	for _, x := range t.contenders {
		if x.c.Timeline && x.err == nil && x.record.Status == OK {
			runtime.GOMAXPROCS(processors(x.c, t.procs))
			x.draw(ctx, t.d.Budget.Timeout)
		}
	}
}

// finish returns the rows and the traces.
func (t *turn) finish() ([]Record, []Trace) {
	records := make([]Record, len(t.contenders))
	var traces []Trace
	for i, x := range t.contenders {
		if found := t.peaks[x.busy]; len(found) > 0 {
			x.record.Ceiling = slices.Max(found) // a disturbance can only lower it
		}
		records[i] = t.d.finish(x)
		if x.trace != nil {
			trace := records[i].trace()
			trace.Workers, trace.Seconds, trace.Spans = x.trace.Workers, x.trace.Seconds, x.trace.Spans
			traces = append(traces, trace)
		}
	}
	return records, traces
}

// mostThreadsFirst returns the indices of the cases in the order in which they are
// made ready: setting by setting, of which the first has its workers touch the operands,
// and should keep the most of procs processors busy. Libraries of others touch nothing and
// come after our variants with as many.
func mostThreadsFirst(cases []Case, procs int) []int {
	foreign := func(c Case) int {
		if c.foreign() {
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

// restTime is more than workers look for work before they sleep, and than Go's monitor takes
// to slow down.
const restTime = 20 * time.Millisecond

// rest waits until workers sleep, and does not sleep itself: a virtual machine none of whose
// processors is busy may find itself on others after that, two of them on one core. Nor would
// Go's monitor slow down meanwhile.
func rest() {
	for start := time.Now(); time.Since(start) < restTime; {
		runtime.Gosched()
	}
}

// disturbs reports whether the next contender would be interrupted for what t leaves behind.
//
// Its workers look for work some milliseconds before they sleep, and would take processors
// from one that runs elsewhere, or without them.
//
// While it runs in another process, this one waits, and then the thread by which Go's
// scheduler watches what runs wakes every 70 µs, and after 5 ms less and less often. Where that
// is on the processor of the product it takes 20 µs each time: 24×24×24 in doubles takes 0.87 µs
// in place of 0.55 on an EPYC.
func (t *contender) disturbs(next *contender) bool {
	workers := t.record.Threads > 1 && (next.record.Threads == 1 || next.c.foreign())
	return workers || t.elsewhere && !next.elsewhere
}

// Budget limits what a row may take.
type Budget struct {
	Reps int           // samples at least, as far as Patience and Timeout allow
	Time time.Duration // of samples at most, once there are Reps
	// Timeout is of staging, warming up and the samples together; the product of
	// integers before them and the timeline after them have as much each. 0: no limit.
	Timeout time.Duration
	// Patience is how long samples of a slow product may take before there are Reps: one
	// that would exceed it is not taken, but for the first. 0: no limit.
	Patience time.Duration
}

var (
	quickBudget    = Budget{Reps: sample.MinForInterval, Time: 100 * time.Millisecond, Timeout: 10 * time.Second}
	fullBudget     = Budget{Reps: sample.MinForInterval, Time: time.Second, Timeout: time.Minute}
	parallelBudget = Budget{Reps: sample.MinForInterval, Time: 300 * time.Millisecond, Timeout: 20 * time.Second}
	mpiBudget      = Budget{Reps: sample.MinForInterval, Time: 500 * time.Millisecond, Timeout: 3 * time.Minute}
	cudaBudget     = Budget{Reps: sample.MinForInterval, Time: 100 * time.Millisecond, Timeout: time.Minute,
		Patience: 1500 * time.Millisecond}
	peersBudget = Budget{Reps: sample.MinForInterval, Time: 300 * time.Millisecond, Timeout: time.Minute}
)

// Cases measured in turn are sampled in so many bursts at least. There are more, up to
// mostBursts, where each can have burstSamples samples, and then all of a case's have as
// many: a neighbour who comes and goes meets all cases alike.
const (
	leastBursts  = 6
	mostBursts   = 48
	burstSamples = 2
)

// burstsOf returns the number of bursts in which contenders are sampled in turn; budget is
// the time that a row has for all of its own.
func burstsOf(contenders []*contender, budget time.Duration) int {
	bursts := mostBursts
	for _, t := range contenders {
		if took := t.sampler.Sample(); took > 0 {
			bursts = min(bursts, int(budget/(burstSamples*took)))
		}
	}
	return max(leastBursts, bursts)
}

// share returns what one of t's bursts may take of the row's budget.
func (t *contender) share(b Budget, burst, bursts int) sample.Budget {
	done, left := len(t.sampler.Seconds), bursts-burst
	out := sample.Budget{
		// As many as in the bursts before, or the median would be of the first.
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

// limit returns the lesser of two durations of which 0 is none.
func limit(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// spent reports whether a sample like those that there are might exceed the budget.
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
