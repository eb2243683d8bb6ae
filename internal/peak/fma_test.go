package peak

import (
	"slices"
	"testing"
)

// testFMA compares a loop with the Go code that it equals, bit by bit, and checks the words next to the accumulators.
func testFMA[T float32 | float64](t *testing.T, a, b, from T, size int, fma func(a, b, c T) T,
	run func(n int, a, b T, x []T)) {
	t.Helper()
	for _, n := range []int{1, 2, 1000} {
		x, want := make([]T, size+2), make([]T, size+2)
		for i := range x {
			x[i] = T(i) + from
			want[i] = x[i]
			for range n {
				if 0 < i && i <= size {
					want[i] = fma(a, b, want[i])
				}
			}
		}
		run(n, a, b, x[1:1+size])
		if !slices.Equal(x, want) {
			t.Errorf("%T, n=%d: %v, want %v", a, n, x, want)
		}
	}
}
