package gemm

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// Span is one chunk of a loop as one worker ran it.
type Span struct {
	Worker int     `json:"worker"`
	From   int     `json:"from"` // indices From ≤ i < To of the loop
	To     int     `json:"to"`
	Begin  float64 `json:"begin_s"` // seconds after the timeline began
	End    float64 `json:"end_s"`
}

// Timeline collects what the workers of a product do when. It begins with
// WithTimeline.
type Timeline struct {
	begun time.Time
	mu    sync.Mutex
	spans []Span
}

// WithTimeline returns a context under which a product whose variant shares its work
// in chunks adds each of them to t, whose clock starts now.
func WithTimeline(ctx context.Context, t *Timeline) context.Context {
	t.begun = time.Now()
	return context.WithValue(ctx, timelineKey{}, t)
}

// TimelineOf returns the timeline of the context, nil where there is none.
func TimelineOf(ctx context.Context) *Timeline {
	t, _ := ctx.Value(timelineKey{}).(*Timeline)
	return t
}

type timelineKey struct{}

// Add notes a chunk that began at the given time and ends now. It is safe for
// concurrent use.
func (t *Timeline) Add(worker, from, to int, begin time.Time) {
	s := Span{worker, from, to, begin.Sub(t.begun).Seconds(), time.Since(t.begun).Seconds()}
	t.mu.Lock()
	t.spans = append(t.spans, s)
	t.mu.Unlock()
}

// Spans returns what was added, worker by worker in the order of time.
func (t *Timeline) Spans() []Span {
	t.mu.Lock()
	defer t.mu.Unlock()
	spans := slices.Clone(t.spans)
	slices.SortStableFunc(spans, func(a, b Span) int {
		return cmp.Or(cmp.Compare(a.Worker, b.Worker), cmp.Compare(a.Begin, b.Begin))
	})
	return spans
}
