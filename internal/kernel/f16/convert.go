//go:build amd64 || arm64

package f16

// n is a multiple of 8. On amd64 the functions need AVX2 and F16C.

// WidenF16 converts f16 to float32.
//
//go:noescape
func WidenF16(n int, dst []float32, src []uint16)

// WidenBF16 converts bf16 to float32.
//
//go:noescape
func WidenBF16(n int, dst []float32, src []uint16)

// NarrowF16 rounds float32 to f16, to nearest even.
//
//go:noescape
func NarrowF16(n int, dst []uint16, src []float32)

// NarrowBF16 rounds float32 to bf16, to nearest even.
//
//go:noescape
func NarrowBF16(n int, dst []uint16, src []float32)
