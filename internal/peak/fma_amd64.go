package peak

// The loops change no memory but x, for n ≥ 1, and need no alignment.

// fmaF64AVX512 equals
//
//	for range n {
//		for i := range x {
//			x[i] = fma(a, b, x[i]) // rounded once
//		}
//	}
//
// 16 accumulators are in registers, and one register each has a and b.
//
//go:noescape
func fmaF64AVX512(n int, a, b float64, x *[128]float64)

// fmaF32AVX512 is fmaF64AVX512 for float32.
//
//go:noescape
func fmaF32AVX512(n int, a, b float32, x *[256]float32)

// fmaF64AVX2 is fmaF64AVX512 with 12 accumulators.
//
//go:noescape
func fmaF64AVX2(n int, a, b float64, x *[48]float64)

// fmaF32AVX2 is fmaF64AVX2 for float32.
//
//go:noescape
func fmaF32AVX2(n int, a, b float32, x *[96]float32)

// affineAVX512 equals
//
//	for range n {
//		for i := range x {
//			x[i] ^= a·c ^ b·c // a and b are matrices of 8×8 bits, their first rows the highest bytes
//		}
//	}
//
// 16 accumulators are in registers, and one register each has a, b, c and two products.
//
//go:noescape
func affineAVX512(n int, a, b uint64, c uint8, x *[1024]uint8)

// affineAVX2 is affineAVX512 with 8 accumulators.
//
//go:noescape
func affineAVX2(n int, a, b uint64, c uint8, x *[256]uint8)

// lookUpAVX2 equals
//
//	for range n {
//		for i := range x {
//			x[i] ^= low[b&15] ^ high[b>>4]
//		}
//	}
//
// 8 accumulators are in registers, and one register each has low, high, the nibbles of b and two products.
//
//go:noescape
func lookUpAVX2(n int, low, high *[16]uint8, b uint8, x *[256]uint8)
