package compare

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/compare/batch"
	"gemm/gf256"
)

// batcher computes batches by one call, and leaves out the products from most on if that is above 0.
type batcher struct {
	multiplier[float64]
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
	counted := multiplier[float64](func(ctx context.Context, c, a, b gemm.Matrix[float64]) error {
		products++
		return product(ctx, c, a, b)
	})
	v := variant("serial/ikj", counted)
	whole := variant("serial/packed", counted)
	whole.F64 = func(gemm.Params) (gemm.Multiplier[float64], error) { return batcher{counted, &calls, 0}, nil }
	lazy := variant("serial/lazy", nil)
	lazy.F64 = func(gemm.Params) (gemm.Multiplier[float64], error) { return batcher{counted, new(int), count - 1}, nil }
	l := Ladder{Experiment: Batches, Variants: []gemm.Variant{v, whole, lazy}, Batches: []int{count}}
	rows := run(t, &Store{}, l, 0)
	for i, how := range []string{batch.EachCall, batch.OneCall} {
		r := rows[i]
		if r.Status != OK || r.Batch != count || r.Resolved[batch.Key] != how || !strings.Contains(r.Label(), "5 × ") {
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
	if r := rows[2]; r.Status != Wrong || r.Speed() || !strings.Contains(r.Reason.Text, "product 4 of 5") {
		t.Errorf("without the last product: %s %s", r.Status, r.Reason)
	}
}

// TestBatchOperations measures batches of other operations, in GF(2⁸) too, and on variants that have none.
func TestBatchOperations(t *testing.T) {
	field := variant("serial/naive", nil)
	field.GF256 = func(gemm.Params) (gemm.Multiplier[gf256.Elem], error) {
		return multiplier[gf256.Elem](product[gf256.Elem]), nil
	}
	r := run(t, &Store{}, Ladder{Experiment: Batches, Variants: []gemm.Variant{field}, Types: []string{"gf256"},
		Batches: []int{3}}, 0)[0]
	if r.Status != OK || r.Bound != 0 || !(r.Rate > 0) {
		t.Errorf("gf256: %s %s", r.Status, r.Reason)
	}
	away := variant("cuda/naive", product[float64])
	away.Location = gemm.OnGPU
	for _, test := range []struct {
		v    gemm.Variant
		op   string
		want string
	}{
		{variant("serial/ikj", product[float64]), "tn", "computes C = A·B only"},
		{away, "nn", "computes one product at a time"},
	} {
		r := run(t, &Store{}, Ladder{Experiment: Batches, Variants: []gemm.Variant{test.v}, Ops: []string{test.op},
			Batches: []int{3}}, 0)[0]
		if r.Status != Unavailable || !strings.Contains(r.Reason.Text, test.want) {
			t.Errorf("%s %s: %s %s, want %q", r.Variant, r.Op, r.Status, r.Reason, test.want)
		}
	}
	c := Request{Variant: variant("serial/ikj", nil), Type: "f64", Shape: gemm.Cube(2), Alpha: 1, Batch: 2,
		Params: gemm.Params{"chain": 2}}.Case()
	if !errors.Is(c.Err(), gemm.ErrParam) {
		t.Errorf("a batch of iterated products: %v", c.Err())
	}
	one := Request{Variant: variant("serial/ikj", nil), Type: "f64", Shape: gemm.Cube(2), Alpha: 1}
	many := one
	many.Batch = 7
	a, b := one.Case(), many.Case()
	if b.Bytes() != 7*a.Bytes() || b.flops() != 7*a.flops() || b.identity() == a.identity() {
		t.Errorf("7 products: %v bytes and %v operations, one %v and %v", b.Bytes(), b.flops(), a.Bytes(), a.flops())
	}
}
