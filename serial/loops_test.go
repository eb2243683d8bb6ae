package serial

import (
	"math"
	"slices"
	"testing"

	"gemm"
	"gemm/gemmtest"
	"gemm/gf256"
)

// orders returns the choices of the parameter order.
func orders(t *testing.T) []string {
	choices := find(t, "serial/loops").Params[0].Choices
	if len(choices) != 6 {
		t.Fatalf("the orders are %v, want six", choices)
	}
	return choices
}

// TestLoops runs the suite with every order.
func TestLoops(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long, and has no kernels")
	}
	for _, order := range orders(t) {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			gemmtest.Run(t, find(t, "serial/loops"), gemm.Params{"order": order})
		})
	}
}

// TestOrders checks that the nests add their terms in the order of their names. A is C, so that the result depends on
// it.
func TestOrders(t *testing.T) {
	for _, order := range orders(t) {
		checkOrder(t, order, nested[float64](order), func(c, a, b float64) float64 { return c + a*b },
			func(n int) float64 { return float64(n) })
		checkOrder(t, order, nestedField(order),
			func(c, a, b gf256.Elem) gf256.Elem { return gf256.Add(c, gf256.Mul(a, b)) },
			func(n int) gf256.Elem { return gf256.New(uint8(n)) })
	}
}

func checkOrder[T gemm.Element](t *testing.T, order string, nest loop[T], add func(c, a, b T) T, number func(int) T) {
	t.Helper()
	const n = 3
	got, want, b := gemm.NewMatrix[T](n, n), gemm.NewMatrix[T](n, n), gemm.NewMatrix[T](n, n)
	for i := range b.Data {
		got.Data[i], want.Data[i], b.Data[i] = number(i+1), number(i+1), number(3*i+1)
	}
	for x := range n * n * n {
		index := map[byte]int{order[0]: x / (n * n), order[1]: x / n % n, order[2]: x % n}
		i, j, l := index['i'], index['j'], index['k']
		want.Set(i, j, add(want.At(i, j), want.At(i, l), b.At(l, j)))
	}
	nest(got, got, b)
	if !slices.Equal(got.Data, want.Data) {
		t.Errorf("%s: the result is %v, want %v", order, got.Data, want.Data)
	}
}

// TestNest compares the model of the traffic with a simulated cache.
func TestNest(t *testing.T) {
	const line = 4
	for _, order := range orders(t) {
		for _, shape := range []gemm.Shape{{M: 24, N: 24, K: 24}, {M: 12, N: 28, K: 20}} {
			for _, cache := range []int{40, 300, 1000} {
				p := gemm.Params{"order": order}
				got := find(t, "serial/loops").Model(shape, p).Traffic(float64(cache), line)
				want := simulated(order, shape, cache, line)
				if !(math.Abs(got/want-1) <= 0.1) {
					t.Errorf("%s %v, cache of %d: %v elements in the model, %v in the simulation", order, shape,
						cache, got, want)
				}
			}
		}
	}
}

// simulated returns the elements that move between memory and a cache that replaces the line used least
// recently, from the first term to the last. Lines of C are written back.
func simulated(order string, s gemm.Shape, cache, line int) float64 {
	type address struct{ operand, row, line int }
	var held []address // the line used last is last
	moved := 0
	touch := func(at address, times int) {
		if i := slices.Index(held, at); i >= 0 {
			held = slices.Delete(held, i, i+1)
		} else {
			moved += times * line
			if len(held) == cache/line {
				held = held[1:]
			}
		}
		held = append(held, at)
	}
	length := func(loop int) int { return extent(order[loop], s.M, s.N, s.K) }
	for x := range length(0) {
		for y := range length(1) {
			for z := range length(2) {
				index := map[byte]int{order[0]: x, order[1]: y, order[2]: z}
				touch(address{0, index['i'], index['k'] / line}, 1)
				touch(address{1, index['k'], index['j'] / line}, 1)
				touch(address{2, index['i'], index['j'] / line}, 2)
			}
		}
	}
	return float64(moved)
}
