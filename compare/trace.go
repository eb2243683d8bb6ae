package compare

import (
	"cmp"
	"context"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"gemm/parallel/timeline"
)

// mostSpans is how many spans of a timeline are kept: more than a figure can show.
const mostSpans = 4000

// noTimeline begins the warning of a row whose timeline was asked for and is not there.
const noTimeline = "no timeline: "

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
	err := guard(func() (err error) {
		took, err = t.sampler.Call(timeline.With(ctx, &line), 1)
		return err
	})
	spans := line.Spans()
	switch {
	case err != nil:
		t.warning(noTimeline + err.Error())
	case len(spans) == 0:
		t.warning(noTimeline + "this variant does not divide its work into chunks of a loop")
	default:
		t.trace = &Trace{Workers: t.record.Threads, Seconds: took.Seconds(), Spans: joined(spans, mostSpans)}
	}
}

// joined returns at most the given number of spans, but at least one per worker. The spans of a
// worker with the shortest gaps between them are joined, and the gap moves after them; so the busy
// time stays the same. Spans are sorted by worker and then by time, before and after.
func joined(spans []timeline.Span, most int) []timeline.Span {
	var gaps []int // indices of spans that follow another of their worker, by the gap before them
	for i := range spans[1:] {
		if spans[i].Worker == spans[i+1].Worker {
			gaps = append(gaps, i+1)
		}
	}
	slices.SortStableFunc(gaps, func(i, j int) int {
		return cmp.Compare(spans[i].Begin-spans[i-1].End, spans[j].Begin-spans[j-1].End)
	})
	join := map[int]bool{}
	for _, i := range gaps[:min(max(0, len(spans)-most), len(gaps))] {
		join[i] = true
	}
	var out []timeline.Span
	for i, s := range spans {
		if !join[i] {
			out = append(out, s)
			continue
		}
		last := &out[len(out)-1]
		last.To, last.End = s.To, last.End+s.End-s.Begin
	}
	return out
}
