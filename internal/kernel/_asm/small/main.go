// Command small generates the product of small matrices in memory for internal/kernel/f32 and f64, for
// one element type and one instruction set. Compared with the tiles of command tiles, nothing is prefetched,
// and there are few instructions before and after the loop over k.
//
//	small -type f64 -isa avx512 -pkg f64 -out small_avx512_amd64.s -stubs small_avx512_amd64.go
package main

import (
	"flag"
	"fmt"
	"log"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// generator has the properties of the element type and the instruction set.
type generator struct {
	isa     string // as in the names of functions
	size    int    // bytes of an element
	width   int    // bytes of a vector
	mr      int    // rows of a full tile
	vectors int    // vectors in a row of a full tile
	narrow  bool   // 16 registers of 32 bytes

	vector    func(i int) reg.VecPhysical
	zero      func(x reg.Register)
	broadcast func(ops ...Op)
	move      func(ops ...Op)
	multiply  func(ops ...Op)
	fma       func(ops ...Op)
}

var zmm = []reg.VecPhysical{
	reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7, reg.Z8, reg.Z9, reg.Z10,
	reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15, reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20,
	reg.Z21, reg.Z22, reg.Z23, reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31,
}

var ymm = []reg.VecPhysical{
	reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7,
	reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12, reg.Y13, reg.Y14, reg.Y15,
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
	typ := flag.String("type", "f64", "element type: f32 or f64")
	isa := flag.String("isa", "avx512", "instruction set: avx512 or avx2")
	flag.Parse()
	g := &generator{}
	switch *typ {
	case "f64":
		g.size = 8
		g.broadcast = func(ops ...Op) { VBROADCASTSD(ops...) }
		g.move = func(ops ...Op) { VMOVUPD(ops...) }
		g.multiply = func(ops ...Op) { VMULPD(ops...) }
		g.fma = func(ops ...Op) { VFMADD231PD(ops...) }
	case "f32":
		g.size = 4
		g.broadcast = func(ops ...Op) { VBROADCASTSS(ops...) }
		g.move = func(ops ...Op) { VMOVUPS(ops...) }
		g.multiply = func(ops ...Op) { VMULPS(ops...) }
		g.fma = func(ops ...Op) { VFMADD231PS(ops...) }
	default:
		log.Fatalf("-type %s: f32 or f64", *typ)
	}
	switch *isa {
	case "avx512":
		g.isa, g.width, g.mr, g.vectors = "AVX512", 64, 8, 3
		g.vector = func(i int) reg.VecPhysical { return zmm[i] }
		g.zero = func(x reg.Register) { VPXORD(x, x, x) }
	case "avx2":
		g.isa, g.width, g.mr, g.vectors, g.narrow = "AVX2", 32, 6, 2, true
		g.vector = func(i int) reg.VecPhysical { return ymm[i] }
		g.zero = func(x reg.Register) { VXORPS(x, x, x) }
		g.window()
	default:
		log.Fatalf("-isa %s: avx512 or avx2", *isa)
	}
	g.function()
	if err := flag.Set("out", fmt.Sprintf("../%s/small_%s_amd64.s", *typ, *isa)); err != nil {
		log.Fatal(err)
	}
	Generate()
}

func (g *generator) lanes() int { return g.width / g.size }

// shift returns log₂ of the size of an element.
func (g *generator) shift() Op { return U8(map[int]int{4: 2, 8: 3}[g.size]) }

// window defines the masks of AVX2: a vector that begins at element lanes−n of the window has its first n
// elements set.
func (g *generator) window() {
	GLOBL("smallWindow", RODATA|NOPTR)
	for i := range 2 * g.lanes() {
		var mask uint64
		if i < g.lanes() {
			mask = 1<<(8*g.size) - 1
		}
		if g.size == 8 {
			DATA(i*g.size, U64(mask))
		} else {
			DATA(i*g.size, U32(mask))
		}
	}
}

// function generates the function. It has a loop over blocks of columns, and in it one over slivers of A.
func (g *generator) function() {
	TEXT("Small"+g.isa, NOSPLIT, fmt.Sprintf("func(m, n, k int, a *%[1]s, aRow, aCol int, b *%[1]s, bRow int, "+
		"c *%[1]s, ldc int, alpha, beta %[1]s)", fmt.Sprintf("float%d", 8*g.size)))
	cTop, rest = AllocLocal(8), AllocLocal(8)
	Load(Param("n"), columns)
	Load(Param("aRow"), aRow)
	Load(Param("aCol"), aCol)
	Load(Param("b"), bTop)
	Load(Param("bRow"), bRow)
	Load(Param("c"), cAt)
	SHLQ(g.shift(), aRow)
	SHLQ(g.shift(), aCol)
	SHLQ(g.shift(), bRow)
	LEAQ(Mem{Base: aRow, Index: aRow, Scale: 2}, aRow3)
	MOVQ(cAt, cTop)

	Label("block")
	Load(Param("m"), rows)
	Load(Param("a"), aBase)
	if !g.narrow {
		KXNORW(reg.K1, reg.K1, reg.K1)
	}
	for v := 1; v <= g.vectors; v++ {
		CMPQ(columns, U8(v*g.lanes()))
		JLT(LabelRef(fmt.Sprintf("part%d", v)))
		if v < g.vectors {
			JEQ(LabelRef(fmt.Sprintf("whole%d", v)))
		}
	}
	JMP(LabelRef(fmt.Sprintf("whole%d", g.vectors)))
	for v := g.vectors; v >= 1; v-- {
		Label(fmt.Sprintf("part%d", v))
		g.mask(v)
		if g.narrow {
			g.slivers(fmt.Sprintf("part%d", v), v, true)
			JMP(LabelRef("done"))
		}
		Label(fmt.Sprintf("whole%d", v))
		g.slivers(fmt.Sprintf("whole%d", v), v, !g.narrow)
		if v == g.vectors {
			SUBQ(U8(v*g.lanes()), columns)
			JLE(LabelRef("done"))
			ADDQ(U32(v*g.width), bTop)
			MOVQ(cTop, cAt)
			ADDQ(U32(v*g.width), cAt)
			MOVQ(cAt, cTop)
			JMP(LabelRef("block"))
		} else if v > 1 {
			JMP(LabelRef("done"))
		}
	}
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
}

// mask computes the mask of the last of v vectors, in which the columns end: in K1, or with AVX2 as the
// address of the mask, in columns.
func (g *generator) mask(v int) {
	if v > 1 {
		SUBQ(U8((v-1)*g.lanes()), columns)
	}
	if !g.narrow {
		MOVL(U32(1<<16-1), height.As32())
		BZHIL(columns.As32(), height.As32(), height.As32())
		KMOVW(height.As32(), reg.K1)
		return
	}
	MOVQ(columns, rest)
	NEGQ(columns)
	LEAQ(NewDataAddr(Symbol{Name: "smallWindow", Static: true}, 0), height)
	LEAQ(Mem{Base: height, Index: columns, Scale: uint8(g.size), Disp: g.width}, columns)
}

// sum returns the register of row i and vector j of a tile with v vectors in a row.
func (g *generator) sum(i, j, v int) reg.VecPhysical { return g.vector(i*v + j) }

// tile generates the computation of tiles of v vectors and all heights. With AVX-512 the last vector is always masked.
func (g *generator) tile(label string, v int, masked bool) {
	for i := range g.mr * v {
		g.zero(g.vector(i))
	}
	MOVQ(aBase, aTop)
	LEAQ(Mem{Base: aTop, Index: aRow, Scale: 4}, aLow)
	MOVQ(bTop, bAt)
	Load(Param("k"), steps)
	if masked && g.narrow {
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
	if !g.narrow {
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
		from := Mem{Base: bAt, Disp: j * g.width}
		if !masked || j < v-1 {
			g.move(from, g.b(j, v))
		} else {
			g.load(from, g.b(v, v), g.b(j, v))
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
	at := Mem{Base: aTop}
	if i >= 4 {
		at.Base = aLow
	}
	switch i % 4 {
	case 1:
		at.Index, at.Scale = aRow, 1
	case 2:
		at.Index, at.Scale = aRow, 2
	case 3:
		at.Index, at.Scale = aRow3, 1
	}
	switch {
	case !g.narrow && v == 1 && g.size == 8:
		VFMADD231PD_BCST(at, g.b(0, v), g.sum(i, 0, v))
	case !g.narrow && v == 1:
		VFMADD231PS_BCST(at, g.b(0, v), g.sum(i, 0, v))
	default:
		x := g.element(i, v, masked)
		g.broadcast(at, x)
		for j := range v {
			g.fma(x, g.b(j, v), g.sum(i, j, v))
		}
	}
}

// b returns the register of vector j of a row of B, behind the sums of a tile; b(v) is the mask of AVX2.
func (g *generator) b(j, v int) reg.VecPhysical { return g.vector(g.mr*v + j) }

// element returns a register for an element of A: those that are left are used one after the other.
func (g *generator) element(i, v int, masked bool) reg.VecPhysical {
	first, end := g.mr*v+v, 32
	if g.narrow {
		end = 16
		if masked {
			first++
		}
	}
	return g.vector(first + i%(end-first))
}

// load loads the elements of the last vector that are in the matrix.
func (g *generator) load(from Mem, mask, to reg.VecPhysical) {
	switch {
	case !g.narrow && g.size == 8:
		VMOVUPD_Z(from, reg.K1, to)
	case !g.narrow:
		VMOVUPS_Z(from, reg.K1, to)
	case g.size == 8:
		VMASKMOVPD(from, mask, to)
	default:
		VMASKMOVPS(from, mask, to)
	}
}

// store stores the elements of the last vector that are in the matrix. With AVX2 it does so in pieces: a masked
// store takes 12 cycles on some processors.
func (g *generator) store(label string, from reg.VecPhysical, to Mem) {
	switch {
	case !g.narrow && g.size == 8:
		VMOVUPD(from, reg.K1, to)
		return
	case !g.narrow:
		VMOVUPS(from, reg.K1, to)
		return
	}
	at, x := reg.RAX, from.AsX()
	LEAQ(to, at)
	for lanes := g.lanes() / 2; lanes >= 1; lanes /= 2 {
		skip := fmt.Sprintf("%swithout%d", label, lanes)
		TESTQ(U32(lanes), reg.RCX)
		JEQ(LabelRef(skip))
		switch bytes := lanes * g.size; bytes {
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
			ADDQ(U8(lanes*g.size), at)
		}
		Label(skip)
	}
}

// address returns where an argument is.
func address(name string) Mem {
	component, err := Param(name).Resolve()
	if err != nil {
		log.Fatal(err)
	}
	return component.Addr
}

// write generates C ← α·sums + β·C, and moves cAt to the next tile.
func (g *generator) write(label string, v int, masked bool) {
	alpha, beta, mask, old := g.b(0, v), g.b(1, v), g.b(v, v), g.element(1, v, masked)
	if v == 1 && masked && g.narrow {
		beta = g.element(0, v, masked) // b(1) is the mask
	}
	g.broadcast(address("alpha"), alpha)
	g.broadcast(address("beta"), beta)
	Load(Param("ldc"), ldc)
	// β is 0 if all its bits except the sign are 0.
	if g.size == 8 {
		MOVQ(address("beta"), bAt)
		SHLQ(U8(1), bAt)
	} else {
		MOVL(address("beta"), bAt.As32())
		SHLL(U8(1), bAt.As32())
	}
	if masked && g.narrow {
		MOVQ(rest, reg.RCX)
	}
	for i := range g.mr {
		store := fmt.Sprintf("%sstore%d", label, i)
		for j := range v {
			g.multiply(alpha, g.sum(i, j, v), g.sum(i, j, v))
		}
		TESTQ(bAt, bAt)
		JEQ(LabelRef(store))
		for j := range v {
			at, sum := Mem{Base: cAt, Disp: j * g.width}, g.sum(i, j, v)
			if masked && j == v-1 {
				g.load(at, mask, old)
				g.fma(beta, old, sum)
			} else {
				g.fma(at, beta, sum)
			}
		}
		Label(store)
		for j := range v {
			at, sum := Mem{Base: cAt, Disp: j * g.width}, g.sum(i, j, v)
			if masked && j == v-1 {
				g.store(fmt.Sprintf("%srow%d", label, i), sum, at)
			} else {
				g.move(sum, at)
			}
		}
		LEAQ(Mem{Base: cAt, Index: ldc, Scale: uint8(g.size)}, cAt)
		if i+1 < g.mr {
			DECQ(height)
			JEQ(LabelRef(label + "written"))
		}
	}
	Label(label + "written")
}
