package shard

import (
	"context"
	"fmt"
	"time"

	"gemm/internal/timeline"
)

// The phases of a slice, besides timeline.Waiting, and the phases of all files together.
const (
	reading     = "read"
	multiplying = "multiply"
	storing     = "write"
	verifying   = "verify"
	coding      = "code"
	syncing     = "sync"
)

// fileLane is the lane of all files together. The lanes of slices follow.
const fileLane = 0

// begin begins a phase on the timeline of the context, if it has one. The caller calls end with the bytes of the
// phase, and with the calls in it.
func begin(ctx context.Context, lane int, name string) (end func(bytes int64, calls ...timeline.Phase)) {
	t, from := timeline.Of(ctx), time.Now()
	return func(bytes int64, calls ...timeline.Phase) {
		if t == nil {
			return
		}
		laneName := "files"
		if lane != fileLane {
			laneName = fmt.Sprintf("slice %d", lane-fileLane-1)
		}
		t.Note(laneName, timeline.Phase{Lane: lane, Name: name, Bytes: bytes}, from, calls)
	}
}

// product calls multiply and records it, with the calls that the multiplier notes on a timeline.
func product(ctx context.Context, lane int, bytes int64, multiply func(context.Context) error) error {
	if timeline.Of(ctx) == nil {
		return multiply(ctx)
	}
	end := begin(ctx, lane, multiplying)
	var recorder timeline.Recorder
	err := multiply(timeline.With(ctx, &recorder))
	end(bytes, recorder.Activity().Phases...)
	return err
}
