package chain_test

import (
	"fmt"
	"testing"

	"gemm"
	"gemm/compare/chain"
	"gemm/compare/verify"
	"gemm/gf256"
	"gemm/serial"
)

// TestMultiply verifies chains whose additions one thread and several threads compute, twice each: Restore
// brings the operands back. Without Restore, the result is that of another chain.
func TestMultiply(t *testing.T) {
	t.Run("f64", multiply[float64])
	t.Run("f32", multiply[float32])
	t.Run("gf256", multiply[gf256.Elem])
}

func multiply[T gemm.Element](t *testing.T) {
	v, err := gemm.Lookup(serial.Variants(), "serial/packed")
	if err != nil {
		t.Fatal(err)
	}
	m, err := gemm.New[T](v, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ n, steps, threads int }{{1, 1, 2}, {9, 2, 1}, {181, 3, 2}, {181, 2, 5}} {
		t.Run(fmt.Sprintf("%d, %d steps, %d threads", c.n, c.steps, c.threads), func(t *testing.T) {
			of := verify.DrawChain[T](c.n, c.n+3, c.steps, 1)
			verifier := verify.NewChain(of, 2)
			limit := verifier.Limit(verify.Limit{Kind: gemm.Componentwise,
				Bound: gemm.Gamma(float64(c.n), gemm.TypeOf[T]().UnitRoundoff)})
			x := chain.New(of)
			result := func() verify.Verdict {
				t.Helper()
				if err := x.Multiply(t.Context(), m, c.threads); err != nil {
					t.Fatal(err)
				}
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
