package turn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/compare/verify"
	"gemm/internal/note"
	"gemm/internal/sample"
)

// candidate is a case while it is measured. It is prepared, checked on integers, staged if it is computed elsewhere,
// warmed up, sampled, and verified. If one of these fails, err says why, and the others do nothing.
type candidate struct {
	b       *Bench
	c       plan.Case
	busy    int // processors that its threads keep busy
	row     record.Record
	err     error
	product product
	remote  remote
	sampler sample.Sampler
	left    time.Duration // of the time limit
	done    bool          // verified; takes no further samples
	trace   *record.Trace // the timeline, if it was requested
}

// product is what a candidate computes, and what its multiplier says of it.
type product struct {
	verification
	timed      multiplication
	draw       func() multiplication // operands of the exact check
	integers   *multiplication       // that are drawn and not multiplied yet; nil: none
	elsewhere  bool                  // it is computed on staged operands, not in this process
	batched    string                // how a batch is computed, see batchKey; empty: no batch, or its Run says it
	multiplier any                   // nil: the preparation failed
	overhead   time.Duration         // of a call into a library, if it matters
}

// remote is the product on staged operands.
type remote struct {
	run  gemm.Run        // nil: the product is not staged, or not yet
	gpu  record.OnDevice // nil: no GPU computes it
	last telemetry
	kept []telemetry // of the samples
	watt float64     // see power
}

// telemetry is the data that a staged product returns besides its time.
type telemetry struct {
	phases       map[string]time.Duration
	distribution *record.Distribution // nil: no ranks
}

// prepare makes the multiplier of c and its operands. busy is the number of processors that c keeps busy.
func (b *Bench) prepare(ctx context.Context, c plan.Case, busy int) *candidate {
	t := &candidate{b: b, c: c, busy: busy, row: c.Row(), left: b.Budget.Timeout}
	if !c.OnDevice() {
		b.Lead.now(c) // drawing the operands may exhaust the memory already
	}
	if t.err = c.Err(); t.err != nil {
		return t
	}
	t.row.Resolved = c.Resolved()
	t.err = gemm.ByType(c.Type,
		func() error { return prepare(ctx, t, &b.operands.f64) },
		func() error { return prepare(ctx, t, &b.operands.f32) },
		func() error { return prepare(ctx, t, &b.operands.f16) },
		func() error { return prepare(ctx, t, &b.operands.bf16) },
		func() error { return prepare(ctx, t, &b.operands.gf256) },
	)()
	return t
}

func prepare[T gemm.Element](ctx context.Context, t *candidate, s *operandCache[T]) error {
	c := t.c
	m, err := construct[T](ctx, t)
	if err != nil {
		return err
	}
	switch {
	case c.Batch > 0:
		err = prepareBatch(t, m, s)
	case c.Steps() > 0:
		prepareIteration(t, m, s)
	default:
		err = prepareProduct(t, m, s)
	}
	if err != nil {
		return err
	}
	p := &t.product
	t.row.Bound, t.row.BoundKind = record.Number(p.limit.Bound), p.limit.Kind
	most := gemm.Cube(t.b.Budget.Exact)
	switch {
	case p.magnitude == 0 && c.Type != "gf256" && !p.assures:
		return note.Unsuited{Reason: p.limit.Unproven(c.Type, c.K)}
	case p.magnitude == 0 && c.Type != "gf256":
		t.warn(note.New("integers"))
	case p.magnitude > 0 && most.M > 0 && c.Terms() > most.Terms() && p.assures:
		p.magnitude = 0
		t.warn(note.New("inexact", most.M))
	}
	p.multiplier, p.elsewhere = m, p.timed.stage != nil
	if (c.Beta != 0 || c.Steps() > 0) && !p.elsewhere {
		t.sampler.Before = p.timed.Restore
	}
	t.sampler.Call = t.time
	t.sampler.Unlocked = c.Foreign() && c.Type == "gf256" && c.Threads() > 1 // a library in Go starts goroutines itself
	if c.Foreign() && !p.elsewhere && c.Terms() < smallPeer {
		p.overhead = callOverhead(ctx, m) * time.Duration(max(1, c.Batch))
	}
	return nil
}

type verification struct {
	limit     verify.Limit
	assures   bool // a result within the limit is verified; otherwise, and without integers, the case is not measured
	magnitude int  // of the integers whose product is exact, which is checked first; 0: none are
}

// construct makes the multiplier. On a device it has the time limit of the row: it may compile a kernel, and hang.
func construct[T gemm.Element](ctx context.Context, t *candidate) (m gemm.Multiplier[T], err error) {
	if !t.c.OnDevice() {
		return newMultiplier[T](t.c)
	}
	err = t.guard(ctx, t.b.Budget.Timeout, func(context.Context) (err error) {
		m, err = newMultiplier[T](t.c)
		return err
	})
	return m, err
}

// begin checks the product of integers, stages the operands if necessary, and warms up.
func (t *candidate) begin(ctx context.Context, b plan.Budget) {
	if t.product.magnitude > 0 && !t.integersRight(ctx) {
		return
	}
	if t.product.elsewhere {
		t.within(ctx, t.stage)
	}
	if t.err == nil && t.remote.gpu == nil {
		t.product.timed.Poison()
	}
	t.within(ctx, func(ctx context.Context) error { return t.warmUp(ctx, b) })
	if t.done {
		t.fetch(ctx)
	}
}

// integersRight computes the product of integers. It returns false only if the result is wrong, not after an error.
func (t *candidate) integersRight(ctx context.Context) bool {
	if t.err != nil {
		return true
	}
	if t.c.OnDevice() {
		t.product.drawIntegers() // not part of the row's time
	}
	var v verify.Verdict
	limit := t.left
	t.within(ctx, func(ctx context.Context) (err error) {
		v, err = t.product.checkIntegers(ctx)
		return err
	})
	t.left = limit // the row has its whole time again
	if t.err != nil || v.OK() {
		return true
	}
	t.addVerdict(v)
	t.row.Reason = note.New("wrong-integers", t.row.Reason)
	return false
}

// stage stages the operands. From then on, the staged product is computed.
func (t *candidate) stage(ctx context.Context) error {
	staged, err := t.product.timed.stage(ctx)
	if err != nil {
		return err
	}
	t.remote.run = staged
	t.remote.gpu, _ = staged.(record.OnDevice)
	t.sampler.Kept = func() { t.remote.kept = append(t.remote.kept, t.remote.last) }
	return nil
}

// warmUp warms the sampler up. If there is no time for a second call, the first call is the only sample of the row.
func (t *candidate) warmUp(ctx context.Context, b plan.Budget) error {
	took, err := t.sampler.Warm(ctx)
	if err != nil {
		return err
	}
	short := b.Timeout > 0 && !sample.Fits(took, t.left-took) || b.Patience > 0 && took > b.Patience
	if took > b.Time && short {
		t.sampler.Seconds = []float64{took.Seconds()}
		if t.sampler.Kept != nil {
			t.sampler.Kept()
		}
		t.done = true
		return nil
	}
	if t.c.Turn != "" {
		return t.sampler.Rewarm(ctx)
	}
	return nil
}

// time computes the product the given number of times and returns the time taken. A staged product measures its own.
func (t *candidate) time(ctx context.Context, times int) (time.Duration, error) {
	if t.remote.run != nil {
		return t.remote.time(ctx, times)
	}
	start := time.Now()
	if err := t.product.timed.multiply(ctx, times); err != nil {
		return 0, err
	}
	return time.Since(start), nil
}

func (r *remote) time(ctx context.Context, times int) (time.Duration, error) {
	if repeater, ok := r.run.(record.Repeater); ok {
		cost, err := repeater.Repeat(ctx, times)
		r.last.phases = cost.Phases
		return cost.Time, err
	}
	var total time.Duration
	for range times {
		cost, err := r.run.Do(ctx)
		if err != nil {
			return 0, err
		}
		total += cost.Time
		r.last.phases = cost.Phases
	}
	if ranks, ok := r.run.(record.Distributed); ok {
		d := ranks.Distribution()
		r.last.distribution = &d
	}
	return total, nil
}

// fetch collects the result of the last product and checks it. C of a product on a device is poisoned
// only now: it has the results of other candidates.
func (t *candidate) fetch(ctx context.Context) {
	if t.err == nil && t.remote.gpu != nil {
		t.product.timed.Poison()
	}
	if t.remote.run != nil {
		t.within(ctx, t.remote.run.Collect)
	}
	t.verify()
}

// close frees what stage allocated.
func (t *candidate) close() {
	if run := t.remote.run; run != nil {
		_ = t.guard(context.Background(), t.b.Budget.Timeout, func(context.Context) error { return run.Close() })
	}
}

// verify checks the result of the last product.
func (t *candidate) verify() {
	if t.err != nil {
		return
	}
	var v verify.Verdict
	onAllProcessors(func() { v = t.product.timed.Check(t.product.limit) })
	t.addVerdict(v)
	if v.Note != "" {
		t.warn(note.Read(v.Note))
	}
	switch {
	case v.Vacuous:
		t.warn(note.New("integers-only"))
	case v.Weak:
		t.warn(note.New("blind"))
	}
}

func (t *candidate) addVerdict(v verify.Verdict) {
	t.row.Residual, t.row.Bound = record.Number(v.Residual), record.Number(v.Bound)
	t.row.Status = record.OK
	if !v.OK() {
		t.row.Status, t.row.Reason = record.Wrong, note.Read(v.Reason)
	}
}

func (t *candidate) warn(n note.Note) { t.row.Warnings = append(t.row.Warnings, n) }

// within runs f under the rest of the time limit.
func (t *candidate) within(ctx context.Context, f func(ctx context.Context) error) {
	if t.err != nil {
		return
	}
	start := time.Now()
	t.err = t.guard(ctx, t.left, f)
	if t.left > 0 {
		t.left = max(t.left-time.Since(start), time.Nanosecond)
	}
	if errors.Is(t.err, context.DeadlineExceeded) && ctx.Err() == nil {
		t.err = errTimeout
	}
}

var (
	errTimeout  = errors.New("took longer than the row's time limit")
	errPanicked = errors.New("panicked")
)

// guarded calls f and turns a panic into an error.
func guarded(ctx context.Context, f func(ctx context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errPanicked, p)
		}
	}()
	return f(ctx)
}
