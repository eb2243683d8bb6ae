package gemm_test

import (
	"sync"
	"testing"
	"time"

	"gemm"
)

func TestTimeline(t *testing.T) {
	if got := gemm.TimelineOf(t.Context()); got != nil {
		t.Errorf("a context without a timeline has %v", got)
	}
	var line gemm.Timeline
	ctx := gemm.WithTimeline(t.Context(), &line)
	if got := gemm.TimelineOf(ctx); got != &line {
		t.Fatalf("the context has %p, want %p", got, &line)
	}
	var wg sync.WaitGroup
	for worker := range 3 {
		wg.Go(func() {
			for i := range 10 {
				line.Add(worker, i, i+1, time.Now())
			}
		})
	}
	wg.Wait()
	spans := line.Spans()
	if len(spans) != 30 {
		t.Fatalf("%d spans, want 30", len(spans))
	}
	for i, s := range spans {
		if s.Worker != i/10 || s.From != i%10 || s.To != s.From+1 {
			t.Errorf("span %d is %+v", i, s)
		}
		if !(s.Begin >= 0) || !(s.End >= s.Begin) {
			t.Errorf("span %d lasts from %v to %v", i, s.Begin, s.End)
		}
	}
}
