package verify

import (
	"fmt"
	"math"
	"testing"

	"gemm"
	"gemm/half"
)

// summed writes the operation as half precision has it to o.C: sums in float32, α and β, one rounding. The rows of A
// from count on are those before them.
func summed[T half.Float](o Operands[T], count int) {
	a, b := widened(o.A, o.TransA), widened(o.B, o.TransB)
	for i := range o.C.Rows {
		if i >= count {
			copy(o.C.Row(i), o.C.Row(i%count))
			continue
		}
		sums := make([]float32, o.C.Cols)
		for l, x := range a.Row(i) {
			for j, y := range b.Row(l) {
				sums[j] += float32(x) * float32(y)
			}
		}
		for j, sum := range sums {
			x := float32(o.Alpha) * sum
			if o.Beta != 0 {
				x += float32(o.Beta) * float32(gemm.ToFloat64(o.C0.At(i, j)))
			}
			o.C.Set(i, j, gemm.FromFloat64[T](float64(x)))
		}
	}
}

// classicalOf returns the limit of a classical product in T.
func classicalOf[T gemm.Number](s gemm.Shape, alpha, beta float64) Limit {
	return LimitOf[T](gemm.Variant{Bound: gemm.Classical}, s, nil, alpha, beta, true)
}

func TestPlantedFaultsHalf(t *testing.T) {
	for _, n := range []int{33, 600} { // the second has probes
		t.Run(fmt.Sprint("f16/", n), func(t *testing.T) { plantHalf[half.F16](t, n) })
		t.Run(fmt.Sprint("bf16/", n), func(t *testing.T) { plantHalf[half.BF16](t, n) })
	}
}

func plantHalf[T half.Float](t *testing.T, n int) {
	v := gemm.Variant{Bound: gemm.Classical}
	q := ExactIntegers[T](v, gemm.Cube(n), nil, 1, 0)
	if q == 0 {
		t.Fatalf("no integers are exact for n = %d", n)
	}
	c := layout(n, n, n, "nn", 1, 0, 0)
	for name, test := range map[string]struct {
		o     Operands[T]
		limit Limit
	}{
		"random":   {Draw[T](c, 7, nil), classicalOf[T](gemm.Cube(n), 1, 0)},
		"integers": {DrawIntegers[T](c, 7, q), Limit{Kind: gemm.Componentwise}},
	} {
		t.Run(name, func(t *testing.T) {
			o := test.o
			for i := distinct; i < n; i++ {
				copy(o.A.Row(i), o.A.Row(i%distinct))
			}
			summed(o, distinct)
			other := gemm.ToFloat64(o.C.At(n/3, n/2+1))
			other += math.Copysign(math.Max(20, math.Abs(other)/4), other) // integers are small, by cancellation
			nan := gemm.FromFloat64[T](math.NaN())
			testFaults(t, New(o.Operation, 1), o.C, test.limit, gemm.FromFloat64[T](other), nan)
		})
	}
}

// TestHalfOperation checks transposes, α and β. No neighbour of the rounded sum of integers passes, and no number
// farther than that from another sum.
func TestHalfOperation(t *testing.T) {
	halfOperation[half.F16](t)
	halfOperation[half.BF16](t)
}

func halfOperation[T half.Float](t *testing.T) {
	const m, n, k = 37, 29, 141
	next := func(x T) T { return half.FromBits[T](x.Bits() + 1) }
	for _, op := range []string{"nn", "nt", "tn", "tt"} {
		for _, scalars := range [][2]float64{{1, 0}, {-0.75, 0}, {1, 1}, {2.5, -0.5}, {0, 3}} {
			c := layout(m, n, k, op, scalars[0], scalars[1], 3)
			at := fmt.Sprintf("%s %s α=%g β=%g", gemm.TypeOf[T]().Name, op, c.Alpha, c.Beta)
			for name, o := range map[string]Operands[T]{
				"random": Draw[T](c, 5, nil), "integers": DrawIntegers[T](c, 5, 2),
			} {
				limit := classicalOf[T](c.Shape, c.Alpha, c.Beta)
				if name == "integers" {
					limit = Limit{Kind: gemm.Componentwise}
				}
				summed(o, m)
				v := New(o.Operation, 1)
				if got := v.Check(o.C, limit); !got.OK() {
					t.Errorf("%s, %s: %+v, want ok", at, name, got)
				}
				x := o.C.At(3, 4)
				o.C.Set(3, 4, next(x))
				if name == "random" {
					o.C.Set(3, 4, next(next(x)))
				}
				if got := v.Check(o.C, limit); got.OK() {
					t.Errorf("%s, %s: %v in place of %v passes: %+v", at, name, o.C.At(3, 4), x, got)
				}
			}
		}
	}
}

// TestRoundedIntegers has sums of 2049 in f16, which are rounded to 2048, in a product so large that it is probed.
func TestRoundedIntegers(t *testing.T) {
	const n = 3000
	o := DrawIntegers[half.F16](layout(n, n, 2, "nn", 1, 0, 0), 7, 0)
	for i := range n {
		o.A.Set(i, 0, half.From[half.F16](683))
	}
	for j := range n {
		o.B.Set(0, j, half.From[half.F16](3))
	}
	summed(o, 1)
	if got := o.C.At(n-1, n-1).Float32(); got != 2048 {
		t.Fatalf("the sum of 2049 is %v", got)
	}
	if got := New(o.Operation, 1).Check(o.C, Limit{Kind: gemm.Componentwise}); !got.OK() {
		t.Errorf("%+v, want ok", got)
	}
}

// TestSeveralRoundings rounds a sum after each term.
func TestSeveralRoundings(t *testing.T) {
	severalRoundings[half.F16](t)
	severalRoundings[half.BF16](t)
}

func severalRoundings[T half.Float](t *testing.T) {
	const n = 65
	o := Draw[T](layout(n, n, n, "nn", 1, 0, 0), 7, nil)
	for i := range n {
		for j := range n {
			var sum T
			for l := range n {
				x, y := gemm.ToFloat64(o.A.At(i, l)), gemm.ToFloat64(o.B.At(l, j))
				sum = gemm.FromFloat64[T](gemm.ToFloat64(sum) + x*y)
			}
			o.C.Set(i, j, sum)
		}
	}
	if got := New(o.Operation, 1).Check(o.C, classicalOf[T](gemm.Cube(n), 1, 0)); got.OK() {
		t.Errorf("%s: %+v, want wrong", gemm.TypeOf[T]().Name, got)
	}
}

// TestHalfOverflow has elements just in and beyond the range of f16: infinity passes for the second alone.
func TestHalfOverflow(t *testing.T) {
	f := half.From[half.F16]
	a, b := row(f(256), f(1)), gemm.NewMatrix[half.F16](2, 3)
	copy(b.Data, []half.F16{f(255), f(257), f(-257), f(100), f(0), f(0)})
	v := New(product(a, b), 1)
	limit := classicalOf[half.F16](gemm.Shape{M: 1, N: 3, K: 2}, 1, 0)
	for _, test := range []struct {
		c  [3]float32
		ok bool
	}{
		{[3]float32{65380, 65792, -65792}, true}, // 65380 is rounded to a multiple of 32, the others to ±Inf
		{[3]float32{65380, 65504, -65792}, false},
		{[3]float32{65380, 65792, 65792}, false},
		{[3]float32{65792, 65792, -65792}, false},
		{[3]float32{65380, float32(math.NaN()), -65792}, false},
	} {
		c := row(f(test.c[0]), f(test.c[1]), f(test.c[2]))
		if got := v.Check(c, limit); got.OK() != test.ok {
			t.Errorf("%v: %+v, want ok: %v", c.Data, got, test.ok)
		}
	}
}
