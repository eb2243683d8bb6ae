package peak

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gemm/gemmtest"
	"gemm/gf256"
	"gemm/internal/cpu"
)

// require ends a test if the processor lacks an instruction set.
func require(t *testing.T, isas ...cpu.ISA) {
	t.Helper()
	for _, isa := range isas {
		var missing error
		if has := cpu.Supported(); !slices.Contains(has, isa) {
			missing = fmt.Errorf("this processor has no %s, only %v", isa, has)
		}
		gemmtest.Require(t, string(isa), missing)
	}
}

// TestAssembly compares the loops with the Go code that they equal, bit by bit, and checks the words next to the
// accumulators. In float32, for which Go has no fused multiply-add, all sums are exact.
func TestAssembly(t *testing.T) {
	fma32 := func(a, b, c float32) float32 { return a*b + c }
	t.Run("avx512", func(t *testing.T) {
		require(t, cpu.AVX512)
		testFMA(t, 1.0/3, -5.0/7, 0.1, 128, math.FMA, func(n int, a, b float64, x []float64) {
			fmaF64AVX512(n, a, b, (*[128]float64)(x))
		})
		testFMA(t, 3, -0.5, 0, 256, fma32, func(n int, a, b float32, x []float32) {
			fmaF32AVX512(n, a, b, (*[256]float32)(x))
		})
	})
	t.Run("avx2", func(t *testing.T) {
		require(t, cpu.AVX2NoGFNI)
		testFMA(t, 1.0/3, -5.0/7, 0.1, 48, math.FMA, func(n int, a, b float64, x []float64) {
			fmaF64AVX2(n, a, b, (*[48]float64)(x))
		})
		testFMA(t, 3, -0.5, 0, 96, fma32, func(n int, a, b float32, x []float32) {
			fmaF32AVX2(n, a, b, (*[96]float32)(x))
		})
	})
}

// TestField compares the loops of GF(2⁸) with multiplication in the field.
func TestField(t *testing.T) {
	low, high := nibbles()
	two := gf256.New(2)
	twice := func(b gf256.Elem) gf256.Elem { return gf256.Mul(two, b) }
	both := func(b gf256.Elem) gf256.Elem { return gf256.Add(twice(b), gf256.Div(b, two)) }
	for _, test := range []struct {
		name string
		need []cpu.ISA
		size int
		term func(b gf256.Elem) gf256.Elem // what is added in a round
		run  func(n int, b uint8, x []uint8)
	}{
		{"avx512", []cpu.ISA{cpu.AVX512, cpu.AVX2}, 1024, both,
			func(n int, b uint8, x []uint8) { affineAVX512(n, double, half, b, (*[1024]uint8)(x)) }},
		{"avx2", []cpu.ISA{cpu.AVX2}, 256, both,
			func(n int, b uint8, x []uint8) { affineAVX2(n, double, half, b, (*[256]uint8)(x)) }},
		{"avx2-nogfni", []cpu.ISA{cpu.AVX2NoGFNI}, 256, twice,
			func(n int, b uint8, x []uint8) { lookUpAVX2(n, &low, &high, b, (*[256]uint8)(x)) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			require(t, test.need...)
			for _, n := range []int{1, 2, 1001} {
				for _, b := range []uint8{0, 1, 3, 0x80, 0xff} {
					x := make([]uint8, test.size+2)
					want := make([]uint8, len(x))
					for i := range x {
						x[i] = uint8(i)
						want[i] = x[i]
						if 0 < i && i <= test.size && n%2 == 1 { // an even number of equal terms is 0
							want[i] ^= test.term(gf256.New(b)).Byte()
						}
					}
					test.run(n, b, x[1:1+test.size])
					if !slices.Equal(x, want) {
						t.Errorf("n=%d, b=%d: %v, want %v", n, b, x, want)
					}
				}
			}
		})
	}
}
