// Command peak generates the loops of internal/peak, which consist of multiply-adds on registers
// only: one loop for each instruction set and element type.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"asm/simd"
)

func main() {
	for _, isa := range []string{"avx512", "avx2"} {
		for _, typ := range []string{"f64", "f32"} {
			fma(simd.New(typ, isa))
		}
	}
	affine("AVX512", 64, 16, ZMM, func(ops ...Op) { VMOVDQU64(ops...) }, func(p, q, sum reg.VecVirtual) {
		VPTERNLOGQ(U8(0x96), p, q, sum) // the sum of the three
	})
	moveYMM := func(ops ...Op) { VMOVDQU(ops[0], ops[1]) }
	affine("AVX2", 32, 8, YMM, moveYMM, func(p, q, sum reg.VecVirtual) {
		VPXOR(p, sum, sum)
		VPXOR(q, sum, sum)
	})
	lookUp(moveYMM)
	Generate()
}

// affine generates the loop of products in GF(2⁸) by bit matrices. Two products are added at a time, as
// AVX-512 can.
func affine(isa string, width, accumulators int, vector func() reg.VecVirtual, move func(ops ...Op),
	add func(p, q, sum reg.VecVirtual)) {
	elements := accumulators * width
	name := "affine" + isa
	TEXT(name, NOSPLIT, fmt.Sprintf("func(n int, a, b uint64, c uint8, x *[%d]uint8)", elements))
	n := Load(Param("n"), GP64())
	x := Mem{Base: Load(Param("x"), GP64())}
	a, b, c, p, q := vector(), vector(), vector(), vector(), vector()
	VPBROADCASTQ(simd.Address("a"), a)
	VPBROADCASTQ(simd.Address("b"), b)
	VPBROADCASTB(simd.Address("c"), c)
	repeat(n, x, width, accumulators, vector, move, func(sum reg.VecVirtual) {
		VGF2P8AFFINEQB(U8(0), a, c, p)
		VGF2P8AFFINEQB(U8(0), b, c, q)
		add(p, q, sum)
	})
}

// lookUp generates the loop of products in GF(2⁸) by tables of nibbles.
func lookUp(move func(ops ...Op)) {
	const width, accumulators = 32, 8
	TEXT("lookUpAVX2", NOSPLIT,
		fmt.Sprintf("func(n int, low, high *[16]uint8, b uint8, x *[%d]uint8)", accumulators*width))
	n := Load(Param("n"), GP64())
	x := Mem{Base: Load(Param("x"), GP64())}
	low, high, nibble, upper := YMM(), YMM(), YMM(), YMM()
	VBROADCASTI128(Mem{Base: Load(Param("low"), GP64())}, low)
	VBROADCASTI128(Mem{Base: Load(Param("high"), GP64())}, high)
	b := GP32()
	MOVBLZX(simd.Address("b"), b)
	broadcast := func(x reg.Register, to reg.VecVirtual) {
		VMOVD(x, to.AsX())
		VPBROADCASTB(to.AsX(), to)
	}
	lower := GP32()
	MOVL(b, lower)
	ANDL(U8(15), lower)
	broadcast(lower, nibble)
	SHRL(U8(4), b)
	broadcast(b, upper)
	p, q := YMM(), YMM()
	repeat(n, x, width, accumulators, YMM, move, func(sum reg.VecVirtual) {
		VPSHUFB(nibble, low, p)
		VPSHUFB(upper, high, q)
		VPXOR(p, sum, sum)
		VPXOR(q, sum, sum)
	})
}

// repeat generates n rounds of a step on each accumulator, and the return. The accumulators are loaded
// from x and stored to x.
func repeat(n reg.Register, x Mem, width, accumulators int, vector func() reg.VecVirtual, move func(ops ...Op),
	step func(sum reg.VecVirtual)) {
	sums := make([]reg.VecVirtual, accumulators)
	for i := range sums {
		sums[i] = vector()
		move(x.Offset(i*width), sums[i])
	}
	Label("again")
	for _, sum := range sums {
		step(sum)
	}
	DECQ(n)
	JNZ(LabelRef("again"))
	for i, sum := range sums {
		move(sum, x.Offset(i*width))
	}
	VZEROUPPER()
	RET()
}

// fma generates the loop of fused multiply-adds.
func fma(s simd.Set) {
	accumulators := 16
	if s.Narrow {
		accumulators = 12
	}
	name, typ := fmt.Sprintf("fmaF%d%s", 8*s.Size, s.ISA), fmt.Sprintf("float%d", 8*s.Size)
	TEXT(name, NOSPLIT, fmt.Sprintf("func(n int, a, b %s, x *[%d]%s)", typ, accumulators*s.Lanes(), typ))
	n := Load(Param("n"), GP64())
	x := Mem{Base: Load(Param("x"), GP64())}
	a, b := s.Virtual(), s.Virtual()
	s.Broadcast(simd.Address("a"), a)
	s.Broadcast(simd.Address("b"), b)
	repeat(n, x, s.Width, accumulators, s.Virtual, s.Move, func(sum reg.VecVirtual) { s.FMA(a, b, sum) })
}
