package kernel

import (
	"slices"

	"gemm/gf256"
	"gemm/internal/cpu"
	"gemm/internal/kernel/f32"
	"gemm/internal/kernel/f64"
	"gemm/internal/kernel/gf"
	"gemm/internal/kernel/vector"
)

// Best returns the fastest kernel for the instruction set that cpu.Detect chose.
func Best[T Float]() Kernel[T] {
	isa := detected()
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
	k := Kernel[float32]{Strided: true, Few: 32 * 32 * 32, copy: f32.Copy, transpose: f32.Transpose, together: 4,
		add: f32.Add, column: vector.Column[float32]}
	switch isa {
	case cpu.AVX512:
		k.Name, k.MR, k.NR, k.Lanes = "avx512-8x48", 8, 48, 16
		k.split, k.run, k.Small = f32.Split48, f32.AVX512, f32.SmallAVX512
	case cpu.AVX2, cpu.AVX2NoGFNI:
		k.Name, k.MR, k.NR, k.Lanes = "avx2-4x24", 4, 24, 8
		k.split, k.run, k.Small = f32.Split24, f32.AVX2, f32.SmallAVX2
	default:
		return portable[float32]()
	}
	return k
}

func bestF64(isa cpu.ISA) Kernel[float64] {
	k := Kernel[float64]{Strided: true, Few: 32 * 32 * 32, copy: f64.Copy, transpose: f64.Transpose, together: 4,
		add: f64.Add, column: vector.Column[float64]}
	switch isa {
	case cpu.AVX512:
		k.Name, k.MR, k.NR, k.Lanes = "avx512-8x24", 8, 24, 8
		k.split, k.run, k.Small = f64.Split24, f64.AVX512, f64.SmallAVX512
	case cpu.AVX2, cpu.AVX2NoGFNI:
		k.Name, k.MR, k.NR, k.Lanes = "avx2-4x12", 4, 12, 4
		k.split, k.run, k.Small = f64.Split12, f64.AVX2, f64.SmallAVX2
	default:
		return portable[float64]()
	}
	return k
}

// BestField returns the fastest kernel in GF(2⁸) for the instruction set that cpu.Detect chose.
func BestField() Field { return fieldOf(detected(), slices.Contains(cpu.Supported(), cpu.AVX2)) }

// fieldOf returns the kernel for an instruction set. gfni says whether the processor has the
// Galois-field instructions, which AVX-512 does not imply.
func fieldOf(isa cpu.ISA, gfni bool) Field {
	switch isa {
	case cpu.AVX512:
		if !gfni {
			return fieldOf(cpu.AVX2NoGFNI, false)
		}
		return Field{Name: "gfni512-24x64", MR: 24, NR: 64, words: matrixWords, pack: packMatrices, run: gf.GFNI512}
	case cpu.AVX2:
		return Field{Name: "gfni256-6x64", MR: 6, NR: 64, words: matrixWords, pack: packMatrices, run: gf.GFNI256}
	case cpu.AVX2NoGFNI:
		return Field{Name: "avx2-4x64", MR: 4, NR: 64, words: nibbleWords, pack: packNibbles, run: gf.AVX2}
	case cpu.SSSE3:
		return Field{Name: "ssse3-4x32", MR: 4, NR: 32, words: nibbleWords, pack: packNibbles, run: gf.SSSE3}
	default:
		return portableField()
	}
}

// Fetch prefetches a row into L2, and does not wait for it.
func Fetch(row []byte) { gf.Fetch(row) }

func matrixWords(rows int) int { return rows }

// packMatrices packs a matrix for each element; see gf.Matrices.
func packMatrices(rows, k int, dst []uint64, a []gf256.Elem, lda int) {
	table := gf.Matrices()
	for i := range rows {
		for l, x := range a[i*lda:][:k] {
			dst[l*rows+i] = table[x.Byte()]
		}
	}
}
