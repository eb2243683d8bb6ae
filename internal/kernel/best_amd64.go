package kernel

import (
	"gemm/internal/cpu"
	"gemm/internal/kernel/f32"
	"gemm/internal/kernel/f64"
)

// Best returns the fastest kernel of this build for the instruction set that
// cpu.Detect chose.
func Best[T Float]() Kernel[T] {
	isa, err := cpu.Detect()
	if err != nil {
		isa = cpu.Generic // the command has said so
	}
	var zero T
	var k any
	switch any(zero).(type) {
	case float32:
		k = bestF32(isa)
	default:
		k = bestF64(isa)
	}
	return k.(Kernel[T])
}

func bestF32(isa cpu.ISA) Kernel[float32] {
	k := Kernel[float32]{Strided: true, copy: f32.Copy, transpose: f32.Transpose, together: 4, add: f32.Add}
	switch isa {
	case cpu.AVX512:
		k.Name, k.MR, k.NR, k.Lanes, k.column = "avx512-8x48", 8, 48, 16, f32.ColumnAVX512
		k.run = f32.AVX512
	case cpu.AVX2, cpu.AVX2NoGFNI:
		k.Name, k.MR, k.NR, k.Lanes, k.column = "avx2-4x24", 4, 24, 8, f32.ColumnAVX2
		k.run = f32.AVX2
	default:
		return portable[float32]()
	}
	return k
}

func bestF64(isa cpu.ISA) Kernel[float64] {
	k := Kernel[float64]{Strided: true, copy: f64.Copy, transpose: f64.Transpose, together: 4, add: f64.Add}
	switch isa {
	case cpu.AVX512:
		k.Name, k.MR, k.NR, k.Lanes, k.column = "avx512-8x24", 8, 24, 8, f64.ColumnAVX512
		k.run = f64.AVX512
	case cpu.AVX2, cpu.AVX2NoGFNI:
		k.Name, k.MR, k.NR, k.Lanes, k.column = "avx2-4x12", 4, 12, 4, f64.ColumnAVX2
		k.run = f64.AVX2
	default:
		return portable[float64]()
	}
	return k
}
