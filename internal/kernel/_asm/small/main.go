// Command small generates the product of small matrices in memory for gemm/internal/kernel/f32 and f64, for
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
	bTop    = reg.R10 // row 0 of the columns of B
	cAt     = reg.R11 // element (0, 0) of the tile
	columns = reg.R12 // to come; with AVX2, in the last block, the address of the mask
	scratch = reg.R13
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
		g.isa, g.width, g.mr, g.vectors = "AVX2", 32, 6, 2
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
	for v := 1; v <= g.vectors; v++ {
		CMPQ(columns, U8(v*g.lanes()))
		JLT(LabelRef(fmt.Sprintf("edge%d", v)))
		if v < g.vectors {
			JEQ(LabelRef(g.whole(v)))
		}
	}
	for v := g.vectors; v >= 1; v-- {
		if label := fmt.Sprintf("full%d", v); v == g.vectors || g.whole(v) == label {
			g.columns(label, v, false)
		}
	}
	for v := 1; v <= g.vectors; v++ {
		g.columns(fmt.Sprintf("edge%d", v), v, true)
	}
	Label("done")
	VZEROUPPER()
	RET()
}

// whole returns the label of a last block of v whole vectors, fewer than fit. With AVX-512 masks cost nothing.
func (g *generator) whole(v int) string {
	if g.isa == "AVX512" {
		return fmt.Sprintf("edge%d", v)
	}
	return fmt.Sprintf("full%d", v)
}

// columns generates the loop over the slivers of A for a block of v vectors of columns. A block whose last
// vector is masked is the last one.
func (g *generator) columns(label string, v int, masked bool) {
	Label(label)
	if masked {
		g.mask(v)
	}
	Label(label + "sliver")
	for r := g.mr; r >= 1; r-- {
		CMPQ(rows, U8(r))
		JEQ(LabelRef(fmt.Sprintf("%srows%d", label, r)))
	}
	Comment("The last two slivers have nearly the same number of rows.")
	CMPQ(rows, U8(2*(g.mr-1)))
	JGT(LabelRef(fmt.Sprintf("%srows%d", label, g.mr)))
	for r := g.mr/2 + 1; r < g.mr-1; r++ {
		CMPQ(rows, U8(2*r))
		JLE(LabelRef(fmt.Sprintf("%srows%d", label, r)))
	}
	JMP(LabelRef(fmt.Sprintf("%srows%d", label, g.mr-1)))
	for r := g.mr; r >= 1; r-- {
		g.tile(fmt.Sprintf("%srows%d", label, r), r, v, masked)
		if r > 1 {
			JNE(LabelRef(label + "sliver"))
		}
		if masked {
			JMP(LabelRef("done"))
		} else {
			JMP(LabelRef(label + "next"))
		}
	}
	if masked {
		return
	}
	Label(label + "next")
	MOVQ(cTop, cAt)
	ADDQ(U32(v*g.width), bTop)
	ADDQ(U32(v*g.width), cAt)
	MOVQ(cAt, cTop)
	SUBQ(U8(v*g.lanes()), columns)
	JNE(LabelRef("block"))
	JMP(LabelRef("done"))
}

// mask computes the mask of the last of v vectors, in which the columns end: in K1, or with AVX2 as the
// address of the mask, in columns.
func (g *generator) mask(v int) {
	if v > 1 {
		SUBQ(U8((v-1)*g.lanes()), columns)
	}
	if g.isa == "AVX512" {
		MOVL(U32(1<<16-1), scratch.As32())
		BZHIL(columns.As32(), scratch.As32(), scratch.As32())
		KMOVW(scratch.As32(), reg.K1)
		return
	}
	MOVQ(columns, rest)
	NEGQ(columns)
	LEAQ(NewDataAddr(Symbol{Name: "smallWindow", Static: true}, 0), scratch)
	LEAQ(Mem{Base: scratch, Index: columns, Scale: uint8(g.size), Disp: g.width}, columns)
}

// sum returns the register of row i and vector j of a tile with v vectors in a row.
func (g *generator) sum(i, j, v int) reg.VecPhysical { return g.vector(i*v + j) }

// tile generates the computation of one tile of r rows and v vectors. The last vector is whole or masked.
// At the end the flags say whether there are more rows.
func (g *generator) tile(label string, r, v int, masked bool) {
	Label(label)
	for i := range r {
		for j := range v {
			g.zero(g.sum(i, j, v))
		}
	}
	MOVQ(aBase, aTop)
	if r > 4 {
		LEAQ(Mem{Base: aTop, Index: aRow, Scale: 4}, aLow)
	}
	MOVQ(bTop, bAt)
	Load(Param("k"), steps)
	mask := g.b(v, r, v)
	if masked && g.isa == "AVX2" {
		VMOVDQU(Mem{Base: columns}, mask)
	}
	Label(label + "step")
	for j := range v {
		from := Mem{Base: bAt, Disp: j * g.width}
		if !masked || j < v-1 {
			g.move(from, g.b(j, r, v))
		} else {
			g.load(from, mask, g.b(j, r, v))
		}
	}
	ADDQ(bRow, bAt)
	for i := range r {
		base := aTop
		if i >= 4 {
			base = aLow
		}
		at := Mem{Base: base}
		switch i % 4 {
		case 1:
			at.Index, at.Scale = aRow, 1
		case 2:
			at.Index, at.Scale = aRow, 2
		case 3:
			at.Index, at.Scale = aRow3, 1
		}
		if g.isa == "AVX512" && v == 1 {
			if g.size == 8 {
				VFMADD231PD_BCST(at, g.b(0, r, v), g.sum(i, 0, v))
			} else {
				VFMADD231PS_BCST(at, g.b(0, r, v), g.sum(i, 0, v))
			}
			continue
		}
		x := g.element(i, r, v, masked)
		g.broadcast(at, x)
		for j := range v {
			g.fma(x, g.b(j, r, v), g.sum(i, j, v))
		}
	}
	ADDQ(aCol, aTop)
	if r > 4 {
		ADDQ(aCol, aLow)
	}
	DECQ(steps)
	JNE(LabelRef(label + "step"))
	g.write(label, r, v, masked)
	IMUL3Q(U8(r), aRow, scratch)
	ADDQ(scratch, aBase)
	SUBQ(U8(r), rows)
}

// b returns the register of vector j of a row of B, behind the sums of a tile; b(v) is the mask of AVX2.
func (g *generator) b(j, r, v int) reg.VecPhysical { return g.vector(r*v + j) }

// element returns a register for an element of A: those that are left are used one after the other.
func (g *generator) element(i, r, v int, masked bool) reg.VecPhysical {
	first := r*v + v
	if masked && g.isa == "AVX2" {
		first++
	}
	end := 32
	if g.isa == "AVX2" {
		end = 16
	}
	return g.vector(first + i%(end-first))
}

// load loads the elements of the last vector that are in the matrix.
func (g *generator) load(from Mem, mask, to reg.VecPhysical) {
	switch {
	case g.isa == "AVX512" && g.size == 8:
		VMOVUPD_Z(from, reg.K1, to)
	case g.isa == "AVX512":
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
	case g.isa == "AVX512" && g.size == 8:
		VMOVUPD(from, reg.K1, to)
		return
	case g.isa == "AVX512":
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
func (g *generator) write(label string, r, v int, masked bool) {
	alpha, beta := g.b(0, r, v), g.b(1, r, v)
	if v == 1 && masked && g.isa == "AVX2" {
		beta = g.element(0, r, v, masked) // b(1) is the mask
	}
	mask := g.b(v, r, v)
	old := g.element(1, r, v, masked)
	g.broadcast(address("alpha"), alpha)
	Load(Param("ldc"), scratch)
	// β is 0 if all its bits except the sign are 0.
	if g.size == 8 {
		MOVQ(address("beta"), bAt)
		SHLQ(U8(1), bAt)
	} else {
		MOVL(address("beta"), bAt.As32())
		SHLL(U8(1), bAt.As32())
	}
	if masked && g.isa == "AVX2" {
		MOVQ(rest, reg.RCX)
	}
	for i := range r {
		for j := range v {
			g.multiply(alpha, g.sum(i, j, v), g.sum(i, j, v))
		}
	}
	JEQ(LabelRef(label + "fresh"))
	g.broadcast(address("beta"), beta)
	MOVQ(cAt, bAt)
	for i := range r {
		for j := range v {
			at, sum := Mem{Base: bAt, Disp: j * g.width}, g.sum(i, j, v)
			if masked && j == v-1 {
				g.load(at, mask, old)
				g.fma(beta, old, sum)
			} else {
				g.fma(at, beta, sum)
			}
		}
		if i+1 < r {
			LEAQ(Mem{Base: bAt, Index: scratch, Scale: uint8(g.size)}, bAt)
		}
	}
	Label(label + "fresh")
	for i := range r {
		for j := range v {
			at, sum := Mem{Base: cAt, Disp: j * g.width}, g.sum(i, j, v)
			if masked && j == v-1 {
				g.store(fmt.Sprintf("%srow%d", label, i), sum, at)
			} else {
				g.move(sum, at)
			}
		}
		LEAQ(Mem{Base: cAt, Index: scratch, Scale: uint8(g.size)}, cAt)
	}
}
