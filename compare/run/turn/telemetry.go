package turn

import (
	"context"
	"runtime"
	"runtime/debug"
	"time"

	"gemm/compare/record"
	"gemm/internal/note"
	"gemm/internal/timeline"
)

// loadTime is how long products follow each other before the power is read: the driver of the GPU takes a mean of
// some ten milliseconds every tenth of a second, in which samples of a turn would be mixed.
const loadTime = 200 * time.Millisecond

// power computes the product until the load has lasted, and reads the power. The row has been measured, so without
// the power it is as good.
func (t *candidate) power(ctx context.Context, limit time.Duration) {
	if !(t.remote.gpu.Watts() > 0) {
		return
	}
	err := t.guard(ctx, limit, func(ctx context.Context) error {
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
		t.remote.watt = t.remote.gpu.Watts()
		return nil
	})
	if err != nil {
		t.warn(note.New("no-power", err.Error()))
	}
}

// mostSpans is how many spans of a timeline are kept, and how many phases: more than a figure can show.
const mostSpans = 4000

// traceProduct computes one more product of t, with a timeline and a time limit (0: none). The row has been measured,
// so an error is only a warning in it.
func (t *candidate) traceProduct(ctx context.Context, limit time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	if t.sampler.Before != nil {
		t.sampler.Before()
	}
	var line timeline.Recorder
	var took time.Duration
	err := t.guard(ctx, limit, func(ctx context.Context) (err error) {
		took, err = t.sampler.Call(timeline.With(ctx, &line), 1)
		return err
	})
	spans, did := line.Spans(), line.Activity()
	switch {
	case err != nil:
		t.warn(note.New(note.NoTimeline, err.Error()))
	case len(spans) == 0 && len(did.Phases) == 0:
		t.warn(note.New(note.NoTimeline, "this variant does not divide its work into chunks of a loop"))
	default:
		t.trace = &record.Trace{Workers: t.row.Threads, Seconds: took.Seconds(), Activity: did.Limited(mostSpans),
			Spans: append([]timeline.Span{}, timeline.Join(spans, mostSpans)...)}
		if d := t.remote.last.distribution; d != nil {
			t.trace.Ranks = d.Ranks
		}
	}
}
