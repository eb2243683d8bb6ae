package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"gemm"
	"gemm/compare/verify"
	"gemm/gf256"
	"gemm/internal/sample"
)

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
	cudaBudget     = Budget{Reps: sample.MinForInterval, Time: 100 * time.Millisecond, Timeout: time.Minute, Patience: 1500 * time.Millisecond}
	peersBudget    = Budget{Reps: sample.MinForInterval, Time: 300 * time.Millisecond, Timeout: time.Minute}
)

// Cases measured in turn are sampled in so many bursts at least. There are more, up to
// mostBursts, where each can have burstSamples samples, and then all of a case's have as
// many: a neighbour who comes and goes meets all cases alike.
const (
	leastBursts  = 6
	mostBursts   = 48
	burstSamples = 2
)

// smallPeer is the number of terms of a product below which the cost of calling
// into a library of others counts and is measured; largePeer is the number from
// which a good library reaches half of the peak.
const (
	smallPeer = 256 * 256 * 256
	largePeer = 512 * 512 * 512
)

// setting holds the operands and the verifiers that consecutive cases share.
type setting struct {
	key      Problem
	hands    int // workers that touched the operands at the same time; 1 where none did
	operands any // verify.Operands[T]
	verifier any // verify.Verifier[T]
	integers int // magnitude of the operands of the exact check; 0: there are none yet
	exact    any // verify.Operands[T] of integers
	exactly  any // verify.Verifier[T] of their product
}

// course is how a staged product went.
type course struct {
	phases       map[string]time.Duration
	distribution *gemm.Distribution // nil: there is one process
}

// contender is a case made ready: the multiplier and how it is called.
type contender struct {
	c       Case
	record  Record
	params  gemm.Params // resolved
	sampler sample.Sampler
	timeout time.Duration // what is left of the row's
	err     error
	ready   func()                                            // draws the integers in no time of the row; nil: exact does
	exact   func(ctx context.Context) (verify.Verdict, error) // multiplies integers; nil: none are exact
	stage   func(ctx context.Context) (gemm.Run, error)       // nil: Multiply is called
	done    bool                                              // verified, needs no further samples
	poison  func()
	collect func(ctx context.Context) error
	check   func() verify.Verdict
	explain func() gemm.Params
	warn    func() []string
	close   func() error
	last    course   // of the last product, where it was staged
	courses []course // of the samples
	// device returns what the product took of the GPU; nil: it was on none.
	device func() gemm.Device
	// guard calls what the case does under a limit, and turns a panic into an error.
	guard func(limit time.Duration, f func() error) error

	overhead time.Duration // of a call into a library, where it counts
	busy     int           // processors that its threads keep busy
	trace    *Trace        // the timeline of one more product, where it is asked for
}

// errNoGemmer: the case asks for more than C = A·B of a variant that has no more.
var errNoGemmer = errors.New("computes C = A·B only, without transposes, α and β: choose a production variant such as serial/packed, and f64 or f32")

// prepare constructs the multiplier of c and stages its operands. The setting is
// reused where it fits and was touched by as many hands as c keeps busy.
func (d *Driver) prepare(ctx context.Context, c Case, busy int) *contender {
	return gemm.ByType(c.Type, prepare[float64], prepare[float32], prepare[gf256.Elem])(ctx, d, c, busy)
}

func prepare[T gemm.Element](ctx context.Context, d *Driver, c Case, busy int) *contender {
	t := &contender{c: c, record: c.record(), busy: busy, timeout: d.Budget.Timeout, close: func() error { return nil }}
	t.guard = func(limit time.Duration, f func() error) error { return d.guard(t, limit, f) }
	if !c.OnDevice() {
		d.now(c) // memory may end already when operands are drawn
	}
	t.params, t.err = c.Variant.Resolve(c.Params)
	if t.err != nil {
		return t
	}
	t.record.Resolved = t.params
	var m gemm.Multiplier[T]
	construct := func() (err error) {
		m, err = gemm.New[T](c.Variant, c.Params)
		return err
	}
	if c.OnDevice() { // it may compile for the device, and hang there
		t.err = t.guard(d.Budget.Timeout, construct)
	} else {
		t.err = construct()
	}
	if t.err != nil {
		return t
	}
	call, err := caller(m, c)
	if err != nil {
		t.err = err
		return t
	}
	hands := 1
	var touch func(c, a, b gemm.Matrix[T])
	if toucher, ok := m.(gemm.Toucher[T]); ok && c.Plain() {
		hands, touch = busy, toucher.Touch
	}
	if d.setting.key != c.problem() || d.setting.hands < hands {
		d.setting = setting{} // lets go of the last operands before taking new ones
		o := verify.Draw(c.layout(), d.Seed, touch)
		d.setting = setting{key: c.problem(), hands: hands, operands: o}
		everywhere(func() { d.setting.verifier = verify.New(o.Operation, d.Seed) })
		runtime.GC()
	}
	o := d.setting.operands.(verify.Operands[T])
	v := d.setting.verifier.(verify.Verifier[T])
	limit := verify.LimitOf[T](c.Variant, c.M, c.N, c.K, t.params, c.Alpha, c.Beta, true)
	t.record.Bound, t.record.BoundKind = Number(limit.Bound), limit.Kind
	if q := verify.ExactIntegers[T](c.Variant, c.M, c.N, c.K, t.params, c.Alpha, c.Beta); q > 0 {
		if c.OnDevice() {
			t.ready = func() { drawIntegers[T](d, c, q) }
		}
		t.exact = func(ctx context.Context) (verify.Verdict, error) {
			drawIntegers[T](d, c, q)
			return multiplyIntegers(ctx, d, c, m, call)
		}
	} else if c.Type != "gf256" {
		if !v.Assures(limit) {
			t.err = unproven{limit.Unproven(c.Type, c.K)}
			return t
		}
		t.record.Warnings = append(t.record.Warnings, "no check on integers: its intermediate results exceed what the type holds exactly")
	}
	t.poison = o.Poison
	t.check = func() (verdict verify.Verdict) {
		everywhere(func() { verdict = v.Check(o.C, limit) })
		return verdict
	}
	if e, ok := m.(gemm.Explainer); ok {
		t.explain = e.Resolved
	}
	if w, ok := m.(gemm.Warner); ok {
		t.warn = w.Warnings
	}
	t.collect = func(context.Context) error { return nil }
	t.sampler.Call = func(ctx context.Context, times int) (time.Duration, error) {
		start := time.Now()
		if err := call(ctx, o, times); err != nil {
			return 0, err
		}
		return time.Since(start), nil
	}
	t.stage = stager(m, c, o)
	t.sampler.Unlocked = c.foreign() && c.Type == "gf256" && c.Threads() > 1 // a library in Go
	if c.Beta != 0 && t.stage == nil {
		t.sampler.Before = o.Restore
	}
	if c.foreign() && t.stage == nil && c.Terms() < smallPeer {
		t.overhead = callOverhead(ctx, m)
	}
	return t
}

// unproven is the error of a case whose result would not be verified, by integers or by the
// bound: it is not measured.
type unproven struct{ text string }

func (u unproven) Error() string { return u.text }

// drawIntegers draws integers up to q for the exact check of the case. Those of a turn share
// the integers of the least magnitude, where each would draw its own otherwise.
func drawIntegers[T gemm.Element](d *Driver, c Case, q int) {
	if was := d.setting.integers; was == q || c.Turn != "" && 0 < was && was < q {
		return
	}
	d.setting.exact, d.setting.exactly = nil, nil
	everywhere(func() {
		o := verify.DrawIntegers[T](c.layout(), d.Seed, q)
		d.setting.integers, d.setting.exact, d.setting.exactly = q, o, verify.New(o.Operation, d.Seed)
	})
}

// multiplyIntegers has m multiply the integers that were drawn, with the very shape and
// parameters that are timed, and checks that the product is exact: what is lost in the noise
// of rounding, such as one term of a sum, shows here.
func multiplyIntegers[T gemm.Element](ctx context.Context, d *Driver, c Case, m gemm.Multiplier[T], call func(context.Context, verify.Operands[T], int) error) (verdict verify.Verdict, err error) {
	o := d.setting.exact.(verify.Operands[T])
	o.Poison()
	o.Restore()
	if stage := stager(m, c, o); stage != nil {
		run, err := stage(ctx)
		if err != nil {
			return verify.Verdict{}, err
		}
		_, err = run.Do(ctx)
		if err == nil {
			err = run.Collect(ctx)
		}
		if err := errors.Join(err, run.Close()); err != nil {
			return verify.Verdict{}, err
		}
	} else if err := call(ctx, o, 1); err != nil {
		return verify.Verdict{}, err
	}
	everywhere(func() {
		verdict = d.setting.exactly.(verify.Verifier[T]).Check(o.C, verify.Limit{Kind: gemm.Componentwise})
	})
	return verdict, nil
}

// begin checks the product of integers, stages the operands where they are
// staged, and warms up.
func (t *contender) begin(ctx context.Context, b Budget) {
	if t.exact != nil && t.err == nil {
		if t.ready != nil {
			t.ready()
		}
		var v verify.Verdict
		limit := t.timeout
		t.within(ctx, func(ctx context.Context) (err error) {
			v, err = t.exact(ctx)
			return err
		})
		t.timeout = limit // a product that fits the row's time has all of it again
		if t.err == nil && !v.OK() {
			t.judge(v)
			t.record.Reason = "of integers, whose product is exact: " + t.record.Reason
			return
		}
	}
	if t.stage != nil {
		t.within(ctx, t.place)
	}
	if t.err == nil && t.device == nil {
		t.poison()
	}
	t.within(ctx, func(ctx context.Context) error {
		took, err := t.sampler.Warm(ctx)
		short := b.Timeout > 0 && !sample.Fits(took, t.timeout-took) || b.Patience > 0 && took > b.Patience
		if err == nil && took > b.Time && short {
			// There is no time for a second call: the first one is the sample.
			t.sampler.Seconds = []float64{took.Seconds()}
			if t.sampler.Kept != nil {
				t.sampler.Kept()
			}
			t.done = true
		}
		if err == nil && !t.done && t.c.Turn != "" {
			err = t.sampler.Settle(ctx)
		}
		return err
	})
	if t.done {
		t.fetch(ctx)
	}
}

// fetch collects the result of the last product and checks it. One on a device leaves the
// memory here alone until then, where others have left theirs.
func (t *contender) fetch(ctx context.Context) {
	if t.err == nil && t.device != nil {
		t.poison()
	}
	t.within(ctx, t.collect)
	t.verify()
}

// callOverhead returns the time of a product of 1×1 matrices, the median of some
// batches; 0 where it fails.
func callOverhead[T gemm.Element](ctx context.Context, m gemm.Multiplier[T]) time.Duration {
	a, b, c := gemm.NewMatrix[T](1, 1), gemm.NewMatrix[T](1, 1), gemm.NewMatrix[T](1, 1)
	s := sample.Sampler{Inner: 100, Call: func(ctx context.Context, times int) (time.Duration, error) {
		start := time.Now()
		for range times {
			if err := m.Multiply(ctx, c, a, b); err != nil {
				return 0, err
			}
		}
		return time.Since(start), nil
	}}
	if s.Burst(ctx, sample.Budget{Reps: 10}) != nil {
		return 0
	}
	return time.Duration(sample.Summarize(s.Seconds).Median * float64(time.Second))
}

// place stages the operands and replaces t's calls by those of the staged run.
func (t *contender) place(ctx context.Context) error {
	run, err := t.stage(ctx)
	if err != nil {
		return err
	}
	repeater, repeats := run.(gemm.Repeater)
	ranks, distributed := run.(gemm.Distributed)
	t.sampler.Call = func(ctx context.Context, times int) (time.Duration, error) {
		if repeats {
			cost, err := repeater.Repeat(ctx, times)
			t.last.phases = cost.Phases
			return cost.Time, err
		}
		var total time.Duration
		for range times {
			cost, err := run.Do(ctx)
			if err != nil {
				return 0, err
			}
			total += cost.Time
			t.last.phases = cost.Phases
		}
		if distributed {
			d := ranks.Distribution()
			t.last.distribution = &d
		}
		return total, nil
	}
	t.sampler.Kept = func() { t.courses = append(t.courses, t.last) }
	t.collect = run.Collect
	t.close = run.Close
	if s, ok := run.(gemm.OnDevice); ok {
		t.device = s.Device
	}
	return nil
}

// stager returns how m stages the operation of the case; nil: it does not.
func stager[T gemm.Element](m gemm.Multiplier[T], c Case, o verify.Operands[T]) func(ctx context.Context) (gemm.Run, error) {
	if c.Plain() {
		if s, ok := m.(gemm.Stager[T]); ok {
			return func(ctx context.Context) (gemm.Run, error) { return s.Stage(ctx, o.C, o.A, o.B) }
		}
		return nil
	}
	switch m := any(m).(type) {
	case gemm.GemmStager[float32]:
		return stagedGemm(m, c, any(o).(verify.Operands[float32]))
	case gemm.GemmStager[float64]:
		return stagedGemm(m, c, any(o).(verify.Operands[float64]))
	}
	return nil
}

func stagedGemm[T gemm.Float](m gemm.GemmStager[T], c Case, o verify.Operands[T]) func(ctx context.Context) (gemm.Run, error) {
	tA, tB := c.Transposes()
	return func(ctx context.Context) (gemm.Run, error) {
		o.Restore()
		return m.StageGemm(ctx, tA, tB, T(c.Alpha), o.A, o.B, T(c.Beta), o.C)
	}
}

// caller returns how m computes the case so many times.
func caller[T gemm.Element](m gemm.Multiplier[T], c Case) (func(ctx context.Context, o verify.Operands[T], times int) error, error) {
	if c.Plain() {
		return func(ctx context.Context, o verify.Operands[T], times int) error {
			for range times {
				if err := m.Multiply(ctx, o.C, o.A, o.B); err != nil {
					return err
				}
			}
			return nil
		}, nil
	}
	var call any
	switch m := any(m).(type) {
	case gemm.Gemmer[float32]:
		call = gemms(m, c)
	case gemm.Gemmer[float64]:
		call = gemms(m, c)
	default:
		return nil, gemm.Unavailablef("%s %w", c.Variant.Name, errNoGemmer)
	}
	return call.(func(context.Context, verify.Operands[T], int) error), nil
}

// gemms returns how m computes the operation of the case.
func gemms[T gemm.Float](m gemm.Gemmer[T], c Case) func(ctx context.Context, o verify.Operands[T], times int) error {
	tA, tB := c.Transposes()
	return func(ctx context.Context, o verify.Operands[T], times int) error {
		for range times {
			if err := m.Gemm(ctx, tA, tB, T(c.Alpha), o.A, o.B, T(c.Beta), o.C); err != nil {
				return err
			}
		}
		return nil
	}
}

// guard calls f and turns a panic into an error.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errPanicked, p)
		}
	}()
	return f()
}

// within runs f under what is left of t's time limit.
func (t *contender) within(ctx context.Context, f func(ctx context.Context) error) {
	if t.err != nil {
		return
	}
	start := time.Now()
	limited, cancel := ctx, context.CancelFunc(func() {})
	if t.timeout > 0 {
		limited, cancel = context.WithTimeout(ctx, t.timeout)
	}
	defer cancel()
	t.err = t.guard(t.timeout, func() error { return f(limited) })
	if t.timeout > 0 {
		t.timeout = max(t.timeout-time.Since(start), time.Nanosecond)
	}
	if errors.Is(t.err, context.DeadlineExceeded) && ctx.Err() == nil {
		t.err = errTimeout
	}
}

var (
	errTimeout  = errors.New("took longer than the row's time limit")
	errPanicked = errors.New("panicked")
)

// ceilingTime is how long the ceiling is measured after each burst of a case that is
// compared with others.
const ceilingTime = 6 * time.Millisecond

// measure samples the cases in turn and returns their rows and the traces of those whose
// timeline was drawn, or the context's error where it was cancelled: then there are none,
// since a row is finished with the last turn. Where cases are compared with
// one another, the ceiling is measured in turn with them too, after some of the
// bursts, at the number of threads of the case.
func (d *Driver) measure(ctx context.Context, cases []Case) ([]Record, []Trace, error) {
	procs := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(procs)
	if cases[0].Turn != "" && len(cases) > 1 && !slices.ContainsFunc(cases, func(c Case) bool { return c.Pinned() || c.OnDevice() }) {
		most := 1
		for _, c := range cases {
			most = max(most, c.Threads(), processors(c, procs))
		}
		runtime.GOMAXPROCS(1)
		defer gather(ctx, cases[0].Type, most)()
	}
	contenders := make([]*contender, len(cases))
	var before *contender // the last that ran
	for _, i := range mostThreadsFirst(cases, procs) {
		c := cases[i]
		runtime.GOMAXPROCS(processors(c, procs))
		t := d.prepare(ctx, c, busy(c, procs))
		defer func() { _ = t.guard(d.Budget.Timeout, t.close) }()
		contenders[i], before = t, t
		t.begin(ctx, d.Budget)
	}
	bursts := 1
	if len(contenders) > 1 {
		bursts = burstsOf(contenders, d.Budget.Time)
	}
	peaks := map[int][]float64{} // by busy processors
	for burst := range bursts {
		for _, t := range contenders {
			if t.err != nil || t.done || t.record.Status == Wrong {
				continue
			}
			if before != t && before.disturbs(t) {
				rest()
			}
			before = t
			runtime.GOMAXPROCS(processors(t.c, procs))
			if t.device == nil {
				t.poison()
			}
			t.within(ctx, func(ctx context.Context) error {
				return t.sampler.Burst(ctx, t.share(d.Budget, burst, bursts))
			})
			if d.Ceilings > 0 && t.c.Turn != "" && burst%max(1, bursts/leastBursts) == 0 {
				if gflops, ok := d.peak(ctx, t); ok {
					peaks[t.busy] = append(peaks[t.busy], gflops)
				}
			}
			if burst == bursts-1 || t.spent(d.Budget) {
				t.done = true
				t.fetch(ctx)
			}
		}
	}
	for _, t := range contenders {
		if t.c.Timeline && t.err == nil && t.record.Status == OK {
			runtime.GOMAXPROCS(processors(t.c, procs))
			t.draw(ctx, d.Budget.Timeout)
		}
	}
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	records := make([]Record, len(contenders))
	var traces []Trace
	for i, t := range contenders {
		if found := peaks[t.busy]; len(found) > 0 {
			t.record.Ceiling = slices.Max(found) // a disturbance can only lower it
		}
		records[i] = d.finish(t)
		if t.trace != nil {
			trace := records[i].trace()
			trace.Workers, trace.Seconds, trace.Spans = t.trace.Workers, t.trace.Seconds, t.trace.Spans
			traces = append(traces, trace)
		}
	}
	return records, traces, nil
}

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
		if _, ok := settings[c.problem()]; !ok {
			settings[c.problem()] = len(settings)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int {
		x, y := cases[i], cases[j]
		return cmp.Or(
			cmp.Compare(settings[x.problem()], settings[y.problem()]),
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
	return workers || t.stage != nil && next.stage == nil
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

// processors returns the number of processors that a case may use, as GOMAXPROCS has
// it, of those that this process has: as many as the case says where it says so; the
// threads of a rank; all where a GPU computes, for the checks; one
// for the serial family, gonum's variant too; and as many as threads where it is
// compared with others. Threads beyond the processors take turns on them as goroutines
// do, not as the threads of a system that waits for the end of time slices.
func processors(c Case, all int) int {
	if n, ok := c.integer("gomaxprocs"); ok && n > 0 {
		return n
	}
	switch {
	case c.Ranks() > 0:
		return c.each()
	case c.OnDevice():
		return all
	case c.Variant.Location == gemm.InProcess && c.Variant.Role != gemm.Library && !c.Variant.Has("threads"):
		return 1
	case c.Turn != "":
		return min(c.Threads(), all)
	}
	return all
}

// busy returns the number of processors that the threads of a case can keep busy: of
// ranks, which may be on several hosts, as many as they ask for.
func busy(c Case, all int) int {
	if c.Ranks() > 0 {
		return c.Threads()
	}
	return min(c.Threads(), processors(c, all), runtime.NumCPU())
}

// verify checks the result that the last sample left in c.
func (t *contender) verify() {
	if t.err != nil {
		return
	}
	v := t.check()
	t.judge(v)
	if v.Note != "" {
		t.record.Warnings = append(t.record.Warnings, v.Note)
	}
	if v.Weak {
		t.record.Warnings = append(t.record.Warnings, "the error bound exceeds the elements themselves: this check cannot see a lost element")
	}
}

// judge puts the verdict into the row.
func (t *contender) judge(v verify.Verdict) {
	t.record.Residual, t.record.Bound = Number(v.Residual), Number(v.Bound)
	t.record.Status = OK
	if !v.OK() {
		t.record.Status, t.record.Reason = Wrong, v.Reason
	}
}

// finish turns what was measured into the row.
func (d *Driver) finish(t *contender) Record {
	r := t.record
	r.Host, r.Run = d.host.ID, d.run.ID
	if t.explain != nil {
		r.Resolved = gemm.Params{}
		for name, value := range t.params {
			r.Resolved[name] = value
		}
		for name, value := range t.explain() {
			r.Resolved[name] = value
		}
	}
	switch {
	case errors.Is(t.err, errHung), errors.Is(t.err, errEndless):
		r.Status, r.Reason = Timeout, fmt.Sprintf("%v %v after its time limit of %v", t.err, cmp.Or(d.grace, grace), d.Budget.Timeout)
	case errors.Is(t.err, gemm.ErrUnavailable):
		r.Status, r.Reason = Unavailable, gemm.Why(t.err)
	case errors.Is(t.err, errTimeout):
		r.Status, r.Reason = Timeout, fmt.Sprintf("%v of %v: raise it with --timeout", t.err, d.Budget.Timeout)
	case errors.As(t.err, &unproven{}):
		r.Status, r.Reason = Skipped, t.err.Error()
	case t.err != nil:
		r.Status, r.Reason = Failed, t.err.Error()
	}
	if p, err := t.c.Variant.Resolve(t.c.Params); err == nil && t.c.Variant.Model != nil {
		r.Predicted = d.predicted(t.c, p)
	}
	if r.Status != OK {
		return r
	}
	r.Samples, r.Inner = t.sampler.Seconds, t.sampler.Inner
	s := sample.Summarize(r.Samples)
	r.Median = Number(s.Median)
	if s.Bounded() {
		r.CI = &[2]float64{s.Lo, s.Hi}
		if !(s.Hi-s.Lo <= 0.1*s.Median) {
			r.Warnings = append(r.Warnings, "wide spread: repeat on a quiet machine")
		}
	} else {
		r.Warnings = append(r.Warnings, fmt.Sprintf("fewer than %d samples give no interval: set --reps %[1]d and raise --timeout", sample.MinForInterval))
	}
	if t.warn != nil {
		r.Warnings = append(r.Warnings, t.warn()...)
	}
	if t.device != nil {
		g := t.device()
		r.GPU = &g
		r.Warnings = append(r.Warnings, g.Warnings...)
	}
	crowded := ""
	if t.c.Ranks() == 0 {
		crowded = d.host.Crowded(r.Threads)
	} else if t.last.distribution != nil {
		r.distribute(*t.courses[nearest(r.Samples, s.Median)].distribution)
		crowded = d.host.oversubscribed(r)
	}
	if crowded != "" {
		r.Warnings = append(r.Warnings, crowded)
	}
	if t.overhead > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("a call into the library costs about %v of the median", t.overhead.Round(50*time.Nanosecond)))
	}
	terms := t.c.Terms()
	if r.Type == "gf256" {
		r.Rate = Number(terms / s.Median / 1e9)
		r.DataGBps = Number(float64(r.K) * float64(r.N) / s.Median / 1e9)
	} else {
		r.Gflops = Number(2 * terms / s.Median / 1e9)
		r.Rate = r.Gflops
	}
	c, ok := d.ceiling(r.Type, t.busy)
	if r.GPU != nil {
		c, ok = d.ceilingOf(func(c Ceiling) bool { return c.Unit == "gpu" && c.Device == t.c.device() && c.Pipe == r.GPU.Pipe })
	}
	if r.Ceiling > 0 {
		c, ok = r.Ceiling, true
	}
	if ok {
		r.PercentPeak = Number(100 * float64(r.Rate) / c)
		if t.c.foreign() && r.Type != "gf256" && terms >= largePeer && !(r.PercentPeak >= 50) {
			r.Warnings = append(r.Warnings, "below half of the measured peak: the library may not know this processor")
		}
	}
	r.Phases = t.phases()
	return r
}

// phases returns the median of each phase over the samples, in seconds; nil: there are none.
func (t *contender) phases() map[string]float64 {
	all := map[string][]float64{}
	for _, c := range t.courses {
		for name, took := range c.phases {
			all[name] = append(all[name], took.Seconds())
		}
	}
	if len(all) == 0 {
		return nil
	}
	out := map[string]float64{}
	for name, seconds := range all {
		out[name] = sample.Summarize(seconds).Median
	}
	return out
}

// nearest returns the index of the first of some numbers that is nearest to x.
func nearest(numbers []float64, x float64) int {
	at := 0
	for i, n := range numbers {
		if math.Abs(n-x) < math.Abs(numbers[at]-x) {
			at = i
		}
	}
	return at
}
