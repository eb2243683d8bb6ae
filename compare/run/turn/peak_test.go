package turn

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"gemm"
	"gemm/compare/record"
	"gemm/gemmtest"
	"gemm/internal/cpu"
	"gemm/internal/note"
)

// claimed is a staged product that claims a time, or returns an error. It takes batches, and has something to say of
// its speed.
type claimed struct {
	gemmtest.Staged
	took time.Duration
	err  error
	most *int // products asked for at once
}

func (x *claimed) Stage(_ context.Context, c, a, b gemm.Matrix[float64]) (gemm.Run, error) {
	return &claimed{gemmtest.Staged{C: c, A: a, B: b}, x.took, x.err, x.most}, nil
}

func (x *claimed) Repeat(_ context.Context, times int) (gemm.Cost, error) {
	*x.most = max(*x.most, times)
	return gemm.Cost{Time: time.Duration(times) * x.took}, x.err
}

func (x *claimed) Warnings() []note.Note { return []note.Note{{Text: "it is asleep"}} }

// TestSuspect measures products that are right and claim to be faster than any processor, or whose error says what they
// are. They have no speed.
func TestSuspect(t *testing.T) {
	if cpu.Supported()[0] == cpu.Generic {
		t.Skip("the peak of this processor is that of a loop in Go")
	}
	for name, test := range map[string]struct {
		took   time.Duration
		err    error
		status record.Status
		reason string
	}{
		"impossible": {time.Nanosecond, nil, record.Suspect, "times the measured peak, "}, // 524 288 GFLOP/s
		"possible":   {time.Second, nil, record.OK, ""},
		"found out":  {time.Second, note.Suspect{Reason: "its clock is slow"}, record.Suspect, "its clock is slow"},
		"wrong":      {time.Second, note.Wrong{Reason: "row 1 is wrong"}, record.Wrong, "row 1 is wrong"},
	} {
		staged := &claimed{took: test.took, err: test.err, most: new(int)}
		r := ladder(t, 64, gemmtest.VariantOf("serial/claimed", staged))["serial/claimed"]
		if r.Status != test.status || !strings.Contains(r.Reason.Text, test.reason) {
			t.Errorf("%s: %s, %q; want %s, %q", name, r.Status, r.Reason, test.status, test.reason)
		}
		bare := !r.Median.Known() && !r.Gflops.Known() && !r.PercentPeak.Known() && len(r.Samples) == 0
		if bare != (test.status != record.OK) || r.Status.Bad() != (test.status != record.OK) {
			t.Errorf("%s: the row has the median %v, %v GFLOP/s, %d samples", name, r.Median, r.Gflops, len(r.Samples))
		}
	}
	if status, _ := (&Bench{}).failure(errors.New("no idea")); status != record.Failed {
		t.Errorf("another error is %s", status)
	}
}
