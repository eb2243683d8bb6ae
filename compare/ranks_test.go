package compare

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/compare/run"
	"gemm/compare/run/turn"
	"gemm/gemmtest"
)

// TestRanks starts ranks for all cases with the same number of ranks, in a driver of their own. On three ranks a host
// is lost in mpi/b at n = 12: no ranks are started for the cases that are left, until the next run.
func TestRanks(t *testing.T) {
	lost, next, starts := true, 0, []int(nil)
	var variants []gemm.Variant
	for _, name := range []string{"mpi/a", "mpi/b", "mpi/c"} {
		v := gemmtest.OnRanks(name, nil)
		v.F64 = func(p gemm.Params) (gemm.Multiplier[float64], error) {
			return gemmtest.Func[float64](func(ctx context.Context, c, a, b gemm.Matrix[float64]) error {
				if lost && name == "mpi/b" && c.Rows == 12 && p.Int("ranks") == 3 {
					panic("boom")
				}
				return gemmtest.Textbook(ctx, c, a, b)
			}), nil
		}
		variants = append(variants, v)
	}
	l := ladder(variants, 8, 12)
	l.Sweep = map[string][]any{"ranks": {3, 1}}
	store := &record.Store{}
	measure := func() *silent {
		var p silent
		drive(t, &Driver{Store: store, Budget: testBudget, Progress: &p, Ceilings: time.Millisecond, MPI: "an MPI",
			Command: "gemm mpi", Processes: run.Processes{Launch: launcher(t, variants, &starts, &next)}}, l.Cases())
		return &p
	}
	if p := measure(); next == 0 || len(p.began) == 0 || len(p.rows) != 12 || !slices.Equal(starts, []int{1, 3}) {
		t.Errorf("the progress has %d beginnings and %d rows, ranks were started for %d", len(p.began), len(p.rows),
			starts)
	}
	doc := store.Document()
	if len(doc.Runs) != 1 || doc.Runs[0].Command != "gemm mpi" || doc.Hosts[0].MPI != "an MPI" ||
		len(doc.Measurements) != 2 || len(doc.Records) != 12 {
		t.Fatalf("runs %+v, measurements %+v, %d rows, the host's MPI is %q", doc.Runs, doc.Measurements, len(doc.Records),
			doc.Hosts[0].MPI)
	}
	id := doc.Runs[0].ID
	for _, x := range doc.Records {
		ranks, status, reason := x.Params.Int("ranks"), record.OK, ""
		if x.N == 12 && ranks == 3 {
			status, reason = record.Failed, "host node7 does not answer any more"
			if x.Variant == "mpi/b" {
				reason += ": panicked: boom"
			}
		}
		ok := status == record.OK
		if x.Status != status || x.Reason.Text != reason || x.Run != id || x.Host != doc.Hosts[0].ID ||
			x.Turn != fmt.Sprintf("mpi f64 %d nn, %d ranks", x.N, ranks) || ok && x.Ceiling != float64(1000*ranks) {
			t.Errorf("%s %d on %d: %s, run %s, turn %q, ceiling %v, %s; want %s, %s", x.Variant, x.N, ranks, x.Status, x.Run,
				x.Turn, x.Ceiling, x.Reason, status, reason)
		}
	}
	for i, n := range []int{1, 3} {
		if m := doc.Measurements[i]; m.Run != id || m.Name != "ping-pong" || m.Params["ranks"] != n {
			t.Errorf("measured is %+v", m)
		}
		if !slices.ContainsFunc(doc.Hosts[0].Ceilings, func(c record.Ceiling) bool {
			return c.Threads == n && c.Run == id && c.Gflops == record.Number(1000*n)
		}) {
			t.Errorf("the ceilings are %+v, want one of %d threads", doc.Hosts[0].Ceilings, n)
		}
	}
	lost = false
	if p := measure(); len(p.kept) != 9 || len(p.rows) != 3 || !slices.Equal(starts, []int{1, 3, 3}) {
		t.Errorf("the second time %d rows were kept, %d measured, and ranks started for %d", len(p.kept), len(p.rows), starts)
	}
}

// launcher returns a Launch of ranks that are a driver in this process. It notes how many ranks it starts, and the
// cases that they begin. If they give up, node7 does not answer.
func launcher(t *testing.T, variants []gemm.Variant, starts *[]int, next *int) run.Launch {
	return func(ctx context.Context, ranks int, folder string) error {
		*starts = append(*starts, ranks)
		over := make(chan error, 1)
		s := Served{Variants: variants,
			Measure: func() []record.Measurement {
				return []record.Measurement{{Name: "ping-pong", Params: gemm.Params{"bytes": 1, "ranks": ranks}, Unit: "s",
					Samples: []float64{1}}}
			},
			Lead: func(plan.Budget) (*turn.Lead, error) {
				return &turn.Lead{
					Peak: func(_ string, threads int, _ time.Duration) (float64, error) {
						return 1000 * float64(threads*ranks), nil
					},
					Abort: func(reason string) {
						over <- errors.New(reason)
						runtime.Goexit()
					},
					Unreachable: func() []string { return []string{"node7"} },
					Now:         func(plan.Case) { *next++ },
				}, nil
			},
		}
		go func() { over <- ServeFolder(ctx, folder, s) }()
		return <-over
	}
}
