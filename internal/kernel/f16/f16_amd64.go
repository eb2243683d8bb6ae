package f16

//go:generate go run -C ../_asm ./convert -pkg f16 -out ../f16/convert_amd64.s -stubs ../f16/convert_amd64.go

// WidenF16 converts n numbers of f16, a multiple of 8. It needs AVX2 and F16C, as NarrowF16 does.
func WidenF16(n int, dst []float32, src []uint16) { widenF16AVX2(n, dst, src) }

// WidenBF16 converts n numbers of bf16, a multiple of 8. It needs AVX2.
func WidenBF16(n int, dst []float32, src []uint16) { widenBF16AVX2(n, dst, src) }

// NarrowF16 rounds n numbers, a multiple of 8, to f16.
func NarrowF16(n int, dst []uint16, src []float32) { narrowF16AVX2(n, dst, src) }

// NarrowBF16 rounds n numbers, a multiple of 8, to bf16. It needs AVX2.
func NarrowBF16(n int, dst []uint16, src []float32) { narrowBF16AVX2(n, dst, src) }
