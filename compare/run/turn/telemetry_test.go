package turn

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/gemmtest"
	"gemm/internal/note"
	"gemm/internal/timeline"
)

// chunked returns a multiplier that adds spans if there is a timeline, and counts its calls with one.
func chunked(spans int, calls *int, fails error) gemmtest.Func[float64] {
	return func(ctx context.Context, c, a, b gemm.Matrix[float64]) error {
		if line := timeline.Of(ctx); line != nil {
			*calls++
			if fails != nil {
				return fails
			}
			for i := range spans {
				line.Add(i%2, i, i+1, time.Now())
			}
		}
		return gemmtest.Textbook(ctx, c, a, b)
	}
}

func TestTimelines(t *testing.T) {
	calls := 0
	of := func(spans int, fails error, timeline bool) ([]record.Record, []record.Trace) {
		calls = 0
		return measure(t, bench(t, testBudget, 0), plan.Ladder{
			Experiment: record.ArtificialLoad,
			Variants:   []gemm.Variant{gemmtest.Shared("parallel/rows", chunked(spans, &calls, fails))},
			Sweep:      map[string][]any{"schedule": {"static", "dynamic"}}, Timeline: timeline,
		})
	}
	if rows, traces := of(4, nil, false); len(rows) != 2 || calls != 0 || len(traces) != 0 {
		t.Fatalf("without --timeline: %d rows, %d products with one", len(rows), calls)
	}
	rows, traces := of(4, nil, true)
	if len(rows) != 2 || calls != 2 || len(traces) != 2 {
		t.Fatalf("%d rows, %d products with a timeline, %d traces; want 2 each", len(rows), calls, len(traces))
	}
	for i, trace := range traces {
		r := rows[i]
		if trace.ID() != r.ID() || trace.Resolved.String() != r.Resolved.String() ||
			trace.Experiment != record.ArtificialLoad || trace.Op != "nn" || trace.M != 8 || trace.Host != r.Host ||
			trace.Run != r.Run {
			t.Errorf("trace %d is %+v, of the row %+v", i, trace, r)
		}
		if len(trace.Spans) != 4 || trace.Workers != 1 || !(trace.Seconds > 0) || !(trace.Spans[3].End <= trace.Seconds+1) {
			t.Errorf("trace %d is %+v", i, trace)
		}
	}
	rows, traces = of(0, nil, true)
	if len(traces) != 0 || rows[0].Status != record.OK || !rows[0].Warns(note.NoTimeline) {
		t.Errorf("a product without chunks: %d traces, %s, %q", len(traces), rows[0].Status, rows[0].Warnings)
	}
	rows, traces = of(4, errors.New("boom"), true)
	if r := rows[0]; len(traces) != 0 || r.Status != record.OK || !r.Warns(note.NoTimeline) ||
		!strings.Contains(fmt.Sprint(r.Warnings), "no timeline: boom") {
		t.Errorf("a product that fails under a timeline: %d traces, %s, %q", len(traces), r.Status, r.Warnings)
	}
}
