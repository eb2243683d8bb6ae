package turn

import (
	"context"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/gemmtest"
	"gemm/gf256"
)

// batcher computes batches by one call, and leaves out the products from most on if that is above 0.
type batcher struct {
	gemmtest.Func[float64]
	calls *int
	most  int
}

func (b batcher) GemmBatch(ctx context.Context, _, _ blas.Transpose, _ float64, x, y gemm.Batch[float64], _ float64,
	z gemm.Batch[float64]) error {
	*b.calls++
	for i := range z.Count {
		if b.most > 0 && i >= b.most {
			break
		}
		if err := b.Multiply(ctx, z.Nth(i), x.Nth(i), y.Nth(i)); err != nil {
			return err
		}
	}
	return nil
}

// TestBatches measures batches by one call and by a call for each product. It wants a rate of all products together,
// and a wrong result if the last product is left out.
func TestBatches(t *testing.T) {
	const count = 5
	calls, products := 0, 0
	counted := gemmtest.Observed(func() { products++ })
	v := gemmtest.Variant("serial/ikj", counted)
	whole := gemmtest.VariantOf("serial/packed", batcher{counted, &calls, 0})
	lazy := gemmtest.VariantOf("serial/lazy", batcher{counted, new(int), count - 1})
	l := plan.Ladder{Experiment: record.Batches, Variants: []gemm.Variant{v, whole, lazy}, Batches: []int{count}}
	rows := run(t, l, 0)
	for i, how := range []string{eachCall, oneCall} {
		r := rows[i]
		if r.Status != record.OK || r.Batch != count || r.Resolved[batchKey] != how || !strings.Contains(r.Label(), "5 × ") {
			t.Errorf("%s: %s %s, a batch of %d by %v", r.Variant, r.Status, r.Reason, r.Batch, r.Resolved)
		}
		want := 2 * r.Terms() * count / float64(r.Median) / 1e9
		if !(math.Abs(float64(r.Gflops)-want) <= 1e-9*want) {
			t.Errorf("%s: %v GFLOP/s, want %v", r.Variant, r.Gflops, want)
		}
		if r.Turn == "" || r.Turn != rows[0].Turn {
			t.Errorf("%s: the turn is %q, the first is %q", r.Variant, r.Turn, rows[0].Turn)
		}
	}
	if calls == 0 || products%count != 0 && products < count*calls {
		t.Errorf("%d calls for %d products", calls, products)
	}
	if r := rows[2]; r.Status != record.Wrong || r.Speed() || !strings.Contains(r.Reason.Text, "product 4 of 5") {
		t.Errorf("without the last product: %s %s", r.Status, r.Reason)
	}
}

// TestBatchOperations measures a batch in GF(2⁸), and products and batches on variants that have none of them.
func TestBatchOperations(t *testing.T) {
	field := gemmtest.Variant("serial/naive", nil)
	field.GF256 = func(gemm.Params) (gemm.Multiplier[gf256.Elem], error) {
		return gemmtest.Func[gf256.Elem](gemmtest.Textbook[gf256.Elem]), nil
	}
	r := run(t, plan.Ladder{Experiment: record.Batches, Variants: []gemm.Variant{field}, Types: []string{"gf256"},
		Batches: []int{3}}, 0)[0]
	if r.Status != record.OK || r.Bound != 0 || !(r.Rate > 0) {
		t.Errorf("gf256: %s %s", r.Status, r.Reason)
	}
	plain := gemmtest.Variant("serial/ikj", nil)
	for _, test := range []struct {
		v       gemm.Variant
		op      string
		batches []int
		want    string
	}{
		{plain, "tn", nil, "computes C = A·B only"},
		{plain, "tn", []int{3}, "computes C = A·B only"},
		{gemmtest.Variant("cuda/naive", nil), "nn", []int{3}, "computes one product at a time"},
	} {
		r := run(t, plan.Ladder{Experiment: record.Batches, Variants: []gemm.Variant{test.v}, Ops: []string{test.op},
			Batches: test.batches}, 0)[0]
		if r.Status != record.Unavailable || !strings.Contains(r.Reason.Text, test.want) {
			t.Errorf("%s %s: %s %s, want %q", r.Variant, r.Op, r.Status, r.Reason, test.want)
		}
	}
}
