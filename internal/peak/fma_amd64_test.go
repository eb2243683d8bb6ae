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

// TestAssembly compares the loops with the Go code that they equal, bit by bit,
// and looks at the words round the accumulators.
func TestAssembly(t *testing.T) {
	require := func(t *testing.T, isa cpu.ISA) {
		t.Helper()
		var missing error
		if has := cpu.Supported(); !slices.Contains(has, isa) {
			missing = fmt.Errorf("this processor has no %s, only %v", isa, has)
		}
		gemmtest.Require(t, string(isa), missing)
	}
	t.Run("avx512", func(t *testing.T) {
		require(t, cpu.AVX512)
		var x struct {
			before float64
			sums   [128]float64
			after  float64
		}
		testF64(t, &x.before, x.sums[:], &x.after, func(n int, a, b float64) { fmaF64AVX512(n, a, b, &x.sums) })
		var y struct {
			before float32
			sums   [256]float32
			after  float32
		}
		testF32(t, &y.before, y.sums[:], &y.after, func(n int, a, b float32) { fmaF32AVX512(n, a, b, &y.sums) })
	})
	t.Run("avx2", func(t *testing.T) {
		require(t, cpu.AVX2NoGFNI)
		var x struct {
			before float64
			sums   [48]float64
			after  float64
		}
		testF64(t, &x.before, x.sums[:], &x.after, func(n int, a, b float64) { fmaF64AVX2(n, a, b, &x.sums) })
		var y struct {
			before float32
			sums   [96]float32
			after  float32
		}
		testF32(t, &y.before, y.sums[:], &y.after, func(n int, a, b float32) { fmaF32AVX2(n, a, b, &y.sums) })
	})
}

// TestField compares the loops of GF(2⁸) with multiplication in the field.
func TestField(t *testing.T) {
	var low, high [16]uint8
	for i := range uint8(16) {
		low[i], high[i] = doubles[i], doubles[i<<4]
	}
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
			for _, isa := range test.need {
				var missing error
				if has := cpu.Supported(); !slices.Contains(has, isa) {
					missing = fmt.Errorf("this processor has no %s, only %v", isa, has)
				}
				gemmtest.Require(t, string(isa), missing)
			}
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

func testF64(t *testing.T, before *float64, x []float64, after *float64, run func(n int, a, b float64)) {
	t.Helper()
	const a, b = 1.0 / 3, -5.0 / 7
	for _, n := range []int{1, 2, 1000} {
		*before, *after = 17, 19
		want := make([]float64, len(x))
		for i := range x {
			x[i] = float64(i) + 0.1
			want[i] = x[i]
			for range n {
				want[i] = math.FMA(a, b, want[i])
			}
		}
		run(n, a, b)
		if !slices.Equal(x, want) {
			t.Errorf("f64, n=%d: %v, want %v", n, x, want)
		}
		if *before != 17 || *after != 19 {
			t.Errorf("f64, n=%d: wrote beyond the accumulators: %v, %v", n, *before, *after)
		}
	}
}

// testF32 keeps to sums that are exact, as Go has no fused multiply-add of
// float32.
func testF32(t *testing.T, before *float32, x []float32, after *float32, run func(n int, a, b float32)) {
	t.Helper()
	const a, b = 3, -0.5
	for _, n := range []int{1, 2, 1000} {
		*before, *after = 17, 19
		want := make([]float32, len(x))
		for i := range x {
			x[i] = float32(i)
			want[i] = x[i] + float32(n)*a*b
		}
		run(n, a, b)
		if !slices.Equal(x, want) {
			t.Errorf("f32, n=%d: %v, want %v", n, x, want)
		}
		if *before != 17 || *after != 19 {
			t.Errorf("f32, n=%d: wrote beyond the accumulators: %v, %v", n, *before, *after)
		}
	}
}
