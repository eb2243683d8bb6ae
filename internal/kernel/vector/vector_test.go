package vector

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gemm/gemmtest"
)

func TestInstructionSets(t *testing.T) { gemmtest.InstructionSets(t, ".") }

// Sums and updates are tested by package blas, which compares them with gonum's. needFast skips a test if there is no
// assembly, after a look at the function that does not need it.
func needFast(t *testing.T) {
	if x := []float32{1, 2, 3}; !Fast {
		if Scal(-2, x); !slices.Equal(x, []float32{-2, -4, -6}) {
			t.Errorf("scal: %v", x)
		}
		t.Skip("there is no assembly")
	}
}

func abs[T Float](v T) T { return max(v, -v) }

// TestNorm: the norm is right for numbers near to the ends of the range, at every place.
func TestNorm(t *testing.T) {
	needFast(t)
	testNorm(t, math.SmallestNonzeroFloat64, 0x1p-1022, math.MaxFloat64, 0x1p-50)
	testNorm(t, float32(math.SmallestNonzeroFloat32), 0x1p-126, math.MaxFloat32, 0x1p-21)
}

func testNorm[T Float](t *testing.T, least, normal, largest, tolerance T) {
	root := T(math.Sqrt(float64(normal)))
	check := func(what string, n int, got, want T) {
		if !(abs(got-want) <= tolerance*want+least) && got != want {
			t.Errorf("%T, %d %s: the norm is %v, want %v", want, n, what, got, want)
		}
	}
	inf, nan := T(math.Inf(1)), T(math.NaN())
	for n := 1; n <= 70; n++ {
		x := make([]T, n)
		for _, v := range []T{0, least, 3 * least, normal, root / 8, root, 8 * root, 1, 1 / root / 8, 1 / root,
			8 / root,
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
