package peak

import "gemm/internal/cpu"

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
	}
	return loop{}, false
}
