package peak

import (
	"math"
	"slices"
	"testing"

	"gemm/gf256"
)

// TestAssembly compares the loops with the Go code that they equal. In float32 all sums are exact.
func TestAssembly(t *testing.T) {
	testFMA(t, 1.0/3, -5.0/7, 0.1, 48, math.FMA, func(n int, a, b float64, x []float64) {
		fmaF64NEON(n, a, b, (*[48]float64)(x))
	})
	fma32 := func(a, b, c float32) float32 { return a*b + c }
	testFMA(t, 3, -0.5, 0, 96, fma32, func(n int, a, b float32, x []float32) { fmaF32NEON(n, a, b, (*[96]float32)(x)) })
	low, high := nibbles()
	for b := range 256 {
		x, want := make([]uint8, 258), make([]uint8, 258)
		for i := range x {
			x[i], want[i] = uint8(i), uint8(i)
			if 0 < i && i <= 256 {
				want[i] ^= gf256.Mul(gf256.New(2), gf256.New(uint8(b))).Byte()
			}
		}
		if lookUpNEON(3, &low, &high, uint8(b), (*[256]uint8)(x[1:])); !slices.Equal(x, want) {
			t.Errorf("b=%d: %v, want %v", b, x, want)
		}
	}
}
