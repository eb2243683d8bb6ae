// Command small generates the product of small matrices in memory for internal/kernel/f32 and f64, for
// one element type and one instruction set. Compared with the tiles of command tiles, nothing is prefetched,
// and there are few instructions before and after the loop over k.
//
//	small -type f64 -isa avx512 -pkg f64 -out small_avx512_amd64.s
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
}

// The general registers. Those for A and B are free while C is written.
var (
	aTop    = reg.RAX // element (0, l) of the sliver of A
	aLow    = reg.RCX // element (4, l)
	aRow    = reg.RBX // bytes between rows of A
	aRow3   = reg.RDX // three times that
	aCol    = reg.RSI // bytes between columns
	bAt     = reg.RDI // row l of the columns of B
	bRow    = reg.R8  // bytes between rows of B
	steps   = reg.R9  // of k, to come
	ldc     = reg.R9  // distance of rows of C, while C is written
	bTop    = reg.R10 // row 0 of the columns of B
	cAt     = reg.R11 // element (0, 0) of the tile
	columns = reg.R12 // to come; with AVX2, in the last block, the address of the mask
	height  = reg.R13 // of the sliver of A
	rows    = reg.R14 // to come
	aBase   = reg.RBP // element (0, 0) of the sliver of A
)

// The variables on the stack.
var (
	cTop Mem // element (0, 0) of the block of columns
	rest Mem // elements in the last vector, with AVX2
)

func main() {
	g := &generator{Set: simd.Requested(), mr: 8, vectors: 3}
	if g.Narrow {
		g.mr, g.vectors = 6, 2
		g.Window("smallWindow")
	}
	g.function()
	Generate()
}

// function generates the function. It has a loop over blocks of columns, and in it one over slivers of A.
func (g *generator) function() {
	TEXT("Small"+g.ISA, NOSPLIT, fmt.Sprintf("func(m, n, k int, a *%[1]s, aRow, aCol int, b *%[1]s, bRow int, "+
		"c *%[1]s, ldc int, alpha, beta %[1]s)", fmt.Sprintf("float%d", 8*g.Size)))
	cTop, rest = AllocLocal(8), AllocLocal(8)
	Load(Param("n"), columns)
	Load(Param("aRow"), aRow)
	Load(Param("aCol"), aCol)
	Load(Param("b"), bTop)
	Load(Param("bRow"), bRow)
	Load(Param("c"), cAt)
	SHLQ(g.Shift(), aRow)
	SHLQ(g.Shift(), aCol)
	SHLQ(g.Shift(), bRow)
	LEAQ(Mem{Base: aRow, Index: aRow, Scale: 2}, aRow3)
	MOVQ(cAt, cTop)

	Label("block")
	Load(Param("m"), rows)
	Load(Param("a"), aBase)
	g.Widths(columns, g.vectors, g.mask, g.slivers)
	Label("done")
	VZEROUPPER()
	RET()
}

// slivers generates the loop over the slivers of A for a block of v vectors of columns.
func (g *generator) slivers(label string, v int, masked bool) {
	Label(label + "sliver")
	Comment("The last two slivers have nearly the same number of rows.")
	MOVQ(rows, height)
	CMPQ(rows, U8(g.mr))
	JLE(LabelRef(label + "cut"))
	MOVQ(U32(g.mr), height)
	CMPQ(rows, U8(2*(g.mr-1)))
	JGT(LabelRef(label + "cut"))
	LEAQ(Mem{Base: rows, Disp: 1}, height)
	SHRQ(U8(1), height)
	Label(label + "cut")
	g.tile(label, v, masked)
	TESTQ(rows, rows)
	JNE(LabelRef(label + "sliver"))
	switch {
	case masked && g.Narrow || 1 < v && v < g.vectors:
		JMP(LabelRef("done"))
	case v == g.vectors:
		SUBQ(U8(v*g.Lanes()), columns)
		JLE(LabelRef("done"))
		ADDQ(U32(v*g.Width), bTop)
		MOVQ(cTop, cAt)
		ADDQ(U32(v*g.Width), cAt)
		MOVQ(cAt, cTop)
		JMP(LabelRef("block"))
	}
}

// mask computes the mask of the last of v vectors, in which the columns end: in K1, or with AVX2 as the
// address of the mask, in columns.
func (g *generator) mask(v int) {
	if v > 1 {
		SUBQ(U8((v-1)*g.Lanes()), columns)
	}
	if !g.Narrow {
		MOVL(U32(1<<16-1), height.As32())
		BZHIL(columns.As32(), height.As32(), height.As32())
		KMOVW(height.As32(), reg.K1)
		return
	}
	MOVQ(columns, rest)
	NEGQ(columns)
	LEAQ(NewDataAddr(Symbol{Name: "smallWindow", Static: true}, 0), height)
	LEAQ(Mem{Base: height, Index: columns, Scale: uint8(g.Size), Disp: g.Width}, columns)
}

// sum returns the register of row i and vector j of a tile with v vectors in a row.
func (g *generator) sum(i, j, v int) reg.VecPhysical { return g.Vector(i*v + j) }

// tile generates the computation of tiles of v vectors and all heights. With AVX-512 the last vector is always masked.
func (g *generator) tile(label string, v int, masked bool) {
	for i := range g.mr * v {
		g.Zero(g.Vector(i))
	}
	MOVQ(aBase, aTop)
	LEAQ(Mem{Base: aTop, Index: aRow, Scale: 4}, aLow)
	MOVQ(bTop, bAt)
	Load(Param("k"), steps)
	if masked && g.Narrow {
		VMOVDQU(Mem{Base: columns}, g.b(v, v))
	}
	groups := g.groups()
	name := func(x group) string { return fmt.Sprintf("%srows%d", label, x.most) }
	for _, x := range groups[1:] {
		CMPQ(height, U8(x.least))
		JGE(LabelRef(name(x)))
	}
	for at, x := range groups {
		g.steps(name(x), x, v, masked)
		if at < len(groups)-1 {
			JMP(LabelRef(label + "write"))
		}
	}
	Label(label + "write")
	SUBQ(height, rows)
	MOVQ(height, aTop)
	IMULQ(aRow, aTop)
	ADDQ(aTop, aBase)
	g.write(label, v, masked)
}

// group is a range of heights.
type group struct{ least, most int }

// groups returns which heights share a loop over k, in which a step ends after the last row: the lowest first, then
// from the highest to lower ones.
func (g *generator) groups() []group {
	if !g.Narrow {
		return []group{{1, g.mr - 1}, {g.mr, g.mr}}
	}
	list := []group{{1, 1}}
	for r := g.mr; r > 1; r-- {
		list = append(list, group{r, r})
	}
	return list
}

// steps generates the loop over k of the tiles with a group of heights.
func (g *generator) steps(label string, x group, v int, masked bool) {
	Label(label)
	for j := range v {
		from := Mem{Base: bAt, Disp: j * g.Width}
		if !masked || j < v-1 {
			g.Move(from, g.b(j, v))
		} else {
			g.LoadPart(from, g.b(v, v), g.b(j, v))
		}
	}
	ADDQ(bRow, bAt)
	for i := range x.most {
		if i >= x.least {
			CMPQ(height, U8(i))
			JEQ(LabelRef(label + "last"))
		}
		g.multiplyAdd(i, v, masked)
	}
	if x.least < x.most {
		Label(label + "last")
	}
	ADDQ(aCol, aTop)
	if x.most > 4 {
		ADDQ(aCol, aLow)
	}
	DECQ(steps)
	JNE(LabelRef(label))
}

// multiplyAdd adds the products of an element of A with v vectors of B to the sums of row i.
func (g *generator) multiplyAdd(i, v int, masked bool) {
	at := simd.InColumn(i, aTop, aLow, aRow, aRow3)
	switch {
	case !g.Narrow && v == 1:
		simd.By(g.Size, VFMADD231PS_BCST, VFMADD231PD_BCST)(at, g.b(0, v), g.sum(i, 0, v))
	default:
		x := g.element(i, v, masked)
		g.Broadcast(at, x)
		for j := range v {
			g.FMA(x, g.b(j, v), g.sum(i, j, v))
		}
	}
}

// b returns the register of vector j of a row of B, behind the sums of a tile; b(v) is the mask of AVX2.
func (g *generator) b(j, v int) reg.VecPhysical { return g.Vector(g.mr*v + j) }

// element returns a register for an element of A: those that are left are used one after the other.
func (g *generator) element(i, v int, masked bool) reg.VecPhysical {
	first, end := g.mr*v+v, 32
	if g.Narrow {
		end = 16
		if masked {
			first++
		}
	}
	return g.Vector(first + i%(end-first))
}

// store stores the elements of the last vector that are in the matrix. With AVX2 it does so in pieces: a masked
// store takes 12 cycles on some processors.
func (g *generator) store(label string, from reg.VecPhysical, to Mem) {
	if !g.Narrow {
		g.StorePart(from, nil, to)
		return
	}
	at, x := reg.RAX, from.AsX()
	LEAQ(to, at)
	for lanes := g.Lanes() / 2; lanes >= 1; lanes /= 2 {
		skip := fmt.Sprintf("%swithout%d", label, lanes)
		TESTQ(U32(lanes), reg.RCX)
		JEQ(LabelRef(skip))
		switch bytes := lanes * g.Size; bytes {
		case 16:
			VMOVUPS(x, Mem{Base: at})
			VEXTRACTF128(U8(1), from, x)
		case 8:
			VMOVSD(x, Mem{Base: at})
			if lanes > 1 {
				VPSRLDQ(U8(8), x, x)
			}
		case 4:
			VMOVSS(x, Mem{Base: at})
		}
		if lanes > 1 {
			ADDQ(U8(lanes*g.Size), at)
		}
		Label(skip)
	}
}

// write generates C ← α·sums + β·C, and moves cAt to the next tile.
func (g *generator) write(label string, v int, masked bool) {
	alpha, beta, mask, old := g.b(0, v), g.b(1, v), g.b(v, v), g.element(1, v, masked)
	if v == 1 && masked && g.Narrow {
		beta = g.element(0, v, masked) // b(1) is the mask
	}
	g.Broadcast(simd.Address("alpha"), alpha)
	g.Broadcast(simd.Address("beta"), beta)
	Load(Param("ldc"), ldc)
	g.BitsOf(simd.Address("beta"), bAt)
	if masked && g.Narrow {
		MOVQ(rest, reg.RCX)
	}
	for i := range g.mr {
		store := fmt.Sprintf("%sstore%d", label, i)
		for j := range v {
			g.Multiply(alpha, g.sum(i, j, v), g.sum(i, j, v))
		}
		TESTQ(bAt, bAt)
		JEQ(LabelRef(store))
		for j := range v {
			at, sum := Mem{Base: cAt, Disp: j * g.Width}, g.sum(i, j, v)
			if masked && j == v-1 {
				g.LoadPart(at, mask, old)
				g.FMA(beta, old, sum)
			} else {
				g.FMA(at, beta, sum)
			}
		}
		Label(store)
		for j := range v {
			at, sum := Mem{Base: cAt, Disp: j * g.Width}, g.sum(i, j, v)
			if masked && j == v-1 {
				g.store(fmt.Sprintf("%srow%d", label, i), sum, at)
			} else {
				g.Move(sum, at)
			}
		}
		LEAQ(Mem{Base: cAt, Index: ldc, Scale: uint8(g.Size)}, cAt)
		if i+1 < g.mr {
			DECQ(height)
			JEQ(LabelRef(label + "written"))
		}
	}
	Label(label + "written")
}
