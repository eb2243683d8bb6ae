package verify

import (
	"math"
	"strings"
	"testing"

	"gemm"
)

// TestBatch checks that every product of a batch is compared: a fault in the first, a middle and the last one is found,
// and no fault in right products.
func TestBatch(t *testing.T) {
	const count = 40
	for _, op := range []string{"nn", "tt"} {
		l := layout(3, 5, 4, op, 2, -1, 2)
		b, q := DrawBatch[float64](l, count, 9), DrawIntegerBatch[float64](l, count, 9, 4)
		limit := Limit{gemm.Componentwise, 1e-14}
		for _, x := range []Batch[float64]{b, q} {
			x.Poison()
			if v := x.Check(limit); v.OK() || !strings.Contains(v.Reason, "product 0 of 40") {
				t.Errorf("%s: poison: %+v", op, v)
			}
			for i := range count {
				o := x.Nth(i)
				multiply(o)
			}
			if v := x.Check(limit); !v.OK() || !x.Assures(limit) {
				t.Fatalf("%s: %+v", op, v)
			}
			for _, at := range []int{0, count / 2, count - 1} {
				c := x.C.Nth(at)
				was := c.At(2, 1)
				for _, bad := range []float64{math.NaN(), math.Inf(1), was + 1e-3} {
					c.Set(2, 1, bad)
					if v := x.Check(limit); v.OK() || !strings.Contains(v.Reason, "of 40: ") {
						t.Errorf("%s: %v in product %d: %+v", op, bad, at, v)
					}
				}
				c.Set(2, 1, was)
			}
		}
		if first, last := b.A.Nth(0).At(0, 0), b.A.Nth(count-1).At(0, 0); math.Abs(first) == math.Abs(last) {
			t.Errorf("the operands of all products are the same")
		}
		b.Restore()
		if got, want := b.C.Nth(7).At(1, 1), b.C0.Nth(7).At(1, 1); got != want {
			t.Errorf("C is %v, was %v", got, want)
		}
	}
}

// multiply computes an operation by the definition.
func multiply(o Operands[float64]) {
	at := func(m gemm.Matrix[float64], transposed bool, i, j int) float64 {
		if transposed {
			i, j = j, i
		}
		return m.At(i, j)
	}
	k := o.A.Cols
	if o.TransA != 'N' {
		k = o.A.Rows
	}
	for i := range o.C.Rows {
		for j := range o.C.Cols {
			sum := 0.0
			for p := range k {
				sum += at(o.A, o.TransA != 'N', i, p) * at(o.B, o.TransB != 'N', p, j)
			}
			sum *= o.Alpha
			if o.Beta != 0 {
				sum += o.Beta * o.C0.At(i, j)
			}
			o.C.Set(i, j, sum)
		}
	}
}
