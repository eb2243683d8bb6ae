// Command tiles generates the micro-kernels of internal/kernel/f32 and f64 for one element type and
// one instruction set. The result is a function that computes rows of tiles. Tiles of full height and width have
// a loop of their own. All heights share the loop of each width: a step of k ends after the last row of the tile.
//
//	tiles -type f64 -isa avx512 -pkg f64 -out avx512_amd64.s
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
	mr      int // rows of a full tile
	vectors int // vectors in a row of a full tile
	unroll  int // steps of k per iteration
	spare   int // the first register that holds neither sums nor B
	last    int // the last register
}

// The general registers. Those for A and B are free while C is written.
var (
	aTop    = reg.RAX // element (0, l) of A
	aLow    = reg.RCX // element (4, l)
	aRow    = reg.RBX // bytes between rows of A
	aRow3   = reg.RDX // three times that
	aCol    = reg.RSI // bytes between columns
	bAt     = reg.RDI // row l of the sliver of B
	bRow    = reg.R8  // bytes between rows of B
	steps   = reg.R9  // of k, to come
	bTop    = reg.R10 // row 0 of the sliver of B
	cAt     = reg.R11 // element (0, 0) of the tile
	rows    = reg.R12 // of the tile
	scratch = reg.R13
	fetch   = reg.RBP // address to prefetch; for the end of a row of tiles with AVX2, the address of the mask
	ahead   = reg.R14 // distance of the prefetch of B, in bytes
	cFetch  = reg.R12 // address to prefetch in C, in the loop of full tiles
	bRow3   = reg.R14 // three times bRow, in a walk that does not prefetch B; ahead is then three rows
)

// A walk is how the loop over k of a full tile moves in A and B. A step of k has 12 multiply-adds with AVX2, and 24
// with AVX-512. So with AVX2, the other instructions count: a walk for the usual strides has only the 7 loads. Other
// strides have the loop of all heights.
type walk int

const (
	anyStride walk = iota // with any strides; B is prefetched
	alongRows             // along contiguous rows of A
	packedA               // through packed A
)

// few is the most slivers of A for which a B that is not packed is prefetched. With more of them, B is in L2 after
// the first.
const few = 4

// The fields of kernel.Tiles, as bytes from its beginning; β follows α.
const (
	fieldHeight  = 0
	fieldTaller  = 8
	fieldSlivers = 16
	fieldN       = 24
	fieldK       = 32
	fieldA       = 40
	fieldARow    = 64
	fieldACol    = 72
	fieldANext   = 80
	fieldB       = 88
	fieldBRow    = 112
	fieldBNext   = 120
	fieldC       = 128
	fieldLDC     = 152
	fieldAlpha   = 160
)

// The variables on the stack.
var (
	height  Mem // of the sliver of A
	taller  Mem // remaining slivers with this height
	slivers Mem // to come
	aBase   Mem // element (0, 0) of the sliver
	aStep   Mem // bytes from it to the next one
	cBase   Mem // element (0, 0) of the row of tiles
	columns Mem // to come
	limit   Mem // remaining steps when all of the tile of C has been prefetched
	next    Mem // next address to prefetch in the next sliver of A
	nextBy  Mem // bytes from there to the following one
	nextEnd Mem // end of the column of cache lines, behind the last row
	nextTop Mem // bytes from there to the next line of the first row
	walking Mem // the walk of full tiles
)

// field loads a field of the function's argument.
func field(offset int, to reg.GPPhysical) {
	Load(Param("t"), to)
	MOVQ(Mem{Base: to, Disp: offset}, to)
}

func main() {
	g := &generator{Set: simd.Requested(), mr: 8, vectors: 3, unroll: 4, last: 31}
	if g.Narrow {
		g.mr, g.last = 4, 15
		g.Window("window")
	}
	g.spare = (g.mr + 1) * g.vectors
	g.function()
	Generate()
}

// function generates the function.
func (g *generator) function() {
	TEXT(g.ISA, NOSPLIT, "func(t *byte)")
	locals := []*Mem{&height, &taller, &slivers, &aBase, &aStep, &cBase, &columns, &limit, &next, &nextBy, &nextEnd, &nextTop}
	if g.Narrow {
		locals = append(locals, &walking)
	}
	for _, local := range locals {
		*local = AllocLocal(8)
	}
	Load(Param("t"), fetch)
	for _, x := range []struct {
		field int
		local Mem
	}{{fieldHeight, height}, {fieldTaller, taller}, {fieldSlivers, slivers}, {fieldA, aBase}, {fieldC, cBase}} {
		MOVQ(Mem{Base: fetch, Disp: x.field}, scratch)
		MOVQ(scratch, x.local)
	}
	for _, x := range []struct {
		field int
		to    reg.GPPhysical
	}{{fieldARow, aRow}, {fieldACol, aCol}, {fieldBRow, bRow}} {
		MOVQ(Mem{Base: fetch, Disp: x.field}, x.to)
		SHLQ(g.Shift(), x.to)
	}
	LEAQ(Mem{Base: aRow, Index: aRow, Scale: 2}, aRow3)
	Comment("B is prefetched eight rows ahead, or along the row if rows are whole pages apart:",
		"these share sets of the first level of cache, which has no room for more of them.")
	MOVQ(U32(1536), ahead)
	MOVQ(bRow, scratch)
	SHLQ(U8(3), scratch)
	TESTQ(U32(4095), bRow)
	CMOVQNE(scratch, ahead)
	if g.Narrow {
		g.chooseWalk()
	}

	Label("sliver")
	Comment("The next sliver lies aNext elements on, or, if that is 0, as many rows.")
	field(fieldANext, scratch)
	SHLQ(g.Shift(), scratch)
	JNE(LabelRef("apart"))
	MOVQ(height, scratch)
	IMULQ(aRow, scratch)
	Label("apart")
	MOVQ(scratch, aStep)
	ADDQ(aBase, scratch)
	MOVQ(scratch, next)
	Comment("It is prefetched line by line, down its rows, or along them if a column fills a line.")
	CMPQ(aRow, U8(g.Size))
	JEQ(LabelRef("contiguous"))
	MOVQ(aRow, nextBy)
	MOVQ(height, fetch)
	IMULQ(aRow, fetch)
	ADDQ(fetch, scratch)
	MOVQ(scratch, nextEnd)
	NEGQ(fetch)
	ADDQ(U8(64), fetch)
	MOVQ(fetch, nextTop)
	JMP(LabelRef("prefetched"))
	Label("contiguous")
	MOVQ(aCol, nextBy)
	MOVQ(U64(1<<62), scratch)
	MOVQ(scratch, nextEnd)
	Label("prefetched")
	field(fieldN, scratch)
	MOVQ(scratch, columns)
	field(fieldB, bTop)
	MOVQ(cBase, cAt)
	Comment("The rounds that prefetch C, a row each, end at this number of steps to come.")
	field(fieldK, scratch)
	SUBQ(U8(g.unroll*(g.mr+1)), scratch)
	MOVQ(scratch, limit)

	Label("tile")
	MOVQ(height, rows)
	MOVQ(aBase, aTop)
	if g.mr > 4 {
		LEAQ(Mem{Base: aTop, Index: aRow, Scale: 4}, aLow)
	}
	MOVQ(bTop, bAt)
	field(fieldK, steps)
	MOVQ(columns, scratch)
	g.Widths(scratch, g.vectors, g.mask, g.tile)

	Label("after")
	DECQ(slivers)
	JEQ(LabelRef("done"))
	MOVQ(aStep, scratch)
	ADDQ(scratch, aBase)
	field(fieldLDC, scratch)
	IMULQ(height, scratch)
	SHLQ(g.Shift(), scratch)
	ADDQ(scratch, cBase)
	DECQ(taller)
	JNE(LabelRef("sliver"))
	DECQ(height)
	JMP(LabelRef("sliver"))
	Label("done")
	VZEROUPPER()
	RET()
}

// chooseWalk chooses the walk of the call.
func (g *generator) chooseWalk() {
	MOVQ(U32(anyStride), fetch)
	CMPQ(aCol, U8(g.Size))
	JEQ(LabelRef("alongRows"))
	CMPQ(aCol, U8(g.mr*g.Size))
	JNE(LabelRef("walk"))
	CMPQ(aRow, U8(g.Size))
	JNE(LabelRef("walk"))
	INCQ(fetch)
	Label("alongRows")
	INCQ(fetch)
	Comment("A B that is not packed may come from memory, unless it is read many times.")
	CMPQ(bRow, U32(g.vectors*g.Width))
	JEQ(LabelRef("near"))
	MOVQ(slivers, scratch)
	CMPQ(scratch, U8(few))
	JGT(LabelRef("near"))
	MOVQ(U32(anyStride), fetch)
	JMP(LabelRef("walk"))
	Label("near")
	LEAQ(Mem{Base: bRow, Index: bRow, Scale: 2}, bRow3)
	Label("walk")
	MOVQ(fetch, walking)
}

// mask computes the mask of the last of v vectors, in which the columns end: in K1, or with AVX2 its address.
func (g *generator) mask(v int) {
	if !g.Narrow {
		SUBQ(U8((v-1)*g.Lanes()), scratch)
		MOVL(U32(1<<16-1), fetch.As32())
		BZHIL(scratch.As32(), fetch.As32(), fetch.As32())
		KMOVW(fetch.As32(), reg.K1)
		return
	}
	NEGQ(scratch)
	ADDQ(U8(v*g.Lanes()), scratch) // lanes that are not set
	LEAQ(NewDataAddr(Symbol{Name: "window", Static: true}, 0), fetch)
	LEAQ(Mem{Base: fetch, Index: scratch, Scale: uint8(g.Size)}, fetch)
}

// sum returns the register of row i and vector j of the tile.
func (g *generator) sum(i, j int) reg.VecPhysical { return g.Vector(i*g.vectors + j) }

// b returns the register of vector j of a row of B.
func (g *generator) b(j int) reg.VecPhysical { return g.Vector(g.mr*g.vectors + j) }

// tile generates the computation of tiles of v vectors and all heights. With AVX-512 the last vector is always
// masked. The sums of a single vector would wait for each other: with AVX2, every second step has sums of its own.
func (g *generator) tile(label string, v int, masked bool) {
	if masked && g.Narrow && v < g.vectors {
		VMOVDQU(Mem{Base: fetch}, g.b(2))
	}
	sets := 1
	if g.Narrow && v == 1 {
		sets = 2
	}
	for i := range g.mr {
		for j := range v * sets {
			g.Zero(g.sum(i, j))
		}
	}
	if v == g.vectors && !(masked && g.Narrow) {
		g.full(label)
		Label(label + "rest")
	}
	if sets == 2 {
		SUBQ(U8(2), steps)
		JLT(LabelRef(label + "last"))
		Label(label + "two")
		g.step(label+"even", v, 0, masked)
		g.step(label+"odd", v, 1, masked)
		SUBQ(U8(2), steps)
		JGE(LabelRef(label + "two"))
		Label(label + "last")
		ADDQ(U8(2), steps)
	} else {
		TESTQ(steps, steps)
	}
	JEQ(LabelRef(label + "write"))
	Label(label + "one")
	g.step(label+"step", v, 0, masked)
	DECQ(steps)
	JNE(LabelRef(label + "one"))
	Label(label + "write")
	for i := range g.mr {
		if sets == 2 {
			g.Add(g.sum(i, 1), g.sum(i, 0), g.sum(i, 0))
		}
	}
	g.write(label, v, masked)
	if v < g.vectors || masked && g.Narrow {
		JMP(LabelRef("after"))
		return
	}
	SUBQ(U8(g.vectors*g.Lanes()), columns)
	JLE(LabelRef("after"))
	field(fieldBNext, scratch)
	LEAQ(Mem{Base: bTop, Index: scratch, Scale: uint8(g.Size)}, bTop)
	ADDQ(U32(g.vectors*g.Width), cAt)
	JMP(LabelRef("tile"))
}

// full generates the loops of full tiles, which leave fewer steps of k than a round has.
func (g *generator) full(label string) {
	CMPQ(rows, U8(g.mr))
	JNE(LabelRef(label + "rest"))
	walks := []walk{anyStride}
	if g.Narrow {
		walks = []walk{alongRows, packedA}
		CMPQ(walking, U8(alongRows))
		JLT(LabelRef(label + "rest"))
	} else {
		CMPQ(columns, U8(g.vectors*g.Lanes()))
		JLT(LabelRef(label + "rest"))
	}
	field(fieldLDC, scratch)
	MOVQ(cAt, cFetch)
	MOVQ(next, fetch)
	if g.Narrow {
		JNE(LabelRef(label + "packed"))
	}
	for at, w := range walks {
		name := label + []string{"", "", "packed"}[w]
		if w == packedA {
			Label(name)
		}
		SUBQ(U8(g.unroll), steps)
		JLT(LabelRef(name + "end"))
		Label(name + "round")
		g.round(w)
		Comment("The first rounds prefetch C, the others the next sliver of A.")
		CMPQ(steps, limit)
		JLE(LabelRef(name + "next"))
		for at := 0; at < g.vectors*g.Width; at += 64 {
			PREFETCHT0(Mem{Base: cFetch, Disp: at})
		}
		PREFETCHT0(Mem{Base: cFetch, Disp: g.vectors*g.Width - 1})
		LEAQ(Mem{Base: cFetch, Index: scratch, Scale: uint8(g.Size)}, cFetch)
		SUBQ(U8(g.unroll), steps)
		JGE(LabelRef(name + "round"))
		JMP(LabelRef(name + "end"))
		Label(name + "next")
		PREFETCHT1(Mem{Base: fetch})
		ADDQ(nextBy, fetch)
		CMPQ(fetch, nextEnd)
		JLT(LabelRef(name + "down"))
		ADDQ(nextTop, fetch)
		ADDQ(U8(64), nextEnd)
		Label(name + "down")
		SUBQ(U8(g.unroll), steps)
		JGE(LabelRef(name + "round"))
		Label(name + "end")
		if at < len(walks)-1 {
			JMP(LabelRef(label + "packedend"))
		}
	}
	MOVQ(fetch, next)
	MOVQ(height, rows)
	ADDQ(U8(g.unroll), steps)
}

// round generates the steps of one iteration of a full tile.
func (g *generator) round(w walk) {
	for s := range g.unroll {
		if w == anyStride {
			g.load(g.vectors, false)
			for i := range g.mr {
				g.multiplyAdd(g.a(i), i, g.vectors, 0)
			}
			g.advanceA()
			continue
		}
		for j := range g.vectors {
			at := Mem{Base: bAt, Disp: j * g.Width}
			switch s {
			case 1, 2:
				at.Index, at.Scale = bRow, uint8(s)
			case 3:
				at.Index, at.Scale = bRow3, 1
			}
			g.Move(at, g.b(j))
		}
		for i := range g.mr {
			at := Mem{Base: aTop, Disp: (s*g.mr + i) * g.Size}
			if w == alongRows {
				at = g.a(i)
				at.Disp = s * g.Size
			}
			g.multiplyAdd(at, i, g.vectors, 0)
		}
	}
	switch w {
	case alongRows:
		LEAQ(Mem{Base: bAt, Index: bRow, Scale: uint8(g.unroll)}, bAt)
		ADDQ(U8(g.unroll*g.Size), aTop)
	case packedA:
		LEAQ(Mem{Base: bAt, Index: bRow, Scale: uint8(g.unroll)}, bAt)
		ADDQ(U32(g.unroll*g.mr*g.Size), aTop)
	}
}

// a returns the address of A's element in row i.
func (g *generator) a(i int) Mem { return simd.InColumn(i, aTop, aLow, aRow, aRow3) }

// advanceA moves to the next column of A.
func (g *generator) advanceA() {
	ADDQ(aCol, aTop)
	if g.mr > 4 {
		ADDQ(aCol, aLow)
	}
}

// multiplyAdd adds the products of an element of A with v vectors of B to the sums of row i, from vector set on.
func (g *generator) multiplyAdd(at Mem, i, v, set int) {
	x := g.Vector(g.spare + i%(g.last-g.spare+1))
	g.Broadcast(at, x)
	for j := range v {
		g.FMA(x, g.b(j), g.sum(i, j+set))
	}
}

// load loads v vectors of a row of B, prefetches if these are all, and moves to the next row.
func (g *generator) load(v int, masked bool) {
	for j := range v {
		from := Mem{Base: bAt, Disp: j * g.Width}
		if !masked || j < v-1 {
			g.Move(from, g.b(j))
		} else {
			mask := g.b(2)
			if g.Narrow && v == g.vectors {
				mask = g.Vector(g.spare)
				VMOVDQU(Mem{Base: fetch}, mask)
			}
			g.LoadPart(from, mask, g.b(j))
		}
	}
	if v == g.vectors {
		for at := 0; at < v*g.Width; at += 64 {
			PREFETCHT0(Mem{Base: bAt, Index: ahead, Scale: 1, Disp: at})
		}
	}
	ADDQ(bRow, bAt)
}

// step generates one step of k for all heights: v loads of B, and for each row a broadcast of A and v multiply-adds.
func (g *generator) step(label string, v, set int, masked bool) {
	g.load(v, masked)
	for i := range g.mr {
		g.multiplyAdd(g.a(i), i, v, set)
		if i+1 < g.mr {
			CMPQ(rows, U8(i+1))
			JEQ(LabelRef(label))
		}
	}
	Label(label)
	g.advanceA()
}

// write generates C ← α·sums + β·C.
func (g *generator) write(label string, v int, masked bool) {
	alpha, beta, old := g.b(0), g.b(1), g.b(2)
	Load(Param("t"), aTop)
	g.Broadcast(Mem{Base: aTop, Disp: fieldAlpha}, alpha)
	betaAt := Mem{Base: aTop, Disp: fieldAlpha + g.Size}
	g.Broadcast(betaAt, beta)
	field(fieldLDC, scratch)
	g.BitsOf(betaAt, bAt)
	MOVQ(cAt, aTop)
	if masked && g.Narrow {
		VMOVDQU(Mem{Base: fetch}, g.Vector(g.spare))
	}
	for i := range g.mr {
		store := fmt.Sprintf("%sstore%d", label, i)
		at := func(j int) Mem { return Mem{Base: aTop, Disp: j * g.Width} }
		for j := range v {
			g.Multiply(alpha, g.sum(i, j), g.sum(i, j))
		}
		TESTQ(bAt, bAt)
		JEQ(LabelRef(store))
		for j := range v {
			if masked && j == v-1 {
				g.LoadPart(at(j), g.Vector(g.spare), old)
				g.FMA(beta, old, g.sum(i, j))
			} else {
				g.FMA(at(j), beta, g.sum(i, j))
			}
		}
		Label(store)
		for j := range v {
			if masked && j == v-1 {
				g.StorePart(g.sum(i, j), g.Vector(g.spare), at(j))
			} else {
				g.Move(g.sum(i, j), at(j))
			}
		}
		if i+1 < g.mr {
			DECQ(rows)
			JEQ(LabelRef(label + "written"))
			LEAQ(Mem{Base: aTop, Index: scratch, Scale: uint8(g.Size)}, aTop)
		}
	}
	Label(label + "written")
}
