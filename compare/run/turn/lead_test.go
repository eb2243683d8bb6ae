package turn

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/gemmtest"
)

// TestLeadAborts checks that a case that hangs, panics or leaves the ranks out of step is given up with its row. A
// case that only fails, or takes too long, does not end the process.
func TestLeadAborts(t *testing.T) {
	const limit = 200 * time.Millisecond
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0)) // the case that hangs does not restore it
	for _, test := range []struct {
		name    string
		product func(ctx context.Context) error
		step    error // of the ceiling
		silent  []string
		gives   bool
		status  record.Status
		reason  string
	}{
		{"hangs", func(context.Context) error { select {} }, nil, nil, true, record.Timeout,
			"a rank hangs: nothing came back 100ms after its time limit of 200ms"},
		{"panics", func(context.Context) error { panic("boom") }, nil, nil, true, record.Failed, "panicked: boom"},
		{"loses a host", func(context.Context) error { panic("boom") }, nil, []string{"node7"}, true, record.Failed,
			"host node7 does not answer any more: panicked: boom"},
		{"out of step", func(context.Context) error { return errors.New("a message was lost") }, errors.New("out of step"),
			nil, true, record.Failed, "a message was lost"},
		{"fails", func(context.Context) error { return errors.New("no room") }, nil, nil, false, record.Failed, "no room"},
		{"slow", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, nil, nil, false, record.Timeout,
			"took longer than the row's time limit of 200ms: raise it with --timeout"},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := gemmtest.OnRanks("mpi/a", func(ctx context.Context, _, _, _ gemm.Matrix[float64]) error {
				return test.product(ctx)
			})
			b := bench(t, plan.Budget{Reps: 6, Timeout: limit}, 0)
			b.Grace = limit / 2
			done, row := make(chan string, 1), record.Record{} // why it was given up, if it was
			b.Abandon = func(r record.Record, hosts error) error {
				if row = r; (hosts != nil) != (test.silent != nil) {
					t.Errorf("lost hosts: %v", hosts)
				}
				return nil
			}
			b.Lead = &Lead{
				Peak:        func(string, int, time.Duration) (float64, error) { return 1, test.step },
				Unreachable: func() []string { return test.silent },
				Abort: func(reason string) {
					done <- reason
					runtime.Goexit()
				},
			}
			c := plan.Request{Variant: v, Type: "f64", Shape: gemm.Cube(8), Op: "nn", Alpha: 1,
				Params: gemm.Params{"ranks": 2}}.Case()
			go func() {
				rows, _, err := b.Measure(t.Context(), []plan.Case{c})
				if err != nil {
					done <- err.Error()
					return
				}
				row = rows[0]
				done <- ""
			}()
			want := ""
			if test.gives {
				want = "mpi/a f64 8 ranks=2: " + test.reason
			}
			if reason := <-done; reason != want || row.Status != test.status || row.Reason.Text != test.reason {
				t.Errorf("given up: %q; %s %q; want %q, %s %q", reason, row.Status, row.Reason, want, test.status, test.reason)
			}
		})
	}
}
