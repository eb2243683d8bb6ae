// Package timeline records which worker of a product computes what, and when; and what its ranks, or
// the streams of a GPU, did.
package timeline

import (
	"cmp"
	"context"
	"maps"
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

// Recorder records the chunks of products. It begins with With. If a worker has more than a few thousand chunks, pairs
// of neighbouring chunks are joined, repeatedly if necessary; a joined chunk is as long as its parts together.
type Recorder struct {
	begun time.Time
	mu    sync.Mutex
	spans map[int][]Span // by worker

	activity Activity
}

// mostSpans is how many spans of a worker are kept.
const mostSpans = 1 << 14

// With returns a context under which a product whose variant shares its work
// in chunks adds each of them to t, whose clock starts now.
func With(ctx context.Context, t *Recorder) context.Context {
	t.begun = time.Now()
	return context.WithValue(ctx, key{}, t)
}

// Without returns a context under which nothing is recorded.
func Without(ctx context.Context) context.Context {
	return context.WithValue(ctx, key{}, (*Recorder)(nil))
}

// Of returns the timeline of the context, nil if there is none.
func Of(ctx context.Context) *Recorder {
	t, _ := ctx.Value(key{}).(*Recorder)
	return t
}

type key struct{}

// Add notes a chunk that began at the given time and ends now. It is safe for concurrent use.
func (t *Recorder) Add(worker, from, to int, begin time.Time) {
	s := Span{worker, from, to, begin.Sub(t.begun).Seconds(), time.Since(t.begun).Seconds()}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.spans == nil {
		t.spans = map[int][]Span{}
	}
	t.spans[worker] = append(t.spans[worker], s)
	if len(t.spans[worker]) == mostSpans {
		t.spans[worker] = halved(t.spans[worker])
	}
}

// halved joins each two neighbours among the spans of a worker.
func halved(spans []Span) []Span {
	out := spans[:0]
	for i := 0; i+1 < len(spans); i += 2 {
		s, next := spans[i], spans[i+1]
		s.To, s.End = next.To, s.End+next.End-next.Begin
		out = append(out, s)
	}
	return out
}

// Spans returns what was added, worker by worker in the order of time.
func (t *Recorder) Spans() []Span {
	t.mu.Lock()
	defer t.mu.Unlock()
	var spans []Span
	for _, worker := range slices.Sorted(maps.Keys(t.spans)) {
		spans = append(spans, t.spans[worker]...)
	}
	return spans
}

// Join returns at most the given number of spans, but at least one per worker. The spans of a
// worker with the shortest gaps between them are joined, and the gap moves after them; so the busy
// time stays the same. Spans are sorted by worker and then by time, before and after.
func Join(spans []Span, most int) []Span {
	var gaps []int // indices of spans that follow another of their worker, by the gap before them
	for i := 1; i < len(spans); i++ {
		if spans[i-1].Worker == spans[i].Worker {
			gaps = append(gaps, i)
		}
	}
	slices.SortStableFunc(gaps, func(i, j int) int {
		return cmp.Compare(spans[i].Begin-spans[i-1].End, spans[j].Begin-spans[j-1].End)
	})
	join := map[int]bool{}
	for _, i := range gaps[:min(max(0, len(spans)-most), len(gaps))] {
		join[i] = true
	}
	var out []Span
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
