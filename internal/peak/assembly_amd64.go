package peak

import (
	"slices"

	"gemm/internal/cpu"
)

// assembly returns the loop for the pipe in the instruction set, if there is one.
func assembly(pipe string, isa cpu.ISA) (loop, bool) {
	switch {
	case pipe == "f64" && isa == cpu.AVX512:
		return loop{isa, 2 * 128 * repetitions, func() func() {
			x := new([128]float64)
			return func() { fmaF64AVX512(repetitions, factorA, factorB, x) }
		}}, true
	case pipe == "f32" && isa == cpu.AVX512:
		return loop{isa, 2 * 256 * repetitions, func() func() {
			x := new([256]float32)
			return func() { fmaF32AVX512(repetitions, factorA, factorB, x) }
		}}, true
	case pipe == "f64" && (isa == cpu.AVX2 || isa == cpu.AVX2NoGFNI):
		return loop{isa, 2 * 48 * repetitions, func() func() {
			x := new([48]float64)
			return func() { fmaF64AVX2(repetitions, factorA, factorB, x) }
		}}, true
	case pipe == "f32" && (isa == cpu.AVX2 || isa == cpu.AVX2NoGFNI):
		return loop{isa, 2 * 96 * repetitions, func() func() {
			x := new([96]float32)
			return func() { fmaF32AVX2(repetitions, factorA, factorB, x) }
		}}, true
	case pipe == "gf256" && isa == cpu.AVX512 && slices.Contains(cpu.Supported(), cpu.AVX2): // with GFNI
		return loop{isa, 2 * 1024 * repetitions, func() func() {
			x := new([1024]uint8)
			return func() { affineAVX512(repetitions, double, half, 3, x) }
		}}, true
	case pipe == "gf256" && isa == cpu.AVX2:
		return loop{isa, 2 * 256 * repetitions, func() func() {
			x := new([256]uint8)
			return func() { affineAVX2(repetitions, double, half, 3, x) }
		}}, true
	case pipe == "gf256" && isa == cpu.AVX2NoGFNI:
		return loop{isa, 256 * repetitions, func() func() {
			var low, high [16]uint8
			for i := range uint8(16) {
				low[i], high[i] = doubles[i], doubles[i<<4]
			}
			x := new([256]uint8)
			return func() { lookUpAVX2(repetitions, &low, &high, 3, x) }
		}}, true
	}
	return loop{}, false
}

// Multiplication by 2 and by its inverse in GF(2⁸), as matrices of 8×8 bits. Bit i of the product is the
// parity of the factor AND byte 7 − i of the matrix.
const (
	double = 0x80018284_88102040
	half   = 0x02050911_20408001
)
