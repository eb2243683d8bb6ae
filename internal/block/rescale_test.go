package block

import (
	"context"
	"math"
	"testing"

	"gemm/gemmtest"
	"gemm/internal/kernel"
)

// TestRescale multiplies matrices of equal elements whose product with α is in the range,
// although A·B or α·A is not.
func TestRescale(t *testing.T) {
	t.Run("f64", func(t *testing.T) {
		for _, x := range [][4]float64{ // α, A, B and α·A·B
			{1e300, 1e-200, 1e-200, 1e-100}, {1e-300, 1e200, 1e200, 1e100}, {1e200, 1e200, 1e-300, 1e100},
			{1e200, 1e-300, 1e200, 1e100}, {-1e-200, 1e300, 1e-300, -1e-200}, {1e308, 1e-300, 1e-300, 1e-292},
			{1e-308, 1e308, 1e300, 1e300}, {1e300, 1e200, 1e200, math.Inf(1)}, {1e-300, 1e-200, 1e200, 1e-300},
			{1e30, 5e-324, 1e300, 4.94065645841246544e6}, {5e-324, 1e300, 1e300, 4.94065645841246544e276},
		} {
			testRescale(t, x)
		}
	})
	t.Run("f32", func(t *testing.T) {
		for _, x := range [][4]float32{
			{1e30, 1e-25, 1e-25, 1e-20}, {1e-30, 1e25, 1e25, 1e20}, {1e30, 1e30, 1e-35, 1e25}, {-1e38, 1e-38, 1e-38, -1e-38},
		} {
			testRescale(t, x)
		}
	})
}

func testRescale[T kernel.Float](t *testing.T, x [4]T) {
	const m, n, k = 3, 5, 4
	filled := func(size int, x T) []T {
		data := make([]T, size)
		for i := range data {
			data[i] = x
		}
		return data
	}
	a, b, c := filled(m*k, x[1]), filled(k*n, x[2]), filled(m*n, 1)
	e := Host[T](Serial)
	for _, views := range [][2]View[T]{{{a, k, 1}, {b, n, 1}}, {{a, 1, m}, {b, 1, k}}} {
		gemmtest.Must(t, e.Gemm(context.Background(), m, n, k, x[0], views[0], views[1], 0, View[T]{c, n, 1}))
		for _, got := range c {
			if want := k * x[3]; got != want && !(math.Abs(float64(got/want)-1) < 1e-5) {
				t.Errorf("%g·%g·%g, %d terms: %g, want %g", x[0], x[1], x[2], k, got, want)
				break
			}
		}
	}
	for i, x := range [][]T{filled(m*k, x[1]), filled(k*n, x[2])} {
		for j := range x {
			if [][]T{a, b}[i][j] != x[j] {
				t.Fatal("an operand was changed")
			}
		}
	}
}
