// Command pack generates the copies and sums that pack operands for the micro-kernels of
// internal/kernel/f32 and f64, for one element type. Loads and stores limit them, so AVX2 is as
// fast as AVX-512.
//
//	pack -type f64 -pkg f64 -out pack_amd64.s
package main

import (
	"flag"
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"asm/simd"
)

const width = 32 // bytes of a vector

func main() {
	typ := flag.String("type", "f64", "element type: f32 or f64")
	flag.Parse()
	s := simd.New(*typ, "avx2")
	name := fmt.Sprintf("float%d", 8*s.Size)
	duplicate(s, name)
	split(s, name, 3)
	split(s, name, 6)
	transpose(s, name)
	add(s, name)
	Generate()
}

// scalar moves one element.
func scalar(size int, from, to Mem, through reg.GPVirtual) {
	if size == 8 {
		MOVQ(from, through)
		MOVQ(through, to)
		return
	}
	MOVL(from, through.As32())
	MOVL(through.As32(), to)
}

// duplicate generates the copy of a block in the same order.
func duplicate(s simd.Set, typ string) {
	TEXT("Copy", NOSPLIT, fmt.Sprintf("func(rows, cols int, dst []%[1]s, ldd int, src []%[1]s, lds int)", typ))
	rows, cols := Load(Param("rows"), GP64()), Load(Param("cols"), GP64())
	dst, src := Load(Param("dst").Base(), GP64()), Load(Param("src").Base(), GP64())
	ldd, lds := Load(Param("ldd"), GP64()), Load(Param("lds"), GP64())
	for _, x := range []reg.GPVirtual{cols.(reg.GPVirtual), ldd.(reg.GPVirtual), lds.(reg.GPVirtual)} {
		SHLQ(s.Shift(), x)
	}
	TESTQ(rows, rows)
	JLE(LabelRef("done"))
	Label("row")
	at, left := GP64(), GP64()
	XORQ(at, at)
	MOVQ(cols, left)
	Label("vector")
	SUBQ(U8(width), left)
	JLT(LabelRef("half"))
	x := YMM()
	VMOVDQU(Mem{Base: src, Index: at, Scale: 1}, x)
	VMOVDQU(x, Mem{Base: dst, Index: at, Scale: 1})
	ADDQ(U8(width), at)
	JMP(LabelRef("vector"))
	Label("half")
	ADDQ(U8(width), left)
	CMPQ(left, U8(width/2))
	JLT(LabelRef("elements"))
	y := XMM()
	VMOVDQU(Mem{Base: src, Index: at, Scale: 1}, y)
	VMOVDQU(y, Mem{Base: dst, Index: at, Scale: 1})
	ADDQ(U8(width/2), at)
	Label("elements")
	CMPQ(at, cols)
	JGE(LabelRef("next"))
	scalar(s.Size, Mem{Base: src, Index: at, Scale: 1}, Mem{Base: dst, Index: at, Scale: 1}, GP64())
	ADDQ(U8(s.Size), at)
	JMP(LabelRef("elements"))
	Label("next")
	ADDQ(lds, src)
	ADDQ(ldd, dst)
	DECQ(rows)
	JNZ(LabelRef("row"))
	Label("done")
	VZEROUPPER()
	RET()
}

// split generates the copy of a block into slivers with that many vectors a row. It copies a whole row,
// over all slivers, before the next: neighbouring slivers share cache lines. If rows compete for cache
// sets, these lines would be evicted before the second sliver is copied.
func split(s simd.Set, typ string, vectors int) {
	name := fmt.Sprintf("Split%d", vectors*s.Lanes())
	TEXT(name, NOSPLIT, fmt.Sprintf("func(rows, slivers int, dst []%[1]s, next int, src []%[1]s, lds int)", typ))
	rows, slivers := Load(Param("rows"), GP64()), Load(Param("slivers"), GP64())
	dst, src := Load(Param("dst").Base(), GP64()), Load(Param("src").Base(), GP64())
	next, lds := Load(Param("next"), GP64()), Load(Param("lds"), GP64())
	SHLQ(s.Shift(), next)
	SHLQ(s.Shift(), lds)
	Comment("Rows of a block are short: the hardware does not fetch the next ones ahead.")
	ahead := GP64()
	MOVQ(lds, ahead)
	SHLQ(U8(2), ahead)
	Label("row")
	from, to, left := GP64(), GP64(), GP64()
	MOVQ(src, from)
	MOVQ(dst, to)
	MOVQ(slivers, left)
	Label("sliver")
	var x []reg.VecVirtual
	for i := range vectors {
		x = append(x, YMM())
		VMOVDQU(Mem{Base: from, Disp: i * width}, x[i])
	}
	for at := 0; at < vectors*width; at += 64 {
		PREFETCHT0(Mem{Base: from, Index: ahead, Scale: 1, Disp: at})
	}
	for i := range x {
		VMOVDQU(x[i], Mem{Base: to, Disp: i * width})
	}
	ADDQ(U32(vectors*width), from)
	ADDQ(next, to)
	DECQ(left)
	JNZ(LabelRef("sliver"))
	ADDQ(lds, src)
	ADDQ(U32(vectors*width), dst)
	DECQ(rows)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

// transpose generates the copy of four rows into columns.
func transpose(s simd.Set, typ string) {
	TEXT("Transpose", NOSPLIT, fmt.Sprintf("func(rows, cols int, dst []%[1]s, ldd int, src []%[1]s, lds int)", typ))
	rows, cols := Load(Param("rows"), GP64()), Load(Param("cols"), GP64())
	dst := Load(Param("dst").Base(), GP64())
	ldd, lds := Load(Param("ldd"), GP64()), Load(Param("lds"), GP64())
	SHLQ(s.Shift(), ldd)
	SHLQ(s.Shift(), lds)
	row := simd.Rows(Load(Param("src").Base(), GP64()), lds, rows)
	lanes := s.Lanes()
	SUBQ(U8(lanes), cols)
	JLT(LabelRef("rest"))
	Label("block")
	var x, y [4]reg.VecVirtual
	for i := range x {
		x[i], y[i] = YMM(), YMM()
		VMOVUPD(Mem{Base: row[i]}, x[i])
		ADDQ(U8(width), row[i])
	}
	if s.Size == 8 {
		VUNPCKLPD(x[1], x[0], y[0]) // 00 10 02 12
		VUNPCKHPD(x[1], x[0], y[1]) // 01 11 03 13
		VUNPCKLPD(x[3], x[2], y[2]) // 20 30 22 32
		VUNPCKHPD(x[3], x[2], y[3])
		VPERM2F128(U8(0x20), y[2], y[0], x[0])
		VPERM2F128(U8(0x20), y[3], y[1], x[1])
		VPERM2F128(U8(0x31), y[2], y[0], x[2])
		VPERM2F128(U8(0x31), y[3], y[1], x[3])
		for i := range x {
			VMOVUPD(x[i], Mem{Base: dst})
			ADDQ(ldd, dst)
		}
	} else {
		VUNPCKLPS(x[1], x[0], y[0]) // 00 10 01 11 | 04 14 05 15
		VUNPCKHPS(x[1], x[0], y[1]) // 02 12 03 13 | 06 16 07 17
		VUNPCKLPS(x[3], x[2], y[2])
		VUNPCKHPS(x[3], x[2], y[3])
		VUNPCKLPD(y[2], y[0], x[0]) // column 0 | 4
		VUNPCKHPD(y[2], y[0], x[1])
		VUNPCKLPD(y[3], y[1], x[2])
		VUNPCKHPD(y[3], y[1], x[3])
		for i := range x {
			VMOVUPS(x[i].AsX(), Mem{Base: dst})
			ADDQ(ldd, dst)
		}
		for i := range x {
			VEXTRACTF128(U8(1), x[i], Mem{Base: dst})
			ADDQ(ldd, dst)
		}
	}
	SUBQ(U8(lanes), cols)
	JGE(LabelRef("block"))
	Label("rest")
	ADDQ(U8(lanes), cols)
	JEQ(LabelRef("done"))
	Label("column")
	for i := range row {
		scalar(s.Size, Mem{Base: row[i]}, Mem{Base: dst, Disp: i * s.Size}, GP64())
		ADDQ(U8(s.Size), row[i])
	}
	ADDQ(ldd, dst)
	DECQ(cols)
	JNZ(LabelRef("column"))
	Label("done")
	VZEROUPPER()
	RET()
}

// add generates the sum of one block and a multiple of another.
func add(s simd.Set, typ string) {
	TEXT("Add", NOSPLIT, fmt.Sprintf("func(rows, cols int, dst []%[1]s, ldd int, x []%[1]s, ldx int, "+
		"alpha %[1]s, y []%[1]s, ldy int)", typ))
	rows, cols := Load(Param("rows"), GP64()), Load(Param("cols"), GP64())
	dst, x, y := Load(Param("dst").Base(), GP64()), Load(Param("x").Base(), GP64()), Load(Param("y").Base(), GP64())
	ldd, ldx, ldy := Load(Param("ldd"), GP64()), Load(Param("ldx"), GP64()), Load(Param("ldy"), GP64())
	for _, x := range []reg.Register{cols, ldd, ldx, ldy} {
		SHLQ(s.Shift(), x)
	}
	alpha := YMM()
	s.Broadcast(simd.Address("alpha"), alpha)
	TESTQ(rows, rows)
	JLE(LabelRef("done"))
	Comment("Rows of slivers are short: the hardware does not fetch them ahead. What is written",
		"is a line that has to come first.")
	aheadDst, aheadX, aheadY := GP64(), GP64(), GP64()
	LEAQ(Mem{Base: dst, Index: ldd, Scale: 8}, aheadDst)
	LEAQ(Mem{Base: x, Index: ldx, Scale: 8}, aheadX)
	LEAQ(Mem{Base: y, Index: ldy, Scale: 8}, aheadY)

	Label("row")
	at, left := GP64(), GP64()
	XORQ(at, at)
	MOVQ(cols, left)
	SUBQ(U8(2*width), left)
	JLT(LabelRef("rest"))
	Label("line")
	PREFETCHT1(Mem{Base: aheadX, Index: at, Scale: 1})
	PREFETCHT1(Mem{Base: aheadY, Index: at, Scale: 1})
	PREFETCHT1(Mem{Base: aheadDst, Index: at, Scale: 1})
	for i := range 2 {
		sum := YMM()
		VMOVUPS(Mem{Base: x, Index: at, Scale: 1, Disp: i * width}, sum)
		s.FMA(Mem{Base: y, Index: at, Scale: 1, Disp: i * width}, alpha, sum)
		VMOVUPS(sum, Mem{Base: dst, Index: at, Scale: 1, Disp: i * width})
	}
	ADDQ(U8(2*width), at)
	SUBQ(U8(2*width), left)
	JGE(LabelRef("line"))
	Label("rest")
	ADDQ(U8(width), left)
	JLT(LabelRef("elements"))
	sum := YMM()
	VMOVUPS(Mem{Base: x, Index: at, Scale: 1}, sum)
	s.FMA(Mem{Base: y, Index: at, Scale: 1}, alpha, sum)
	VMOVUPS(sum, Mem{Base: dst, Index: at, Scale: 1})
	ADDQ(U8(width), at)
	Label("elements")
	CMPQ(at, cols)
	JGE(LabelRef("next"))
	one := XMM()
	s.MoveOne(Mem{Base: x, Index: at, Scale: 1}, one)
	s.FMAOne(Mem{Base: y, Index: at, Scale: 1}, alpha.AsX(), one)
	s.MoveOne(one, Mem{Base: dst, Index: at, Scale: 1})
	ADDQ(U8(s.Size), at)
	JMP(LabelRef("elements"))
	Label("next")
	for _, step := range [][2]reg.Register{{ldd, dst}, {ldd, aheadDst}, {ldx, x}, {ldx, aheadX}, {ldy, y}, {ldy, aheadY}} {
		ADDQ(step[0], step[1])
	}
	DECQ(rows)
	JNZ(LabelRef("row"))
	Label("done")
	VZEROUPPER()
	RET()
}
