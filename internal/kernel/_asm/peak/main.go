// Command peak generates the loops of internal/peak, which consist of multiply-adds on registers
// only: one loop for each instruction set and element type.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// loop describes one function.
type loop struct {
	isa          string // in the function's name
	typ          string // Go's element type
	size         int    // bytes of an element
	width        int    // bytes of a register
	accumulators int
	vector       func() reg.VecVirtual
	broadcast    func(ops ...Op)
	move         func(ops ...Op)
	fma          func(ops ...Op)
}

func main() {
	avx512 := loop{isa: "AVX512", width: 64, accumulators: 16, vector: ZMM}
	avx2 := loop{isa: "AVX2", width: 32, accumulators: 12, vector: YMM}
	for _, l := range []loop{avx512, avx2} {
		l.typ, l.size = "float64", 8
		l.broadcast = func(ops ...Op) { VBROADCASTSD(ops...) }
		l.move = func(ops ...Op) { VMOVUPD(ops...) }
		l.fma = func(ops ...Op) { VFMADD231PD(ops...) }
		l.generate()
		l.typ, l.size = "float32", 4
		l.broadcast = func(ops ...Op) { VBROADCASTSS(ops...) }
		l.move = func(ops ...Op) { VMOVUPS(ops...) }
		l.fma = func(ops ...Op) { VFMADD231PS(ops...) }
		l.generate()
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
	Doc(
		name+" equals",
		"",
		"\tfor range n {",
		"\t\tfor i := range x {",
		"\t\t\tx[i] ^= a·c ^ b·c // a and b are matrices of 8×8 bits, their first rows the highest bytes",
		"\t\t}",
		"\t}",
		"",
		"for n ≥ 1. It needs no alignment.",
		fmt.Sprintf("Registers: %d accumulators of %d elements, one each for a, b, c and two products.", accumulators, width),
	)
	Pragma("noescape")
	n := Load(Param("n"), GP64())
	x := Mem{Base: Load(Param("x"), GP64())}
	a, b, c, p, q := vector(), vector(), vector(), vector(), vector()
	VPBROADCASTQ(parameter("a"), a)
	VPBROADCASTQ(parameter("b"), b)
	VPBROADCASTB(parameter("c"), c)
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
	Doc(
		"lookUpAVX2 equals",
		"",
		"\tfor range n {",
		"\t\tfor i := range x {",
		"\t\t\tx[i] ^= low[b&15] ^ high[b>>4]",
		"\t\t}",
		"\t}",
		"",
		"for n ≥ 1. It needs no alignment.",
		fmt.Sprintf("Registers: %d accumulators of %d elements, one each for low, high, the nibbles of b and two products.",
			accumulators, width),
	)
	Pragma("noescape")
	n := Load(Param("n"), GP64())
	x := Mem{Base: Load(Param("x"), GP64())}
	low, high, nibble, upper := YMM(), YMM(), YMM(), YMM()
	VBROADCASTI128(Mem{Base: Load(Param("low"), GP64())}, low)
	VBROADCASTI128(Mem{Base: Load(Param("high"), GP64())}, high)
	b := GP32()
	MOVBLZX(parameter("b"), b)
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

// parameter returns the memory of a parameter.
func parameter(name string) Op {
	component, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return component.Addr
}

func (l loop) generate() {
	name := fmt.Sprintf("fmaF%d%s", 8*l.size, l.isa)
	elements := l.accumulators * l.width / l.size
	TEXT(name, NOSPLIT, fmt.Sprintf("func(n int, a, b %s, x *[%d]%s)", l.typ, elements, l.typ))
	Doc(
		fmt.Sprintf("%s equals", name),
		"",
		"\tfor range n {",
		"\t\tfor i := range x {",
		"\t\t\tx[i] = fma(a, b, x[i]) // rounded once",
		"\t\t}",
		"\t}",
		"",
		"for n ≥ 1. It needs no alignment.",
		fmt.Sprintf("Registers: %d accumulators of %d elements, one each for a and b.", l.accumulators, l.width/l.size),
	)
	Pragma("noescape")
	n := Load(Param("n"), GP64())
	x := Mem{Base: Load(Param("x"), GP64())}
	a, b := l.vector(), l.vector()
	l.broadcast(parameter("a"), a)
	l.broadcast(parameter("b"), b)
	repeat(n, x, l.width, l.accumulators, l.vector, l.move, func(sum reg.VecVirtual) { l.fma(a, b, sum) })
}
