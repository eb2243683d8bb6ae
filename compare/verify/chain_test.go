package verify

import (
	"fmt"
	"math"
	"testing"

	"gemm"
	"gemm/gf256"
	"gemm/roundoff"
)

// chainOf computes the chain as its definition says, with sums in the type of the elements.
func chainOf[T gemm.Element](c Chain[T]) gemm.Matrix[T] {
	n, plus, one := c.A.Rows, plusProduct[T](), gemm.FromFloat64[T](1)
	if p, ok := any(&one).(*gf256.Elem); ok {
		*p = gf256.New(1)
	}
	a, sum := c.A, clone(c.S)
	for range c.N {
		next := gemm.NewMatrix[T](n, n)
		for i := range n {
			for j := range n {
				sum.Set(i, j, plus(sum.At(i, j), one, c.B.At(i, j)))
			}
		}
		multiplyRows(next, a, sum, n)
		a = next
	}
	return a
}

// plusProduct returns the function z + x·y of a type.
func plusProduct[T gemm.Element]() func(z, x, y T) T {
	var zero T
	var f any
	switch any(zero).(type) {
	case float32:
		f = func(z, x, y float32) float32 { return z + x*y }
	case float64:
		f = func(z, x, y float64) float64 { return z + x*y }
	case gf256.Elem:
		f = func(z, x, y gf256.Elem) gf256.Elem { return gf256.Add(z, gf256.Mul(x, y)) }
	}
	return f.(func(z, x, y T) T)
}

// TestChain checks right and wrong results of small chains and of some that are compared by probes.
func TestChain(t *testing.T) {
	for _, c := range []struct{ n, steps int }{{1, 1}, {2, 7}, {5, 100}, {17, 3}, {171, 4}} {
		t.Run(fmt.Sprintf("f64 %d %d", c.n, c.steps), func(t *testing.T) { chainCase[float64](t, c.n, c.steps) })
		t.Run(fmt.Sprintf("f32 %d %d", c.n, c.steps), func(t *testing.T) { chainCase[float32](t, c.n, c.steps) })
		t.Run(fmt.Sprintf("gf256 %d %d", c.n, c.steps), func(t *testing.T) { chainCase[gf256.Elem](t, c.n, c.steps) })
	}
}

func chainCase[T gemm.Element](t *testing.T, n, steps int) {
	of := DrawChain[T](n, n+3, steps, 5)
	v := NewChain(of, 7)
	kinds := map[gemm.BoundKind]float64{
		gemm.Componentwise: roundoff.Gamma(float64(n), gemm.TypeOf[T]().UnitRoundoff),
		gemm.Normwise:      float64(n) * roundoff.Gamma(float64(n), gemm.TypeOf[T]().UnitRoundoff),
	}
	right, less, idle := chainOf(of), of, of
	less.N--
	idle.B = gemm.NewMatrix[T](n, n)
	early, unadded := chainOf(less), chainOf(idle)
	for kind, bound := range kinds {
		limit := v.Limit(Limit{kind, bound})
		if got := v.Check(right, limit); !got.OK() || got.Vacuous || got.Weak {
			t.Errorf("%s: %+v, want ok", kind, got)
		}
		wrong := func(what string, c gemm.Matrix[T]) {
			t.Helper()
			if got := v.Check(c, limit); got.OK() || got.Reason == "" {
				t.Errorf("%s: %s passes: %+v", kind, what, got)
			}
		}
		for _, at := range [][2]int{{0, 0}, {n - 1, n - 1}, {n / 2, n / 3}} {
			lost := clone(right)
			var zero T
			lost.Set(at[0], at[1], zero)
			wrong("a lost element", lost)
			if nan, ok := any(lost.Row(at[0])).([]float64); ok {
				nan[at[1]] = math.NaN()
				wrong("a NaN", lost)
				nan[at[1]] = math.Inf(1)
				wrong("an infinity", lost)
			}
		}
		wrong("zeros", gemm.NewMatrix[T](n, n))
		wrong("a chain without the last step", early)
		wrong("a chain without additions", unadded)
	}
}

func clone[T gemm.Element](m gemm.Matrix[T]) gemm.Matrix[T] {
	out := gemm.NewMatrix[T](m.Rows, m.Cols)
	restore(out, m)
	return out
}

// TestChainNumbers checks what DrawChain promises of its operands: all additions are exact, and the results stay close
// to A however long the chain is.
func TestChainNumbers(t *testing.T) {
	for _, c := range []struct{ n, steps int }{{1, MostSteps}, {3, MostSteps}, {16, 1}, {16, MostSteps}, {40, 100},
		{129, 8}} {
		of := DrawChain[float32](c.n, c.n, c.steps, 9)
		sum := clone(of.S)
		for i := 1; i <= c.steps; i++ {
			for j := range sum.Data {
				sum.Data[j] += of.B.Data[j]
				if want := float64(of.S.Data[j]) + float64(i)*float64(of.B.Data[j]); float64(sum.Data[j]) != want {
					t.Fatalf("n = %d, step %d of %d: %v, want %v", c.n, i, c.steps, sum.Data[j], want)
				}
			}
		}
		for _, x := range chainOf(of).Data {
			if size := math.Abs(float64(x)); !(size > 0.1 && size < 10) {
				t.Fatalf("n = %d, %d steps: an element of the result is %v", c.n, c.steps, x)
			}
		}
	}
}

// TestIntegerChain checks that the result of a chain of integers is the product that IntegerChain returns.
func TestIntegerChain(t *testing.T) {
	for _, c := range []struct{ n, steps int }{{1, 3}, {2, 1}, {9, 4}, {40, 100}} {
		of, product := IntegerChain[float64](c.n, c.n+1, c.steps, 3, 8)
		got := New(product, 1).Check(chainOf(of), Limit{Kind: gemm.Componentwise})
		if !got.OK() {
			t.Errorf("n = %d, %d steps: %+v", c.n, c.steps, got)
		}
		less := of
		less.N++
		if got := New(product, 1).Check(chainOf(less), Limit{Kind: gemm.Componentwise}); c.n > 1 && got.OK() {
			t.Errorf("n = %d, %d steps: one more step passes", c.n, c.steps)
		}
	}
}
