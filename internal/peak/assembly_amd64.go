package peak

import (
	"slices"

	"gemm/internal/cpu"
)

// assembly returns the loop for the pipe in the instruction set, if there is one.
func assembly(pipe string, isa cpu.ISA) (loop, bool) {
	wide, narrow := isa == cpu.AVX512, isa == cpu.AVX2 || isa == cpu.AVX2NoGFNI
	switch {
	case pipe == "f64" && wide:
		return newLoop(isa, 2*128, func(x *[128]float64) { fmaF64AVX512(repetitions, factorA, factorB, x) }), true
	case pipe == "f32" && wide:
		return newLoop(isa, 2*256, func(x *[256]float32) { fmaF32AVX512(repetitions, factorA, factorB, x) }), true
	case pipe == "f64" && narrow:
		return newLoop(isa, 2*48, func(x *[48]float64) { fmaF64AVX2(repetitions, factorA, factorB, x) }), true
	case pipe == "f32" && narrow:
		return newLoop(isa, 2*96, func(x *[96]float32) { fmaF32AVX2(repetitions, factorA, factorB, x) }), true
	case pipe == "gf256" && wide && slices.Contains(cpu.Supported(), cpu.AVX2): // with GFNI
		return newLoop(isa, 2*1024, func(x *[1024]uint8) { affineAVX512(repetitions, double, half, 3, x) }), true
	case pipe == "gf256" && isa == cpu.AVX2:
		return newLoop(isa, 2*256, func(x *[256]uint8) { affineAVX2(repetitions, double, half, 3, x) }), true
	case pipe == "gf256" && isa == cpu.AVX2NoGFNI:
		low, high := nibbles()
		return newLoop(isa, 256, func(x *[256]uint8) { lookUpAVX2(repetitions, &low, &high, 3, x) }), true
	}
	return loop{}, false
}

// Multiplication by 2 and by its inverse in GF(2⁸), as matrices of 8×8 bits. Bit i of the product is the
// parity of the factor AND byte 7 − i of the matrix.
const (
	double = 0x80018284_88102040
	half   = 0x02050911_20408001
)
