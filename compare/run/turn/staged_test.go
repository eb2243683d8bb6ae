package turn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/gemmtest"
	"gemm/internal/note"
)

func TestShortStagedProductsAreTimedInBatches(t *testing.T) {
	most := 0
	v := gemmtest.VariantOf("reference/claimed", &claimed{took: time.Microsecond, most: &most})
	r := ladder(t, 8, v)[v.Name]
	if r.Status != record.OK || r.Median != 1e-6 || most < 20 || r.Inner != most {
		t.Errorf("%s, median %v s, %d at once, inner %d, %q; want ok, 1 µs, batches of 20 µs at least", r.Status, r.Median,
			most, r.Inner, r.Reason)
	}
	if len(r.Warnings) != 1 || r.Warnings[0].Text != "it is asleep" {
		t.Errorf("the warnings are %q, want its own and none of the call", r.Warnings)
	}
}

// uneven is on two ranks, of which one is idle. Each product takes another time: 1 s, 2 s, 9 s, and again.
type uneven struct {
	gemmtest.Staged
	calls int
}

func (u *uneven) Stage(_ context.Context, c, a, b gemm.Matrix[float64]) (gemm.Run, error) {
	return &uneven{gemmtest.Staged{C: c, A: a, B: b}, 0}, nil
}

func (u *uneven) took() time.Duration {
	return []time.Duration{time.Second, 2 * time.Second, 9 * time.Second}[u.calls%3]
}

func (u *uneven) Do(context.Context) (gemm.Cost, error) {
	u.calls++
	phases := map[string]time.Duration{"compute": u.took() / 2}
	if u.calls%2 == 0 {
		phases["collect"] = time.Duration(u.calls) * time.Second
	}
	return gemm.Cost{Time: u.took(), Phases: phases}, nil
}

func (u *uneven) Resolved() gemm.Params { return gemm.Params{"threads": 3, "ranks": 2} }

func (u *uneven) Distribution() record.Distribution {
	return record.Distribution{
		Ranks: []record.Rank{{Rank: 0, Host: "a", CPUs: "0-1", Sent: 7,
			Phases: map[string]float64{"compute": u.took().Seconds()}},
			{Rank: 1, Host: "a", CPUs: "0-1", Recv: 7}},
		Used: 1, Counted: 7, Predicted: 8, Bound: 6.5, Warnings: []note.Note{note.Read("1 of 2 ranks is idle")},
		Model: record.Model{Seconds: 1, Latency: 0.25, Transfer: 0.5, Compute: 0.75},
	}
}

// TestDistributionIsInTheRow wants the telemetry of a product on ranks, and the phases of the median: the last product,
// and the one that warms up, take another time.
func TestDistributionIsInTheRow(t *testing.T) {
	v := gemmtest.VariantOf("mpi/uneven", &uneven{})
	v.Params = gemmtest.OnRanks("", nil).Params
	rows, _ := measure(t, bench(t, plan.Budget{Reps: 7, Time: time.Nanosecond, Timeout: 20 * time.Second}, 0),
		plan.Ladder{Variants: []gemm.Variant{v}})
	r, want := rows[0], map[string]float64{"compute": 1, "collect": 5} // the latter of 2, 4, 6 and 8
	if r.Status != record.OK || len(r.Samples) != 7 || r.Median != 2 || !maps.Equal(r.Phases, want) {
		t.Errorf("%s, %q, samples %v, median %v, phases %v; want %v", r.Status, r.Reason, r.Samples, r.Median, r.Phases, want)
	}
	if len(r.Ranks) != 2 || r.Ranks[0].Phases["compute"] != 2 || r.Ranks[1].Recv != 7 || r.RanksUsed != 1 ||
		r.Threads != 6 || r.BytesCounted != 7 || r.BytesPredicted != 8 || r.BytesBound != 6.5 || r.ModelSeconds != 1 ||
		r.ModelLatency != 0.25 || r.ModelTransfer != 0.5 || r.ModelCompute != 0.75 {
		t.Errorf("the row is %+v", r)
	}
	for _, want := range []string{"1 of 2 ranks is idle", "oversubscribed: 2 ranks with 6 threads share 2 processors"} {
		if !strings.Contains(fmt.Sprint(r.Warnings), want) {
			t.Errorf("the warnings are %q, want %q among them", r.Warnings, want)
		}
	}
}

// gemmStager stages α·A·B + β·C, and computes it when it is collected.
type gemmStager struct {
	gemmtest.Staged
	alpha, beta float64
	c0          gemm.Matrix[float64]
}

func (s *gemmStager) Gemm(context.Context, blas.Transpose, blas.Transpose, float64, gemm.Matrix[float64],
	gemm.Matrix[float64], float64, gemm.Matrix[float64]) error {
	return errors.New("Gemm of a GemmStager was called")
}

func (s *gemmStager) StageGemm(_ context.Context, _, _ blas.Transpose, alpha float64, a, b gemm.Matrix[float64],
	beta float64, c gemm.Matrix[float64]) (gemm.Run, error) {
	c0 := gemm.NewMatrix[float64](c.Rows, c.Cols)
	for i := range c.Rows {
		copy(c0.Row(i), c.Row(i))
	}
	return &gemmStager{gemmtest.Staged{C: c, A: a, B: b}, alpha, beta, c0}, nil
}

func (s *gemmStager) Collect(ctx context.Context) error {
	if err := gemmtest.Textbook(ctx, s.C, s.A, s.B); err != nil {
		return err
	}
	for i := range s.C.Rows {
		for j := range s.C.Cols {
			s.C.Set(i, j, s.alpha*s.C.At(i, j)+s.beta*s.c0.At(i, j))
		}
	}
	return nil
}

func TestGemmStagersAreStaged(t *testing.T) {
	v := gemmtest.VariantOf("test/staged", &gemmStager{})
	r := run(t, plan.Ladder{Variants: []gemm.Variant{v}, Alpha: 2, Beta: -3, LD: 1}, 0)[0]
	if r.Status != record.OK || r.Median != 1 {
		t.Errorf("%s %q, median %v s; want ok, 1 s by its own clock", r.Status, r.Reason, r.Median)
	}
}

// lazy is on a device, and collects nothing of its second product.
type lazy struct {
	gemmtest.Staged
	stages int
}

func (s *lazy) Stage(_ context.Context, c, a, b gemm.Matrix[float64]) (gemm.Run, error) {
	s.stages++
	s.Staged = gemmtest.Staged{C: c, A: a, B: b}
	return s, nil
}

func (s *lazy) Device() record.Device { return record.Device{Pipe: "f64"} }

func (s *lazy) Watts() float64 { return 0 }

func (s *lazy) Collect(ctx context.Context) error {
	if s.stages > 1 {
		return nil
	}
	return s.Staged.Collect(ctx)
}

// TestStaleResultsOfADevice has a variant that collects nothing after one that did.
func TestStaleResultsOfADevice(t *testing.T) {
	rows := ladder(t, 8, gemmtest.VariantOf("cuda/good", &gemmtest.Staged{}), gemmtest.VariantOf("cuda/stale", &lazy{}))
	if rows["cuda/good"].Status != record.OK || rows["cuda/stale"].Status != record.Wrong ||
		rows["cuda/stale"].Turn != rows["cuda/good"].Turn {
		t.Errorf("%s and %s, want ok and wrong", rows["cuda/good"].Status, rows["cuda/stale"].Status)
	}
}
