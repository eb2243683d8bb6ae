// Command column generates the product of matrix rows with one column for internal/kernel/f32 and
// f64, for one element type and one instruction set.
//
//	column -type f64 -isa avx512 -pkg f64 -out column_avx512_amd64.s -stubs column_avx512_amd64.go
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"asm/simd"
)

// generator has the properties of the element type and the instruction set.
type generator struct {
	simd.Set
	vector func() reg.VecVirtual

	moveOne, fmaOne func(ops ...Op)
	horizontal      func(y, x, to Op)
}

func main() {
	g := &generator{simd.Requested(), ZMM, VMOVSD, VFMADD231SD, VHADDPD}
	if g.Size == 4 {
		g.moveOne, g.fmaOne, g.horizontal = VMOVSS, VFMADD231SS, VHADDPS
	}
	if g.Narrow {
		g.vector = YMM
	}
	g.generate()
	Generate()
}

// together is the number of rows that are computed at once, and sums the number of sums of each.
const together, sums = 4, 2

func (g *generator) generate() {
	name, typ, lanes := "Column"+g.ISA, fmt.Sprintf("float%d", 8*g.Size), g.Lanes()
	window := "column" + g.ISA + "Window"
	if g.Narrow {
		g.Window(window)
	}
	TEXT(name, NOSPLIT, fmt.Sprintf("func(m, k int, alpha %[1]s, a []%[1]s, aRow int, x []%[1]s, beta %[1]s, c []%[1]s, ldc int)", typ))
	Doc(
		fmt.Sprintf("%s computes a column of C; see kernel.Column.", name),
		fmt.Sprintf("Registers: %d sums of %d rows, of %d elements each.", sums, together, lanes),
	)
	Pragma("noescape")
	shift := g.Shift()
	rows, c := Load(Param("m"), GP64()), Load(Param("c").Base(), GP64())
	aRow, ldc := Load(Param("aRow"), GP64()), Load(Param("ldc"), GP64())
	SHLQ(shift, aRow)
	SHLQ(shift, ldc)
	top := Load(Param("a").Base(), GP64())
	spill := AllocLocal(together * 8)
	TESTQ(rows, rows)
	JLE(LabelRef("done"))

	Label("rows")
	row := simd.Rows(top, aRow, rows)
	LEAQ(Mem{Base: top, Index: aRow, Scale: together}, top)
	x, k, at := Load(Param("x").Base(), GP64()), Load(Param("k"), GP64()), GP64()
	XORQ(at, at)
	var sum [sums][together]reg.VecVirtual
	for s := range sum {
		for i := range sum[s] {
			sum[s][i] = g.vector()
			g.Zero(sum[s][i])
		}
	}
	SUBQ(U8(sums*lanes), k)
	JLT(LabelRef("one"))
	Label("round")
	for s := range sum {
		from := g.vector()
		g.Move(Mem{Base: x, Index: at, Scale: 1, Disp: s * g.Width}, from)
		for i := range row {
			g.FMA(Mem{Base: row[i], Index: at, Scale: 1, Disp: s * g.Width}, from, sum[s][i])
		}
	}
	ADDQ(U8(sums*g.Width), at)
	SUBQ(U8(sums*lanes), k)
	JGE(LabelRef("round"))
	Label("one")
	ADDQ(U8((sums-1)*lanes), k)
	JLT(LabelRef("rest"))
	from := g.vector()
	g.Move(Mem{Base: x, Index: at, Scale: 1}, from)
	for i := range row {
		g.FMA(Mem{Base: row[i], Index: at, Scale: 1}, from, sum[0][i])
	}
	ADDQ(U8(g.Width), at)
	SUBQ(U8(lanes), k)
	Label("rest")
	ADDQ(U8(lanes), k)
	JEQ(LabelRef("sums"))
	g.rest(window, k, x, at, row, sum[1])

	Label("sums")
	var half [together]reg.VecVirtual
	for i := range half {
		g.Add(sum[1][i], sum[0][i], sum[0][i])
		half[i] = sum[0][i].AsY().(reg.VecVirtual)
		if !g.Narrow {
			high := YMM()
			VEXTRACTF64X4(U8(1), sum[0][i], high)
			g.Add(high, half[i], half[i])
		}
	}
	g.horizontal(half[1], half[0], half[0])
	g.horizontal(half[3], half[2], half[2])
	factor := YMM()
	g.Broadcast(simd.Address("alpha"), factor)
	if g.Size == 8 {
		low, high := YMM(), YMM()
		VPERM2F128(U8(0x20), half[2], half[0], low)
		VPERM2F128(U8(0x31), half[2], half[0], high)
		g.Add(high, low, low)
		g.Multiply(factor, low, low)
		g.Move(low, spill)
	} else {
		g.horizontal(half[2], half[0], half[0])
		high := XMM()
		VEXTRACTF128(U8(1), half[0], high)
		g.Add(high, half[0].AsX(), high)
		g.Multiply(factor.AsX(), high, high)
		g.Move(high, spill)
	}
	g.write(rows, c, ldc, spill)
	JG(LabelRef("rows"))
	Label("done")
	VZEROUPPER()
	RET()
}

// rest adds the products of the last k elements, which are fewer than a vector.
func (g *generator) rest(window string, k, x reg.Register, at reg.GPVirtual, row [together]reg.GPVirtual,
	sum [together]reg.VecVirtual) {
	from := g.vector()
	address := func(base reg.Register) Mem { return Mem{Base: base, Index: at, Scale: 1} }
	var mask Op = reg.K1
	if g.Narrow {
		vector, base, unset := g.vector(), GP64(), GP64()
		mask = vector
		MOVQ(U32(g.Lanes()), unset)
		SUBQ(k, unset)
		LEAQ(NewDataAddr(Symbol{Name: window, Static: true}, 0), base)
		VMOVDQU(Mem{Base: base, Index: unset, Scale: uint8(g.Size)}, vector)
	} else {
		one := GP64()
		MOVQ(k, reg.RCX)
		MOVQ(U32(1), one)
		SHLQ(reg.CL, one)
		DECQ(one)
		KMOVW(one.As32(), reg.K1)
	}
	g.LoadPart(address(x), mask, from)
	for i := range row {
		a := g.vector()
		g.LoadPart(address(row[i]), mask, a)
		g.FMA(a, from, sum[i])
	}
}

// write stores α times the sums in spill, plus β·C, one element at a time. Afterwards the flags have the
// comparison of the remaining rows with 0.
func (g *generator) write(rows, c, ldc reg.Register, spill Mem) {
	bits := GP64()
	g.BitsOf(simd.Address("beta"), bits)
	JEQ(LabelRef("fresh"))
	beta := XMM()
	g.moveOne(simd.Address("beta"), beta)
	for i := range together {
		value, old := XMM(), XMM()
		g.moveOne(spill.Offset(i*g.Size), value)
		g.moveOne(Mem{Base: c}, old)
		g.fmaOne(old, beta, value)
		g.moveOne(value, Mem{Base: c})
		ADDQ(ldc, c)
		DECQ(rows)
		JEQ(LabelRef("done"))
	}
	JMP(LabelRef("next"))
	Label("fresh")
	for i := range together {
		value := XMM()
		g.moveOne(spill.Offset(i*g.Size), value)
		g.moveOne(value, Mem{Base: c})
		ADDQ(ldc, c)
		DECQ(rows)
		JEQ(LabelRef("done"))
	}
	Label("next")
	TESTQ(rows, rows)
}
