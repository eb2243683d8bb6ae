// Command peak generates the loops of gemm/internal/peak: fused multiply-adds on
// registers and nothing else, one loop for each instruction set and element type.
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
	Generate()
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
	at := func(name string) Op {
		component, err := Param(name).Resolve()
		if err != nil {
			panic(err)
		}
		return component.Addr
	}
	l.broadcast(at("a"), a)
	l.broadcast(at("b"), b)
	sums := make([]reg.VecVirtual, l.accumulators)
	for i := range sums {
		sums[i] = l.vector()
		l.move(x.Offset(i*l.width), sums[i])
	}
	Label("again")
	for _, sum := range sums {
		l.fma(a, b, sum)
	}
	DECQ(n)
	JNZ(LabelRef("again"))
	for i, sum := range sums {
		l.move(sum, x.Offset(i*l.width))
	}
	VZEROUPPER()
	RET()
}
