package turn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gemm"
	"gemm/compare/plan"
	"gemm/internal/peak"
)

// Lead has the functions that measuring needs on rank 0 of a job, or in the worker of a device.
type Lead struct {
	// Peak measures a ceiling on all ranks at the same time, with the given threads on each. It
	// fails if the ranks are out of step. It is nil in the worker of a device.
	Peak func(pipe string, threads int, each time.Duration) (float64, error)
	// Lost reports whether the device can compute nothing more for this process. It is nil on rank 0.
	Lost func() bool
	// Abort ends the process, and with it all ranks, because a rank hangs, the ranks are out of step, or the device
	// is lost. The row in progress is in the store then. Abort is called on any goroutine, and does not return.
	Abort func(reason string)
	// Unreachable returns the hosts of ranks that do not answer any more. It may be nil.
	Unreachable func() []string
	// Now is called with the case in progress. It may be nil.
	Now func(c plan.Case)
}

// grace is the time after its limit in which a case on ranks may still return: rank 0 cannot cancel a receive.
const grace = 5 * time.Second

// ErrDeviceHung: a product on the device does not return. errRankHung: a product on ranks does not.
var (
	errRankHung   = errors.New("a rank hangs: nothing came back")
	ErrDeviceHung = errors.New("the device hangs: nothing came back")
)

// errLost: the device can compute nothing more.
var errLost = errors.New("the device was lost in this product")

// Watch calls lost unless stop is called within the limit and grace; if lost was called, stop does
// not return. A limit of 0 means none.
func (b *Bench) Watch(limit time.Duration, lost func()) (stop func()) {
	if limit <= 0 {
		return func() {}
	}
	timer := time.AfterFunc(limit+cmp.Or(b.Grace, grace), lost)
	return func() {
		if !timer.Stop() {
			select {}
		}
	}
}

// guard calls f under a time limit, of which 0 means none, and turns a panic into an error. It gives up a case on ranks
// or on a device if f does not return in time, or if the ranks are out of step or the device is lost afterwards: then
// nothing more can be measured.
func (t *candidate) guard(ctx context.Context, limit time.Duration, f func(ctx context.Context) error) error {
	if limit > 0 {
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		ctx = limited
	}
	lead := t.b.Lead
	if lead == nil || t.c.Ranks() == 0 && !t.c.OnDevice() {
		return guarded(ctx, f)
	}
	hung := errRankHung
	if t.c.OnDevice() {
		hung = ErrDeviceHung
	}
	lead.now(t.c)
	stop := t.b.Watch(limit, func() { t.abort(hung) })
	err := guarded(ctx, f)
	stop()
	agreed := err == nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
	switch {
	case errors.Is(err, errPanicked), t.c.Ranks() > 0 && !agreed && t.outOfStep():
		t.abort(err)
	case lead.Lost != nil && lead.Lost() && !errors.Is(err, context.Canceled):
		t.abort(cmp.Or(err, errLost))
	}
	return err
}

// now informs the lead, if there is one, of the case in progress.
func (l *Lead) now(c plan.Case) {
	if l != nil && l.Now != nil {
		l.Now(c)
	}
}

// outOfStep reports whether the ranks make different calls.
func (t *candidate) outOfStep() bool {
	defer t.b.Watch(time.Nanosecond, func() { t.abort(errRankHung) })()
	_, err := t.b.Lead.Peak("f64", 1, time.Millisecond)
	return err != nil
}

// abort stores the row of t, which err has ended, and ends the process.
func (t *candidate) abort(err error) {
	if errors.Is(err, context.DeadlineExceeded) {
		err = errTimeout
	}
	hosts := t.b.Lead.unreachable()
	if hosts != nil {
		err = fmt.Errorf("%w: %w", hosts, err)
	}
	r := t.finish(err)
	reason := fmt.Sprintf("%s: %s", t.c, r.Reason)
	if t.b.Abandon != nil {
		if err := t.b.Abandon(r, hosts); err != nil {
			reason += ": " + err.Error()
		}
	}
	t.b.Lead.Abort(reason)
}

// unreachable returns an error that names the hosts that do not answer any more; nil: all do, or it is not known.
func (l *Lead) unreachable() error {
	if l.Unreachable == nil {
		return nil
	}
	switch hosts := l.Unreachable(); len(hosts) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("host %s does not answer any more", hosts[0])
	default:
		return fmt.Errorf("hosts %s do not answer any more", strings.Join(hosts, ", "))
	}
}

// peak measures the ceiling of t, between bursts. ok is false on a device, which has no ceiling of
// its own in a turn, and if ctx has ended.
func (t *candidate) peak(ctx context.Context) (gflops float64, ok bool) {
	switch {
	case t.c.OnDevice():
		return 0, false
	case t.b.Lead == nil || t.c.Ranks() == 0:
		gflops, _ = peak.FMA(ctx, t.c.Pipe(), t.busy, ceilingTime)
		return gflops, ctx.Err() == nil
	}
	err := t.guard(ctx, t.b.Budget.Timeout, func(context.Context) (err error) {
		gflops, err = t.b.Lead.Peak(t.c.Pipe(), t.each(), ceilingTime)
		return err
	})
	return gflops, err == nil
}

// each returns the resolved number of threads of a rank.
func (t *candidate) each() int {
	if e, ok := t.product.multiplier.(gemm.Explainer); ok {
		if n, ok := e.Resolved()["threads"].(int); ok {
			return n
		}
	}
	return t.c.Each()
}
