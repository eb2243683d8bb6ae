package half_test

import (
	"fmt"

	"gemm/half"
)

// Numbers are rounded to the nearest one of 11 or 8 significant bits.
func Example() {
	fmt.Println(half.From[half.F16](1.0/3), half.From[half.BF16](1.0/3), half.From[half.F16](1e5))

	halves := make([]half.F16, 3)
	half.Narrow(halves, []float32{1, 2.5, 1.0 / 3})
	floats := make([]float32, 3)
	half.Widen(floats, halves)
	fmt.Println(floats)
	// Output:
	// 0.3333 0.334 +Inf
	// [1 2.5 0.33325195]
}
