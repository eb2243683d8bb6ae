package gemmtest

import (
	"cmp"
	"context"
	"testing"

	"gonum.org/v1/gonum/blas"

	"gemm"
)

// batched is a textbook that computes batches one by one, with a fault: change is called before them.
type batched struct {
	whole
	change func(a, b, c *gemm.Batch[float64])
	lax    bool // checks nothing
}

func (x batched) GemmBatch(ctx context.Context, tA, tB blas.Transpose, alpha float64, a, b gemm.Batch[float64],
	beta float64, c gemm.Batch[float64]) error {
	if _, _, _, err := gemm.CheckBatch(tA, tB, a, b, c); !x.lax && cmp.Or(err, ctx.Err()) != nil {
		return cmp.Or(err, ctx.Err())
	}
	if x.change != nil {
		x.change(&a, &b, &c)
	}
	for i := range c.Count {
		if err := x.Gemm(ctx, tA, tB, alpha, a.Nth(i), b.Nth(i), beta, c.Nth(i)); err != nil {
			return err
		}
	}
	return nil
}

// TestBatchFaults checks that checkBatches finds faults, and none in a correct multiplier.
func TestBatchFaults(t *testing.T) {
	kind := numberKind[float64]()
	good := whole{textbook: textbook[float64]{kind: kind}}
	changing := func(change func(a, b, c *gemm.Batch[float64])) batched { return batched{whole: good, change: change} }
	for name, test := range map[string]struct {
		m      batched
		faulty bool
	}{
		"none":                 {batched{whole: good}, false},
		"checks nothing":       {batched{whole: good, lax: true}, true},
		"the first alone":      {changing(func(_, _, c *gemm.Batch[float64]) { c.Count = 1 }), true},
		"all but the last":     {changing(func(_, _, c *gemm.Batch[float64]) { c.Count-- }), true},
		"one A":                {changing(func(a, _, _ *gemm.Batch[float64]) { a.Step = 0 }), true},
		"no gaps in B":         {changing(func(_, b, _ *gemm.Batch[float64]) { b.Step = b.Rows * b.Cols }), true},
		"no gaps in C's rows":  {changing(func(_, _, c *gemm.Batch[float64]) { c.Stride = c.Cols }), true},
		"beta = 0 reads C":     {batched{whole: whole{textbook: good.textbook, readsC: true}}, true},
		"ignores a transpose":  {batched{whole: whole{textbook: good.textbook, ignoresTrans: true}}, true},
		"ignores the factor α": {batched{whole: whole{textbook: good.textbook, ignoresAlpha: true}}, true},
	} {
		if err := checkBatches(under[float64]{m: test.m, v: variant(), kind: kind}); (err != nil) != test.faulty {
			t.Errorf("%s: %v", name, err)
		}
	}
	declared := under[float64]{m: batched{whole: good}, v: gemm.Variant{Can: gemm.Gemms}}
	if checkDeclared(declared) == nil {
		t.Error("a batch that is not declared is not found")
	}
}
