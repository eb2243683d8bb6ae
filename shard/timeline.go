package shard

import (
	"context"
	"fmt"
	"sync"
	"time"

	"gemm/internal/timeline"
)

// Timeline records what a Coder does with each slice, and when. A nil Timeline records nothing.
type Timeline struct {
	mu     sync.Mutex
	begun  time.Time
	slices int
	phases []timeline.Phase
}

// NewTimeline returns a timeline whose clock starts now.
func NewTimeline() *Timeline { return &Timeline{begun: time.Now()} }

// mostPhases is how many phases are kept: those of 1 TiB.
const mostPhases = 1 << 20

// The phases of a slice, besides timeline.Waiting, and those of all files together.
const (
	reading     = "read"
	multiplying = "multiply"
	writing     = "write"
	verifying   = "verify"
	coding      = "code"
	syncing     = "sync"
)

// fileLane is the lane of all files together. Those of slices follow.
const fileLane = 0

// Activity returns the phases.
func (t *Timeline) Activity() timeline.Activity {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := timeline.Activity{Lanes: []string{"files"}, Phases: t.phases}
	for i := range t.slices {
		a.Lanes = append(a.Lanes, fmt.Sprintf("slice %d", i))
	}
	timeline.Sort(a.Phases)
	return a
}

// begin begins a phase. The caller calls end with its bytes, and with the calls in it, if there are some.
func (t *Timeline) begin(lane int, name string) (end func(bytes int64, calls ...timeline.Phase)) {
	if t == nil {
		return func(int64, ...timeline.Phase) {}
	}
	from := time.Now()
	return func(bytes int64, calls ...timeline.Phase) {
		to := time.Now()
		t.mu.Lock()
		defer t.mu.Unlock()
		t.slices = max(t.slices, lane)
		if len(t.phases)+len(calls) >= mostPhases {
			return
		}
		at := from.Sub(t.begun).Seconds()
		t.phases = append(t.phases, timeline.Phase{Lane: lane, Name: name, Bytes: bytes, Begin: at,
			End: to.Sub(t.begun).Seconds()})
		for _, call := range calls {
			t.phases = append(t.phases, timeline.Phase{Lane: lane, Name: name, Call: call.Name, Bytes: call.Bytes,
				Begin: at + call.Begin, End: at + call.End})
		}
	}
}

// product calls f, which multiplies, and records it. The multiplier may say what it did, as package timeline has it.
func (t *Timeline) product(ctx context.Context, lane int, bytes int64, f func(context.Context) error) error {
	if t == nil {
		return f(ctx)
	}
	end := t.begin(lane, multiplying)
	var recorder timeline.Recorder
	err := f(timeline.With(ctx, &recorder))
	end(bytes, recorder.Activity().Phases...)
	return err
}
