package kernel

import "gemm/half"

// Widen is half.Widen, by vectors as far as possible.
func Widen[T half.Float](dst []float32, src []T) {
	n := widenVectors(dst, src)
	half.Widen(dst[n:], src[n:])
}

// Narrow is half.Narrow, by vectors as far as possible.
func Narrow[T half.Float](dst []T, src []float32) {
	n := narrowVectors(dst, src)
	half.Narrow(dst[n:], src[n:])
}
