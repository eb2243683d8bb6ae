package compare

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"gemm"
	"gemm/compare/note"
	"gemm/compare/optional"
	"gemm/compare/verify"
	"gemm/cuda/usage"
	"gemm/internal/sample"
	"gemm/mpi/account"
	"gemm/parallel/timeline"
)

// contender is a case while it is measured, with its result so far.
type contender struct {
	d      *Driver
	c      Case
	busy   int // processors that its threads keep busy
	record Record
	err    error

	product   multiplication // nil: the preparation failed, see err
	exact     bool           // the product of integers can be exact; it is checked first
	elsewhere bool           // the product runs on staged operands, not in this process
	explain   func() gemm.Params
	warn      func() []note.Note
	batched   string         // how a batch is computed, see batch.Key; empty: no batch, or its Run says it
	staged    gemm.Run       // nil: not staged, or not yet
	device    usage.OnDevice // the staged product of a GPU; otherwise nil
	watts     float64        // of the GPU, see power

	sampler sample.Sampler
	timeout time.Duration // what is left of the time limit
	done    bool          // verified; takes no further samples
	last    course        // course of the last staged product
	courses []course      // courses of the samples

	overhead time.Duration // time of a call into a library, if it matters
	trace    *Trace        // the timeline, if it is requested
}

// course is the data that a staged product returns besides its time.
type course struct {
	phases       map[string]time.Duration
	distribution *account.Distribution // nil: no ranks
}

// prepare makes the multiplier of c and its operands. busy is the number of processors that c keeps
// busy.
func (d *Driver) prepare(ctx context.Context, c Case, busy int) *contender {
	t := &contender{d: d, c: c, busy: busy, record: c.record(), timeout: d.Budget.Timeout}
	if !c.OnDevice() {
		d.now(c) // drawing the operands may exhaust the memory already
	}
	if t.err = c.Err(); t.err != nil {
		return t
	}
	t.record.Resolved = c.resolved
	t.err = gemm.ByType(c.Type,
		func() error { return prepare(ctx, t, &d.settings.f64) },
		func() error { return prepare(ctx, t, &d.settings.f32) },
		func() error { return prepare(ctx, t, &d.settings.f16) },
		func() error { return prepare(ctx, t, &d.settings.bf16) },
		func() error { return prepare(ctx, t, &d.settings.gf256) },
	)()
	return t
}

func prepare[T gemm.Element](ctx context.Context, t *contender, s *setting[T]) error {
	c := t.c
	m, err := construct[T](t)
	if err != nil {
		return err
	}
	switch {
	case c.Batch > 0:
		err = prepareBatch(t, m, s)
	case c.chain() > 0:
		r := newIteration(t.d, c, m, s)
		err = t.multiplies(r, r.limit, r.magnitude, r.of.verifier)
		t.elsewhere = r.remote != nil
		if !t.elsewhere {
			t.sampler.Before = r.of.Restore
		}
	default:
		err = prepareProduct(t, m, s)
	}
	if err != nil {
		return err
	}
	if e, ok := m.(gemm.Explainer); ok {
		t.explain = e.Resolved
	}
	if w, ok := m.(optional.Warner); ok {
		t.warn = w.Warnings
	}
	t.sampler.Call = t.time
	t.sampler.Unlocked = c.foreign() && c.Type == "gf256" && c.Threads() > 1 // a library in Go starts goroutines itself
	if c.foreign() && !t.elsewhere && c.Terms() < smallPeer {
		t.overhead = callOverhead(ctx, m) * time.Duration(max(1, c.Batch))
	}
	return nil
}

// prepareProduct prepares one product, and not an iterated one.
func prepareProduct[T gemm.Element](t *contender, m gemm.Multiplier[T], s *setting[T]) (err error) {
	c := t.c
	r := &multiplicationOf[T]{c: c, seed: t.d.Seed, setting: s, place: stager(m, c)}
	if r.call, err = caller(m, c); err != nil {
		return err
	}
	workers := 1
	var touch func(c, a, b gemm.Matrix[T])
	if toucher, ok := m.(optional.Toucher[T]); ok && c.Plain() {
		workers, touch = t.busy, toucher.Touch
	}
	r.drawn = s.draw(t.d, c, workers, touch)
	r.limit = verify.Telling[T](verify.LimitOf[T](c.Variant, c.Shape, c.resolved, c.Alpha, c.Beta, true))
	r.magnitude = verify.ExactIntegers[T](c.Variant, c.Shape, c.resolved, c.Alpha, c.Beta)
	t.elsewhere = r.place != nil
	if c.Beta != 0 && !t.elsewhere {
		t.sampler.Before = r.drawn.Restore
	}
	return t.multiplies(r, r.limit, r.magnitude, r.drawn.verifier)
}

// prepareBatch prepares a batch of products.
func prepareBatch[T gemm.Element](t *contender, m gemm.Multiplier[T], s *setting[T]) error {
	r, how, err := newBatching(t.d, t.c, m, s)
	if err != nil {
		return err
	}
	t.batched, t.elsewhere = how, r.place != nil
	if t.c.Beta != 0 && !t.elsewhere {
		t.sampler.Before = r.of.Restore
	}
	return t.multiplies(r, r.limit, r.magnitude, r.of)
}

// multiplies gives t its product, which is checked against the limit, and before that on integers up to magnitude
// (0: none). The error is an unproven if the checks would prove nothing.
func (t *contender) multiplies(product multiplication, limit verify.Limit, magnitude int,
	verifier interface{ Assures(verify.Limit) bool }) error {
	t.record.Bound, t.record.BoundKind = Number(limit.Bound), limit.Kind
	if magnitude == 0 && t.c.Type != "gf256" {
		if !verifier.Assures(limit) {
			return unproven{limit.Unproven(t.c.Type, t.c.K)}
		}
		t.warning(note.New("integers"))
	}
	t.product, t.exact = product, magnitude > 0
	return nil
}

// construct makes the multiplier. On a device it has the time limit of the row: it may compile a
// kernel, and hang.
func construct[T gemm.Element](t *contender) (m gemm.Multiplier[T], err error) {
	if !t.c.OnDevice() {
		return newMultiplier[T](t.c)
	}
	err = t.guard(t.d.Budget.Timeout, func() (err error) {
		m, err = newMultiplier[T](t.c)
		return err
	})
	return m, err
}

// unproven is the error of a case whose result could not be verified, neither by integers nor by the
// bound. Such a case is not measured.
type unproven struct{ text string }

func (u unproven) Error() string { return u.text }

// begin checks the product of integers, stages the operands if necessary, and warms up.
func (t *contender) begin(ctx context.Context, b Budget) {
	if t.exact && !t.multipliesIntegers(ctx) {
		return
	}
	if t.elsewhere {
		t.within(ctx, t.stage)
	}
	if t.err == nil && t.device == nil {
		t.product.poison()
	}
	t.within(ctx, func(ctx context.Context) error { return t.warmUp(ctx, b) })
	if t.done {
		t.fetch(ctx)
	}
}

// multipliesIntegers computes the product of integers. It returns false if the result is wrong, and
// true if it is right, or if there was an error.
func (t *contender) multipliesIntegers(ctx context.Context) bool {
	if t.err != nil {
		return true
	}
	if t.c.OnDevice() {
		t.product.drawIntegers() // not part of the row's time
	}
	var v verify.Verdict
	limit := t.timeout
	t.within(ctx, func(ctx context.Context) (err error) {
		v, err = t.product.multiplyIntegers(ctx)
		return err
	})
	t.timeout = limit // the row has its whole time again
	if t.err != nil || v.OK() {
		return true
	}
	t.judge(v)
	t.record.Reason = note.Note{Text: "of integers, whose product is exact: " + t.record.Reason.Text}
	return false
}

// stage stages the operands. From then on, the staged product is computed.
func (t *contender) stage(ctx context.Context) error {
	staged, err := t.product.stage(ctx)
	if err != nil {
		return err
	}
	t.staged = staged
	t.device, _ = staged.(usage.OnDevice)
	t.sampler.Kept = func() { t.courses = append(t.courses, t.last) }
	return nil
}

// warmUp warms the sampler up. If there is no time for a second call, the first call is the only
// sample of the row.
func (t *contender) warmUp(ctx context.Context, b Budget) error {
	took, err := t.sampler.Warm(ctx)
	if err != nil {
		return err
	}
	short := b.Timeout > 0 && !sample.Fits(took, t.timeout-took) || b.Patience > 0 && took > b.Patience
	if took > b.Time && short {
		t.sampler.Seconds = []float64{took.Seconds()}
		if t.sampler.Kept != nil {
			t.sampler.Kept()
		}
		t.done = true
		return nil
	}
	if t.c.Turn != "" {
		return t.sampler.Settle(ctx)
	}
	return nil
}

// time computes the product the given number of times and returns the time taken.
func (t *contender) time(ctx context.Context, times int) (time.Duration, error) {
	if t.staged != nil {
		return t.timeStaged(ctx, times)
	}
	start := time.Now()
	if err := t.product.multiply(ctx, times); err != nil {
		return 0, err
	}
	return time.Since(start), nil
}

// timeStaged is time for a staged product, which measures its own time.
func (t *contender) timeStaged(ctx context.Context, times int) (time.Duration, error) {
	if repeater, ok := t.staged.(optional.Repeater); ok {
		cost, err := repeater.Repeat(ctx, times)
		t.last.phases = cost.Phases
		return cost.Time, err
	}
	var total time.Duration
	for range times {
		cost, err := t.staged.Do(ctx)
		if err != nil {
			return 0, err
		}
		total += cost.Time
		t.last.phases = cost.Phases
	}
	if ranks, ok := t.staged.(account.Distributed); ok {
		d := ranks.Distribution()
		t.last.distribution = &d
	}
	return total, nil
}

// fetch collects the result of the last product and checks it. C of a product on a device is poisoned
// only now: other contenders have left their results in it.
func (t *contender) fetch(ctx context.Context) {
	if t.err == nil && t.device != nil {
		t.product.poison()
	}
	t.within(ctx, func(ctx context.Context) error {
		if t.staged == nil {
			return nil
		}
		return t.staged.Collect(ctx)
	})
	t.verify()
}

// close frees what stage allocated.
func (t *contender) close() {
	_ = t.guard(t.d.Budget.Timeout, func() error {
		if t.staged == nil {
			return nil
		}
		return t.staged.Close()
	})
}

// verify checks the result of the last product.
func (t *contender) verify() {
	if t.err != nil {
		return
	}
	v := t.product.check()
	t.judge(v)
	if v.Note != "" {
		t.warning(note.Read(v.Note))
	}
	switch {
	case v.Void:
		t.warning(note.New("integers-only"))
	case v.Weak:
		t.warning(note.New("blind"))
	}
}

// judge adds the verdict to the row.
func (t *contender) judge(v verify.Verdict) {
	t.record.Residual, t.record.Bound = Number(v.Residual), Number(v.Bound)
	t.record.Status = OK
	if !v.OK() {
		t.record.Status, t.record.Reason = Wrong, note.Read(v.Reason)
	}
}

// warning adds a warning to the row.
func (t *contender) warning(n note.Note) { t.record.Warnings = append(t.record.Warnings, n) }

// guard calls f and turns a panic into an error. It gives the case up if f, on ranks or on a
// device, does not return within the limit.
func (t *contender) guard(limit time.Duration, f func() error) error { return t.d.guard(t, limit, f) }

// within runs f under the rest of the time limit.
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

// guard calls f and turns a panic into an error.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errPanicked, p)
		}
	}()
	return f()
}

// loadTime is how long products follow each other before the power is read: the driver of the GPU takes a mean of
// some ten milliseconds every tenth of a second, in which samples of a turn would be mixed.
const loadTime = 200 * time.Millisecond

// power computes the product until the load has lasted, and reads the power. The row has been measured, so without
// the power it is as good.
func (t *contender) power(ctx context.Context, limit time.Duration) {
	if !(t.device.Watts() > 0) {
		return
	}
	if limit > 0 {
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		ctx = limited
	}
	err := t.guard(limit, func() error {
		times := 1
		for left := loadTime; left > 0; {
			took, err := t.time(ctx, times)
			if err != nil {
				return err
			}
			left -= max(took, time.Microsecond)
			if took < loadTime/20 {
				times *= 2
			}
		}
		t.watts = t.device.Watts()
		return nil
	})
	if err != nil {
		t.warning(note.New("no-power", err.Error()))
	}
}

// mostSpans is how many spans of a timeline are kept, and how many phases: more than a figure can show.
const mostSpans = 4000

// draw computes one more product of t, with a timeline and a time limit (0: none). The row has been measured, so
// an error is only a warning in it.
func (t *contender) draw(ctx context.Context, limit time.Duration) {
	if limit > 0 {
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		ctx = limited
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	if t.sampler.Before != nil {
		t.sampler.Before()
	}
	var line timeline.Recorder
	var took time.Duration
	err := t.guard(limit, func() (err error) {
		took, err = t.sampler.Call(timeline.With(ctx, &line), 1)
		return err
	})
	spans, did := line.Spans(), line.Activity()
	switch {
	case err != nil:
		t.warning(note.New(note.NoTimeline, err.Error()))
	case len(spans) == 0 && len(did.Phases) == 0:
		t.warning(note.New(note.NoTimeline, "this variant does not divide its work into chunks of a loop"))
	default:
		t.trace = &Trace{Workers: t.record.Threads, Seconds: took.Seconds(), Spans: timeline.Join(spans, mostSpans),
			Activity: did.Limited(mostSpans)}
		if d := t.last.distribution; d != nil {
			t.trace.Ranks = d.Ranks
		}
	}
}
