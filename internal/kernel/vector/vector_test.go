package vector

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gemm/gemmtest"
	"gemm/internal/kernel"
)

func TestInstructionSets(t *testing.T) { gemmtest.InstructionSets(t, ".") }

const chunk = 1 << 16 // of a call of assembly

// needFast skips a test if there is no assembly, after a look at the function that does not need it.
func needFast(t *testing.T) {
	if x := []float32{1, 2, 3}; !Fast {
		if Scal(-2, x); !slices.Equal(x, []float32{-2, -4, -6}) {
			t.Errorf("scal: %v", x)
		}
		t.Skip("there is no assembly")
	}
}

// lengths returns lengths for all parts of the loops, and for several chunks.
func lengths() (list []int) {
	for n := range 140 {
		list = append(list, n)
	}
	return append(list, block+1, chunk-1, 2*chunk+70)
}

func abs[T kernel.Float](v T) T { return max(v, -v) }

// guarded returns n small integers, whose sums are exact, between elements that are NaN.
func guarded[T kernel.Float](rng *rand.Rand, n int) (all, x []T) {
	all = make([]T, n+40)
	for i := range all {
		all[i] = T(math.NaN())
	}
	x = all[20:][:n:n]
	for i := range x {
		x[i] = T(rng.IntN(9) - 4)
	}
	return all, x
}

func TestVectors(t *testing.T) {
	needFast(t)
	t.Run("f64", testVectors[float64])
	t.Run("f32", testVectors[float32])
}

func testVectors[T kernel.Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range lengths() {
		allX, x := guarded[T](rng, n)
		allY, y := guarded[T](rng, n)
		if n > block {
			x[n-1] = 9
		}
		oldX, oldY := slices.Clone(x), slices.Clone(y)
		var dot, asum, squares, most T
		at := 0
		for i, v := range x {
			dot, asum, squares = dot+v*y[i], asum+abs(v), squares+v*v
			if abs(v) > most {
				at, most = i, abs(v)
			}
		}
		got, want := []T{Dot(x, y), Asum(x), Nrm2(x)}, []T{dot, asum, T(math.Sqrt(float64(squares)))}
		if n > 0 {
			got, want = append(got, T(Iamax(x))), append(want, T(at))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("n = %d: dot, asum, nrm2, iamax are %v, want %v", n, got, want)
		}
		// after compares x and y with what is computed of their old elements.
		after := func(name string, want func(a, b T) (T, T)) {
			for i, v := range oldX {
				oldX[i], oldY[i] = want(v, oldY[i])
			}
			if !slices.Equal(x, oldX) || !slices.Equal(y, oldY) {
				t.Fatalf("n = %d: %s is wrong", n, name)
			}
		}
		Axpy(3, x, y)
		after("axpy", func(a, b T) (T, T) { return a, b + 3*a })
		Scal(-2, x)
		after("scal", func(a, b T) (T, T) { return -2 * a, b })
		Swap(x, y)
		after("swap", func(a, b T) (T, T) { return b, a })
		Rot(x, y, 2, 3)
		after("rot", func(a, b T) (T, T) { return 2*a + 3*b, 2*b - 3*a })
		for _, all := range [][]T{allX, allY} {
			for i, v := range all {
				if (i < 20 || i >= 20+n) && v == v {
					t.Fatalf("n = %d: element %d outside of the vector is written", n, i-20)
				}
			}
		}
	}
}

// TestPairs compares complex vectors with loops.
func TestPairs(t *testing.T) {
	needFast(t)
	t.Run("f64", testPairs[float64])
	t.Run("f32", testPairs[float32])
}

func testPairs[T kernel.Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range lengths() {
		all, x := guarded[T](rng, n&^1)
		_, y := guarded[T](rng, n&^1)
		var dot [4]T
		want := slices.Clone(y)
		for i := 0; i < len(x); i += 2 {
			for k, v := range []T{x[i] * y[i], x[i+1] * y[i+1], x[i] * y[i+1], x[i+1] * y[i]} {
				dot[k] += v
			}
			want[i], want[i+1] = y[i]+2*x[i]-3*x[i+1], y[i+1]+2*x[i+1]+3*x[i]
		}
		var got [4]T
		if PairDot(x, y, &got); got != dot {
			t.Fatalf("%d numbers: the products are %v, want %v", n/2, got, dot)
		}
		if PairAxpy(2, 3, x, y); !slices.Equal(y, want) {
			t.Fatalf("%d numbers: axpy is wrong", n/2)
		}
		if all[19] == all[19] || all[20+len(x)] == all[20+len(x)] {
			t.Fatalf("%d numbers: elements outside are written", n/2)
		}
	}
}

// TestNorm: the norm is right for numbers near to the ends of the range, at every place.
func TestNorm(t *testing.T) {
	needFast(t)
	testNorm(t, math.SmallestNonzeroFloat64, 0x1p-1022, math.MaxFloat64, 0x1p-50)
	testNorm(t, float32(math.SmallestNonzeroFloat32), 0x1p-126, math.MaxFloat32, 0x1p-21)
}

func testNorm[T kernel.Float](t *testing.T, least, normal, largest, tolerance T) {
	root := T(math.Sqrt(float64(normal)))
	check := func(what string, n int, got, want T) {
		if !(abs(got-want) <= tolerance*want+least) && got != want {
			t.Errorf("%T, %d %s: the norm is %v, want %v", want, n, what, got, want)
		}
	}
	inf, nan := T(math.Inf(1)), T(math.NaN())
	for n := 1; n <= 70; n++ {
		x := make([]T, n)
		for _, v := range []T{0, least, 3 * least, normal, root / 8, root, 8 * root, 1, 1 / root / 8, 1 / root, 8 / root,
			largest / 16, largest} {
			for i := range x {
				x[i] = -v
			}
			check(fmt.Sprint("times ", v), n, Nrm2(x), T(math.Sqrt(float64(n))*float64(v)))
		}
		for i := range x {
			clear(x)
			for _, v := range []T{least, normal, largest, inf} {
				x[i] = v
				check(fmt.Sprint("elements with ", v), n, Nrm2(x), v)
				x[(i+7)%n] = v / 4
				x[i] = v
				if n > 7 && v > normal && v < inf {
					check(fmt.Sprint("elements with two of ", v), n, Nrm2(x), v/4*T(math.Sqrt(17)))
				}
				x[(i+7)%n] = 0
			}
			x[n/2], x[i] = inf, nan
			if got := Nrm2(x); got == got {
				t.Errorf("%T, %d elements with NaN at %d: the norm is %v", got, n, i, got)
			}
			x[i] = -inf
			check("elements with -Inf", n, Nrm2(x), inf)
		}
	}
}

// TestIamaxOfNaN: NaN is not the largest element, but the index is 0 if it is the first one; of equal ones, the first.
func TestIamaxOfNaN(t *testing.T) {
	needFast(t)
	for n := 1; n <= 70; n++ {
		for i := range n {
			x := make([]float64, n)
			for k := range x {
				x[k] = math.NaN()
			}
			x[i], x[n-1] = -2, 2
			want := i
			if x[0] != x[0] {
				want = 0
			}
			if got := Iamax(x); got != want {
				t.Errorf("n = %d: the index is %d, want %d", n, got, want)
			}
			x[0], x[i] = 0, math.Inf(-1)
			if got := Iamax(x); got != i {
				t.Errorf("n = %d: the index of -Inf is %d, want %d", n, got, i)
			}
		}
	}
}
