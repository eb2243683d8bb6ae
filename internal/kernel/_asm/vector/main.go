// Command vector generates internal/kernel/vector. Each function has code for both element types, by its argument size,
// and for AVX-512 and AVX2, by the variable wide.
//
//	vector -pkg vector -out vector_amd64.s
package main

import (
	"flag"
	"fmt"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"asm/simd"
)

// generator has the properties of the element type and the instruction set, and the registers of a function.
type generator struct {
	simd.Set
	prefix  string // of labels
	n, x, y reg.GPVirtual
	left    reg.GPVirtual // result
	each    int           // elements of a step over the last ones; 0: all
	mask    reg.Register  // of the last vector
}

// chunk is the most elements of a call, because assembly cannot be preempted.
const chunk = 1 << 16

// operations are the functions of level 1. Their arguments are the size of an element, n, and addresses, x and y first.
var operations = []struct {
	name, addresses string
	generate        func(g *generator)
}{
	{"dot", "x, y, sum", (*generator).dot},
	{"axpy", "x, y, alpha", (*generator).axpy},
	{"scal", "x, alpha", (*generator).scal},
	{"swap", "x, y", (*generator).swap},
	{"rot", "x, y, c, s", (*generator).rot},
	{"asum", "x, sum", (*generator).asum},
	{"squares", "x, sum", (*generator).squares},
	{"amax", "x, most", (*generator).amax},
	{"find", "x, value", (*generator).find},
	{"pairDot", "x, y, sums", (*generator).pairDot},
	{"pairAxpy", "x, y, alpha", func(g *generator) { g.scaledPairs(true) }},
	{"pairScal", "x, alpha", func(g *generator) { g.scaledPairs(false) }},
}

func main() {
	flag.Parse()
	for _, o := range operations {
		TEXT(o.name, NOSPLIT, fmt.Sprintf("func(size uintptr, n int, %s *byte) int", o.addresses))
		g := generator{n: GP64(), x: GP64(), left: GP64()}
		Load(Param("n"), g.n)
		Load(Param("x"), g.x)
		if strings.Contains(o.addresses, "y") {
			g.y = GP64()
			Load(Param("y"), g.y)
		}
		size := Load(Param("size"), GP64())
		XORQ(g.left, g.left)
		CMPQ(g.n, U32(chunk))
		JGT(LabelRef("long"))
		Label("chunk")
		simd.ForEach(size, func(s simd.Set, prefix string) {
			g.Set, g.prefix = s, prefix
			o.generate(&g)
			Store(g.left, ReturnIndex(0))
		})
		g.last(size)
	}
	generateLevel2()
	for _, typ := range []string{"f64", "f32"} {
		s := simd.New(typ, "avx2")
		s.Window("window" + typ[1:])
		GLOBL("sign"+typ[1:], RODATA|NOPTR)
		DATA(0, simd.By[Constant](s.Size, U32(1<<31-1), U64(1<<63-1)))
	}
	Generate()
}

// last generates the jump back from long vectors, of which x and y are made the last chunk, and left the length before.
func (g *generator) last(size reg.Register) {
	Label("long")
	MOVQ(g.n, g.left)
	SUBQ(U32(chunk), g.left)
	MOVQ(U32(chunk), g.n)
	skip := GP64()
	MOVQ(g.left, skip)
	IMULQ(size, skip)
	ADDQ(skip, g.x)
	if g.y != nil {
		ADDQ(skip, g.y)
	}
	JMP(LabelRef("chunk"))
}

// load loads a vector, or a part of the last one.
func (g *generator) load(from Mem, part bool) reg.VecVirtual {
	v := g.Virtual()
	switch {
	case part && g.each > 0:
		g.moveEach(from, v.AsX())
	case part:
		g.LoadPart(from, g.mask, v)
	default:
		g.Move(from, v)
	}
	return v
}

// operand returns a vector in memory as an operand: the last one is loaded.
func (g *generator) operand(from Mem, part bool) Op {
	if part {
		return g.load(from, part)
	}
	return from
}

func (g *generator) store(v reg.VecVirtual, to Mem, part bool) {
	switch {
	case part && g.each > 0:
		g.moveEach(v.AsX(), to)
	case part:
		g.StorePart(v, g.mask, to)
	default:
		g.Move(v, to)
	}
}

// unroll is the number of vectors of a round.
const unroll = 4

// moveEach moves the elements of a step over the last ones.
func (g *generator) moveEach(from, to Op) {
	map[int]func(ops ...Op){4: VMOVSS, 8: VMOVSD, 16: VMOVUPD}[g.each*g.Size](from, to)
}

// loop generates the loops over x and y: of rounds, of one vector, and the last part of a vector. step is what is done
// with a vector. With AVX2, a step over the last part has each elements, because a masked store takes 12 cycles on some
// processors.
func (g *generator) loop(each int, step func(x, y Mem, part bool)) {
	if g.Narrow {
		g.each = each
	}
	g.reduce(nil, nil, func(_ []reg.VecVirtual, x, y Mem, part bool) { step(x, y, part) })
	g.each = 0
}

// reduce is a loop that accumulates in the given lists of vectors, of which a round has one for each vector; join
// joins them. step gets a vector of each list.
func (g *generator) reduce(lists [][]reg.VecVirtual, join func(ops ...Op),
	step func(to []reg.VecVirtual, x, y Mem, part bool)) {
	at := func(v int, part bool) {
		var to []reg.VecVirtual
		for _, list := range lists {
			to = append(to, list[v])
		}
		step(to, Mem{Base: g.x, Disp: v * g.Width}, Mem{Base: g.y, Disp: v * g.Width}, part)
	}
	advance := func(elements int) {
		ADDQ(U32(elements*g.Size), g.x)
		if g.y != nil {
			ADDQ(U32(elements*g.Size), g.y)
		}
		SUBQ(U32(elements), g.n)
	}
	round := func(name string, vectors int) {
		Label(g.prefix + name)
		for v := range vectors {
			at(v, false)
		}
		advance(vectors * g.Lanes())
		JGE(LabelRef(g.prefix + name))
	}
	for _, list := range lists {
		g.Zero(list[0])
	}
	CMPQ(g.n, U8(g.Lanes()))
	JLT(LabelRef(g.prefix + "part"))
	SUBQ(U32(unroll*g.Lanes()), g.n)
	JLT(LabelRef(g.prefix + "few"))
	for _, list := range lists {
		for _, v := range list[1:] {
			g.Zero(v)
		}
	}
	round("round", unroll)
	for half := unroll / 2; half > 0; half /= 2 {
		for _, list := range lists {
			for i := range half {
				join(list[i+half], list[i], list[i])
			}
		}
	}
	Label(g.prefix + "few")
	ADDQ(U32((unroll-1)*g.Lanes()), g.n)
	JLT(LabelRef(g.prefix + "rest"))
	round("one", 1)
	Label(g.prefix + "rest")
	ADDQ(U32(g.Lanes()), g.n)
	JEQ(LabelRef(g.prefix + "end"))
	Label(g.prefix + "part")
	if g.each == 0 {
		g.mask = g.Mask(g.n, "window")
	}
	at(0, true)
	if g.each > 0 {
		advance(g.each)
		JNE(LabelRef(g.prefix + "part"))
	}
	Label(g.prefix + "end")
}

// accumulate generates a loop with sums, or what else join computes, and returns it, with keep elements.
func (g *generator) accumulate(join func(ops ...Op), step func(to reg.VecVirtual, x, y Mem, part bool)) reg.VecVirtual {
	list := g.vectors()
	g.reduce([][]reg.VecVirtual{list}, join, func(to []reg.VecVirtual, x, y Mem, part bool) { step(to[0], x, y, part) })
	return g.fold(list[0], join, 1)
}

// vectors returns the vectors of a round.
func (g *generator) vectors() (list []reg.VecVirtual) {
	for range unroll {
		list = append(list, g.Virtual())
	}
	return list
}

// fold joins the elements of a vector until keep are left.
func (g *generator) fold(v reg.VecVirtual, join func(ops ...Op), keep int) reg.VecVirtual {
	y := v.AsY().(reg.VecVirtual)
	if !g.Narrow {
		high := YMM()
		VEXTRACTF64X4(U8(1), v, high)
		join(high, y, y)
	}
	x, high := y.AsX().(reg.VecVirtual), XMM()
	VEXTRACTF128(U8(1), y, high)
	join(high, x, x)
	for left := 16 / g.Size; left > keep; left /= 2 {
		other := XMM()
		g.permute(map[int]int{4: 0x4e, 2: 0xb1}[left], x, other)
		join(other, x, x)
	}
	return x
}

// permute exchanges the elements of pairs, or with 0x4e the pairs of four single-precision elements.
func (g *generator) permute(how int, from, to Op) {
	if g.Size == 8 {
		how = 0x55
	}
	simd.By(g.Size, VPERMILPS, VPERMILPD)(U8(how), from, to)
}

// addTo adds a number to the one at an address in an argument.
func (g *generator) addTo(name string, x reg.VecVirtual) {
	at := Mem{Base: Load(Param(name), GP64())}
	simd.By(g.Size, VADDSS, VADDSD)(at, x, x)
	g.MoveOne(x, at)
}

// sign returns a vector that has all bits but signs set.
func (g *generator) sign() reg.VecVirtual {
	v := g.Virtual()
	g.Broadcast(NewDataAddr(Symbol{Name: fmt.Sprintf("sign%d", 8*g.Size), Static: true}, 0), v)
	return v
}

// magnitude loads the magnitudes of a vector.
func (g *generator) magnitude(sign reg.VecVirtual, x Mem, part bool) reg.VecVirtual {
	v := g.Virtual()
	simd.By(g.Size, VANDPS, VANDPD)(g.operand(x, part), sign, v)
	return v
}

func (g *generator) dot() {
	g.addTo("sum", g.accumulate(g.Add, func(sum reg.VecVirtual, x, y Mem, part bool) {
		g.FMA(g.operand(y, part), g.load(x, part), sum)
	}))
}

func (g *generator) axpy() {
	alpha := g.Argument("alpha")
	g.loop(1, func(x, y Mem, part bool) {
		sum := g.load(y, part)
		g.FMA(g.operand(x, part), alpha, sum)
		g.store(sum, y, part)
	})
}

func (g *generator) scal() {
	alpha := g.Argument("alpha")
	g.loop(1, func(x, _ Mem, part bool) {
		v := g.Virtual()
		g.Multiply(g.operand(x, part), alpha, v)
		g.store(v, x, part)
	})
}

func (g *generator) swap() {
	g.loop(1, func(x, y Mem, part bool) {
		a, b := g.load(x, part), g.load(y, part)
		g.store(a, y, part)
		g.store(b, x, part)
	})
}

func (g *generator) rot() {
	c, s := g.Argument("c"), g.Argument("s")
	g.loop(1, func(x, y Mem, part bool) {
		a, b, u, v := g.load(x, part), g.load(y, part), g.Virtual(), g.Virtual()
		g.Multiply(a, c, u)
		g.Multiply(b, c, v)
		g.FMA(b, s, u)
		simd.By(g.Size, VFNMADD231PS, VFNMADD231PD)(a, s, v)
		g.store(u, x, part)
		g.store(v, y, part)
	})
}

func (g *generator) asum() {
	sign := g.sign()
	g.addTo("sum", g.accumulate(g.Add, func(sum reg.VecVirtual, x, _ Mem, part bool) {
		g.Add(g.magnitude(sign, x, part), sum, sum)
	}))
}

func (g *generator) squares() {
	g.addTo("sum", g.accumulate(g.Add, func(sum reg.VecVirtual, x, _ Mem, part bool) {
		a := g.load(x, part)
		g.FMA(a, a, sum)
	}))
}

// amax has the maximum so far as the operand that is the result if the other one is NaN.
func (g *generator) amax() {
	sign, join := g.sign(), simd.By(g.Size, VMAXPS, VMAXPD)
	most := g.accumulate(join, func(most reg.VecVirtual, x, _ Mem, part bool) {
		join(most, g.magnitude(sign, x, part), most)
	})
	g.MoveOne(most, Mem{Base: Load(Param("most"), GP64())})
}

func (g *generator) find() {
	value, sign, bits, first := g.Argument("value"), g.sign(), GP32(), GP64()
	MOVQ(g.x, first)
	Label(g.prefix + "next")
	CMPQ(g.n, U8(g.Lanes()))
	JLT(LabelRef(g.prefix + "rest"))
	g.compare(g.magnitude(sign, Mem{Base: g.x}, false), value, bits)
	JNE(LabelRef(g.prefix + "found"))
	ADDQ(U8(g.Width), g.x)
	SUBQ(U8(g.Lanes()), g.n)
	JMP(LabelRef(g.prefix + "next"))
	Label(g.prefix + "rest")
	g.mask = g.Mask(g.n, "window")
	g.compare(g.magnitude(sign, Mem{Base: g.x}, true), value, bits)
	Label(g.prefix + "found")
	TZCNTL(bits, bits)
	MOVQ(g.x, g.left)
	SUBQ(first, g.left)
	SHRQ(g.Shift(), g.left)
	ADDQ(bits.As64(), g.left)
}

// compare sets a bit for each element that is equal to value, and the flags for the bits.
func (g *generator) compare(a, value reg.VecVirtual, bits reg.GPVirtual) {
	compare, to := simd.By(g.Size, VCMPPS, VCMPPD), Op(a)
	if !g.Narrow {
		to = reg.K2
	}
	compare(U8(0), a, value, to)
	if g.Narrow {
		simd.By(g.Size, VMOVMSKPS, VMOVMSKPD)(a, bits)
	} else {
		KMOVW(reg.K2, bits)
	}
	TESTL(bits, bits)
}

func (g *generator) pairDot() {
	sums := [][]reg.VecVirtual{g.vectors(), g.vectors()}
	g.reduce(sums, g.Add, func(to []reg.VecVirtual, x, y Mem, part bool) {
		a, b, swapped := g.load(x, part), g.load(y, part), g.Virtual()
		g.permute(0xb1, b, swapped)
		g.FMA(a, b, to[0])
		g.FMA(a, swapped, to[1])
	})
	to := Load(Param("sums"), GP64())
	for i, list := range sums {
		sum, before, at := g.fold(list[0], g.Add, 2), XMM(), Mem{Base: to, Disp: 2 * i * g.Size}
		simd.By(g.Size, VMOVSD, VMOVUPD)(at, before)
		g.Add(before, sum, sum)
		simd.By(g.Size, VMOVSD, VMOVUPD)(sum, at)
	}
}

// scaledPairs adds α·x to y, or replaces x by it.
func (g *generator) scaledPairs(add bool) {
	re, im, at := g.Virtual(), g.Virtual(), Load(Param("alpha"), GP64())
	g.Broadcast(Mem{Base: at}, re)
	switch pair := (Mem{Base: at, Disp: g.Size}); {
	case g.Size == 4:
		VBROADCASTSD(pair, im)
	case g.Narrow:
		VBROADCASTF128(pair, im)
	default:
		VBROADCASTF64X2(pair, im)
	}
	g.loop(2, func(x, y Mem, part bool) {
		a, swapped, sum := g.load(x, part), g.Virtual(), g.Virtual()
		g.permute(0xb1, a, swapped)
		if add {
			x, sum = y, g.load(y, part)
			g.FMA(a, re, sum)
		} else {
			g.Multiply(a, re, sum)
		}
		g.FMA(swapped, im, sum)
		g.store(sum, x, part)
	})
}
