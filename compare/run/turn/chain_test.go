package turn

import (
	"context"
	"fmt"
	"math"
	"testing"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/compare/verify"
	"gemm/gemmtest"
	"gemm/gf256"
	"gemm/roundoff"
	"gemm/serial"
)

// TestMultiply verifies chains whose additions one thread and several threads compute, twice each: Restore
// resets the operands. Without Restore, another chain is computed.
func TestMultiply(t *testing.T) {
	t.Run("f64", multiplyChain[float64])
	t.Run("f32", multiplyChain[float32])
	t.Run("gf256", multiplyChain[gf256.Elem])
}

func multiplyChain[T gemm.Element](t *testing.T) {
	v, err := gemm.Lookup(serial.Variants(), "serial/packed")
	gemmtest.Must(t, err)
	m, err := gemm.New[T](v, nil)
	gemmtest.Must(t, err)
	for _, c := range []struct{ n, steps, threads int }{{1, 1, 2}, {9, 2, 1}, {181, 3, 2}, {181, 2, 5}} {
		t.Run(fmt.Sprintf("%d, %d steps, %d threads", c.n, c.steps, c.threads), func(t *testing.T) {
			of := verify.DrawChain[T](c.n, c.n+3, c.steps, 1)
			verifier := verify.NewChain(of, 2)
			limit := verifier.Limit(verify.Limit{Kind: gemm.Componentwise,
				Bound: roundoff.Gamma(float64(c.n), gemm.TypeOf[T]().UnitRoundoff)})
			x := newChain(of)
			result := func() verify.Verdict {
				t.Helper()
				gemmtest.Must(t, x.Multiply(t.Context(), m, c.threads))
				return verifier.Check(x.Result, limit)
			}
			for range 2 {
				x.Restore()
				if got := result(); !got.OK() {
					t.Errorf("%+v", got)
				}
			}
			if got := result(); c.n > 1 && got.OK() {
				t.Error("without Restore the result is the same")
			}
		})
	}
}

// TestChains measures an iterated product. It wants the multiplier called for each step of the check on integers and of
// every sample, a rate of all steps together, and a wrong result if a step is left out.
func TestChains(t *testing.T) {
	const steps = 3
	calls := 0
	v := gemmtest.Variant("serial/ikj", gemmtest.Observed(func() { calls++ }))
	l := plan.Ladder{Experiment: record.IteratedProduct, Variants: []gemm.Variant{v},
		Sweep: map[string][]any{"chain": {steps}}}
	r := run(t, l, 0)[0]
	if r.Status != record.OK || r.Resolved["chain"] != steps || r.Inner != 1 || calls < steps*(1+len(r.Samples)) ||
		calls%steps != 0 {
		t.Fatalf("%s %s, %v: %d calls for %d samples of %d",
			r.Status, r.Reason, r.Resolved, calls, len(r.Samples), r.Inner)
	}
	if want := 2 * r.Terms() * steps / float64(r.Median) / 1e9; math.Abs(float64(r.Gflops)-want) > 1e-9*want {
		t.Errorf("%v GFLOP/s, want %v", r.Gflops, want)
	}
	step := 0
	lazy := func(ctx context.Context, c, a, b gemm.Matrix[float64]) error {
		if step++; step > steps && step%steps == 0 { // the check on integers passes
			return nil
		}
		return gemmtest.Textbook(ctx, c, a, b)
	}
	l.Variants = []gemm.Variant{gemmtest.Variant("serial/ikj", lazy)}
	if r := run(t, l, 0)[0]; r.Status != record.Wrong || r.Speed() {
		t.Errorf("without the last product: %s %s", r.Status, r.Reason)
	}
}
