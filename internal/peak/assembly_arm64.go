package peak

import "gemm/internal/cpu"

// assembly returns the loop for the pipe in the instruction set, if there is one.
func assembly(pipe string, isa cpu.ISA) (loop, bool) {
	switch {
	case isa != cpu.NEON:
		return loop{}, false
	case pipe == "f64":
		return newLoop(isa, 2*48, func(x *[48]float64) { fmaF64NEON(repetitions, factorA, factorB, x) }), true
	case pipe == "f32":
		return newLoop(isa, 2*96, func(x *[96]float32) { fmaF32NEON(repetitions, factorA, factorB, x) }), true
	}
	low, high := nibbles()
	return newLoop(isa, 256, func(x *[256]uint8) { lookUpNEON(repetitions, &low, &high, 3, x) }), true
}

// The loops change no memory but x, for n ≥ 1, and need no alignment.

// fmaF64NEON adds a·b to each x[i], n times, each sum rounded once. 24 accumulators are in registers.
//
//go:noescape
func fmaF64NEON(n int, a, b float64, x *[48]float64)

// fmaF32NEON is fmaF64NEON for float32.
//
//go:noescape
func fmaF32NEON(n int, a, b float32, x *[96]float32)

// lookUpNEON adds low[b&15] ^ high[b>>4] to each x[i], n times, in GF(2⁸). 16 accumulators are in registers.
//
//go:noescape
func lookUpNEON(n int, low, high *[16]uint8, b uint8, x *[256]uint8)
