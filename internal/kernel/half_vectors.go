//go:build amd64 || arm64

package kernel

import (
	"slices"
	"sync"

	"gemm/half"
	"gemm/internal/cpu"
	"gemm/internal/kernel/f16"
)

// converts reports whether the instruction set to use has vectors of half precision.
var converts = sync.OnceValue(func() bool {
	return slices.Contains([]cpu.ISA{cpu.AVX512, cpu.AVX2, cpu.AVX2NoGFNI, cpu.NEON}, detected())
})

// widenVectors converts the first numbers of src to dst, and returns how many.
func widenVectors[T half.Float](dst []float32, src []T) int {
	n := len(src) &^ 7
	if n == 0 || !converts() {
		return 0
	}
	if isF16[T]() {
		f16.WidenF16(n, dst[:n], half.Words(src))
	} else {
		f16.WidenBF16(n, dst[:n], half.Words(src))
	}
	return n
}

// narrowVectors rounds the first numbers of src to dst, and returns how many.
func narrowVectors[T half.Float](dst []T, src []float32) int {
	n := len(src) &^ 7
	if n == 0 || !converts() {
		return 0
	}
	if isF16[T]() {
		f16.NarrowF16(n, half.Words(dst[:n]), src)
	} else {
		f16.NarrowBF16(n, half.Words(dst[:n]), src)
	}
	return n
}

func isF16[T half.Float]() bool {
	var zero T
	_, ok := any(zero).(half.F16)
	return ok
}
