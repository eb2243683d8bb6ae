package probe

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gemm"
	"gemm/compare/plan"
	"gemm/pool"
	"gemm/reference"
)

// TestOverheads checks that the probes of each number of threads that rows of the family parallel have run once.
func TestOverheads(t *testing.T) {
	threads := []gemm.Param{{Name: "threads", Default: 1, Min: 1}}
	serial, parallel := gemm.Variant{Name: "serial/x"}, gemm.Variant{Name: "parallel/x", Params: threads}
	cases := []plan.Case{{Variant: serial}}
	for _, role := range []gemm.Role{gemm.Library, gemm.UserKernel, gemm.Program} {
		cases = append(cases, plan.Case{Variant: gemm.Variant{Name: "other/x", Params: threads, Role: role}})
	}
	if probes := overheads(cases); len(probes) > 0 {
		t.Errorf("for rows without a pool %d overheads are measured", len(probes))
	}
	for _, n := range []int{2, 1, 2, 1 << 20} {
		cases = append(cases, plan.Request{Variant: parallel, Params: gemm.Params{"threads": n}}.Case())
	}
	var got []string
	for _, p := range overheads(cases) {
		if p.Unit != "ns" {
			t.Errorf("%s %v is in %s", p.Name, p.Params, p.Unit)
		}
		got = append(got, fmt.Sprint(p.Name, " ", p.Params))
	}
	want := []string{
		"fork-join runtime=pool threads=1", "fork-join runtime=goroutines threads=1", "fork-join runtime=libgomp threads=1",
		"chunk chunk=1 runtime=pool schedule=dynamic threads=1", "chunk chunk=1 runtime=libgomp schedule=dynamic threads=1",
		"merge method=atomic runtime=pool threads=1", "merge method=reduce runtime=pool threads=1",
		"merge method=atomic runtime=libgomp threads=1", "merge method=critical runtime=libgomp threads=1",
		"merge method=reduce runtime=libgomp threads=1",
		"fork-join runtime=pool threads=2", "fork-join runtime=goroutines threads=2", "fork-join runtime=libgomp threads=2",
		"chunk chunk=1 runtime=pool schedule=static threads=2", "chunk chunk=1 runtime=libgomp schedule=static threads=2",
		"chunk chunk=1 runtime=pool schedule=dynamic threads=2", "chunk chunk=1 runtime=libgomp schedule=dynamic threads=2",
		"chunk chunk=1 runtime=pool schedule=guided threads=2", "chunk chunk=1 runtime=libgomp schedule=guided threads=2",
		"merge method=atomic runtime=pool threads=2", "merge method=reduce runtime=pool threads=2",
		"merge method=atomic runtime=libgomp threads=2", "merge method=critical runtime=libgomp threads=2",
		"merge method=reduce runtime=libgomp threads=2",
	}
	if !slices.Equal(got, want) {
		t.Errorf("overheads\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// TestOverheadsMeasure measures each kind. libgomp has samples or a reason why not.
func TestOverheadsMeasure(t *testing.T) {
	for name, turn := range map[string]*turn{"fork-join": forkJoin(2), "chunk": chunk(2, "guided"), "merge": merge(2)} {
		for _, p := range turn.probes(name) {
			samples, err := p.Samples(t.Context())
			if p.Params["runtime"] == ofLibgomp && errors.Is(err, gemm.ErrUnavailable) {
				t.Logf("%s %v: %v", p.Name, p.Params, err)
				continue
			}
			if err != nil {
				t.Fatalf("%s %v: %v", p.Name, p.Params, err)
			}
			if len(samples) < rounds*reps {
				t.Errorf("%s %v has %d samples, want %d", p.Name, p.Params, len(samples), rounds*reps)
			}
			for _, ns := range samples {
				if !(ns > 0 && ns < math.MaxFloat64) {
					t.Errorf("%s %v: a sample of %v ns", p.Name, p.Params, ns)
				}
			}
		}
	}
}

// TestOverheadsInTurn takes samples of candidates that count, one of which fails.
func TestOverheadsInTurn(t *testing.T) {
	broken := errors.New("broken")
	var order []int
	counting := func(i int) func(context.Context, *reference.OpenMP, int) (time.Duration, error) {
		return func(_ context.Context, _ *reference.OpenMP, times int) (time.Duration, error) {
			if len(order) == 0 || order[len(order)-1] != i {
				order = append(order, i)
			}
			if i == 1 && len(order) > 3 {
				return 0, broken
			}
			return time.Duration(times) * 40 * time.Microsecond, nil
		}
	}
	var turn turn
	for i := range 3 {
		turn.candidates = append(turn.candidates,
			candidate{params: gemm.Params{"runtime": "counter"}, units: 10, call: counting(i)})
	}
	for i, p := range turn.probes("count") {
		samples, err := p.Samples(t.Context())
		if i == 1 {
			if !errors.Is(err, broken) || samples != nil {
				t.Errorf("a candidate that fails has %v, %v", samples, err)
			}
			continue
		}
		if err != nil || len(samples) < 6 || samples[0] != 4000 {
			t.Errorf("candidate %d has %v, %v", i, samples, err)
		}
	}
	if want := []int{0, 1, 2, 0, 1, 2, 0, 2, 0, 2}; !slices.Equal(order, want) {
		t.Errorf("they were called in the order %v, want %v", order, want)
	}
}

// TestGuidedChunks checks the number of chunks against the loops.
func TestGuidedChunks(t *testing.T) {
	for _, workers := range []int{1, 2, 3, 16} {
		for _, n := range []int{1, 2, 3, 100, 4097} {
			var chunks atomic.Int64
			if err := pool.New(workers).For(t.Context(), n, pool.Guided(1),
				func(int, int, int) { chunks.Add(1) }); err != nil {
				t.Fatal(err)
			}
			// A loop has no more workers than indices.
			if got := guidedChunks(n, min(workers, n)); got != int(chunks.Load()) {
				t.Errorf("%d indices for %d workers: %d chunks, a loop has %d", n, workers, got, chunks.Load())
			}
		}
	}
}
