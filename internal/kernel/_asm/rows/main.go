// Command rows generates the micro-kernels of gemm/internal/kernel/f32 and f64 for
// one element type and one instruction set: for each height of tile a function that
// computes a row of tiles.
//
//	rows -type f64 -isa avx512 -pkg f64 -out avx512_amd64.s -stubs avx512_amd64.go
package main

import (
	"flag"
	"fmt"
	"log"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// generator holds what the element type and the instruction set decide.
type generator struct {
	isa     string // as in the names of functions
	size    int    // bytes of an element
	width   int    // bytes of a vector
	mr      int    // rows of a full tile
	vectors int    // vectors in a row of a full tile
	unroll  int    // steps of k a round

	limit, next Mem // on the stack: see rows

	vector    func(i int) reg.VecPhysical
	spare     int // the first register that holds neither sums nor B
	last      int // the last register
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
	aTop    = reg.RAX // element (0, l) of A
	aLow    = reg.RBX // element (4, l)
	aRow    = reg.RCX // bytes between rows of A
	aRow3   = reg.RDX // three times that
	aCol    = reg.RSI // bytes between columns
	bAt     = reg.RDI // row l of the sliver of B
	bRow    = reg.R8  // bytes between rows of B
	steps   = reg.R9  // of k, to come
	bTop    = reg.R10 // row 0 of the sliver of B
	cAt     = reg.R11 // element (0, 0) of the tile
	columns = reg.R12 // to come
	scratch = reg.R13
	fetch   = reg.RBP // what is asked for ahead of its use
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
		g.isa, g.width, g.mr, g.vectors, g.unroll = "AVX512", 64, 8, 3, 4
		g.vector = func(i int) reg.VecPhysical { return zmm[i] }
		g.zero = func(x reg.Register) { VPXORD(x, x, x) }
	case "avx2":
		g.isa, g.width, g.mr, g.vectors, g.unroll = "AVX2", 32, 4, 3, 4
		g.vector = func(i int) reg.VecPhysical { return ymm[i] }
		g.zero = func(x reg.Register) { VXORPS(x, x, x) }
		g.window()
	default:
		log.Fatalf("-isa %s: avx512 or avx2", *isa)
	}
	g.spare = (g.mr + 1) * g.vectors
	g.last = 31
	if g.isa == "AVX2" {
		g.last = 15
	}
	for r := 1; r <= g.mr; r++ {
		g.rows(r)
	}
	Generate()
}

func (g *generator) lanes() int { return g.width / g.size }

// window lays out the masks of AVX2: a vector that begins lanes−n elements into it
// has its first n elements set.
func (g *generator) window() {
	GLOBL("window", RODATA|NOPTR)
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

// rows generates the function for tiles of r rows.
func (g *generator) rows(r int) {
	typ := fmt.Sprintf("float%d", 8*g.size)
	name := fmt.Sprintf("rows%d%s", r, g.isa)
	TEXT(name, NOSPLIT, fmt.Sprintf("func(n, k int, alpha %[1]s, a []%[1]s, aRow, aCol int, b []%[1]s, bRow, bNext int, beta %[1]s, c []%[1]s, ldc, ahead int)", typ))
	Doc(
		fmt.Sprintf("%s computes C ← α·A·B + β·C for %d rows of C; see kernel.Func.", name, r),
		fmt.Sprintf("Registers: %d sums, %d vectors of B, and A's elements broadcast one by one.", r*g.vectors, g.vectors),
	)
	Pragma("noescape")

	Load(Param("n"), columns)
	Load(Param("aRow"), aRow)
	Load(Param("aCol"), aCol)
	Load(Param("b").Base(), bTop)
	Load(Param("bRow"), bRow)
	Load(Param("c").Base(), cAt)
	shift := map[int]int{4: 2, 8: 3}[g.size]
	for _, x := range []reg.Register{aRow, aCol, bRow} {
		SHLQ(U8(shift), x)
	}
	LEAQ(Mem{Base: aRow, Index: aRow, Scale: 2}, aRow3)
	g.limit, g.next = AllocLocal(8), AllocLocal(8)
	Comment("The rounds of a tile that ask for a row of C each end at this number of steps to come.")
	Load(Param("k"), scratch)
	SUBQ(U8(g.unroll*r), scratch)
	MOVQ(U32(g.unroll-1), fetch)
	CMPQ(scratch, fetch)
	CMOVQLT(fetch, scratch)
	MOVQ(scratch, g.limit)
	Comment("The others ask for the next sliver of A.")
	Load(Param("a").Base(), fetch)
	Load(Param("ahead"), scratch)
	LEAQ(Mem{Base: fetch, Index: scratch, Scale: uint8(g.size)}, fetch)
	MOVQ(fetch, g.next)

	Label("tile")
	CMPQ(columns, U8(g.vectors*g.lanes()))
	JLT(LabelRef("edge"))
	g.tile("full", r, g.vectors, false)
	Load(Param("bNext"), scratch)
	LEAQ(Mem{Base: bTop, Index: scratch, Scale: uint8(g.size)}, bTop)
	ADDQ(U32(g.vectors*g.width), cAt)
	SUBQ(U8(g.vectors*g.lanes()), columns)
	JMP(LabelRef("tile"))

	Label("edge")
	for v := 1; v <= g.vectors; v++ {
		CMPQ(columns, U8((v-1)*g.lanes()))
		JEQ(LabelRef("done")) // none are left
		if v < g.vectors {
			CMPQ(columns, U8(v*g.lanes()))
			JGT(LabelRef(fmt.Sprintf("wider%d", v)))
		}
		g.mask(v)
		g.tile(fmt.Sprintf("edge%d", v), r, v, true)
		JMP(LabelRef("done"))
		if v < g.vectors {
			Label(fmt.Sprintf("wider%d", v))
		}
	}
	Label("done")
	VZEROUPPER()
	RET()
}

// mask makes the mask of the last of v vectors, for columns that end in it: in K1,
// or, with AVX2, as the address of the mask in columns.
func (g *generator) mask(v int) {
	if g.isa == "AVX512" {
		MOVQ(columns, reg.RCX)
		SUBQ(U8((v-1)*g.lanes()), reg.RCX)
		MOVL(U32(1), scratch.As32())
		SHLL(reg.CL, scratch.As32())
		DECL(scratch.As32())
		KMOVW(scratch.As32(), reg.K1)
		Load(Param("aRow"), aRow) // which is in RCX
		SHLQ(U8(map[int]int{4: 2, 8: 3}[g.size]), aRow)
		return
	}
	NEGQ(columns)
	ADDQ(U8(v*g.lanes()), columns) // lanes that are not set
	LEAQ(NewDataAddr(Symbol{Name: "window", Static: true}, 0), scratch)
	LEAQ(Mem{Base: scratch, Index: columns, Scale: uint8(g.size)}, columns)
}

// sum is the register of row i and vector j of the tile.
func (g *generator) sum(i, j int) reg.VecPhysical { return g.vector(i*g.vectors + j) }

// b is the register of vector j of a row of B.
func (g *generator) b(j int) reg.VecPhysical { return g.vector(g.mr*g.vectors + j) }

// tile generates the computation of one tile of r rows and v vectors; the last
// vector is masked or whole.
func (g *generator) tile(label string, r, v int, masked bool) {
	for i := range r {
		for j := range v {
			g.zero(g.sum(i, j))
		}
	}
	Load(Param("a").Base(), aTop)
	if r > 4 {
		LEAQ(Mem{Base: aTop, Index: aRow, Scale: 4}, aLow)
	}
	MOVQ(bTop, bAt)
	Load(Param("k"), steps)
	if !masked {
		Load(Param("ldc"), scratch)
		MOVQ(cAt, fetch)
		JMP(LabelRef("checkC"))
		Label("roundC")
		for range g.unroll {
			g.step(r, v, masked)
		}
		for at := 0; at < g.vectors*g.width; at += 64 {
			PREFETCHT0(Mem{Base: fetch, Disp: at})
		}
		PREFETCHT0(Mem{Base: fetch, Disp: g.vectors*g.width - 1})
		LEAQ(Mem{Base: fetch, Index: scratch, Scale: uint8(g.size)}, fetch)
		SUBQ(U8(g.unroll), steps)
		Label("checkC")
		CMPQ(steps, g.limit)
		JGT(LabelRef("roundC"))

		MOVQ(g.next, fetch)
		SUBQ(U8(g.unroll), steps)
		JLT(LabelRef("rest"))
		Label("round")
		for range g.unroll {
			g.step(r, v, masked)
		}
		PREFETCHT1(Mem{Base: fetch})
		ADDQ(U8(64), fetch)
		SUBQ(U8(g.unroll), steps)
		JGE(LabelRef("round"))
		Label("rest")
		MOVQ(fetch, g.next)
		ADDQ(U8(g.unroll), steps)
	} else {
		TESTQ(steps, steps)
	}
	JEQ(LabelRef(label + "write"))
	Label(label + "one")
	g.step(r, v, masked)
	DECQ(steps)
	JNZ(LabelRef(label + "one"))

	Label(label + "write")
	g.write(label, r, v, masked)
}

// step generates one step of k: v vectors of B, r broadcasts of A, r·v multiply-adds.
func (g *generator) step(r, v int, masked bool) {
	for j := range v {
		from := Mem{Base: bAt, Disp: j * g.width}
		if !masked || j < v-1 {
			g.move(from, g.b(j))
		} else {
			g.load(from, g.b(j))
		}
	}
	if !masked && prefetchB > 0 {
		for at := 0; at < v*g.width; at += 64 {
			PREFETCHT0(Mem{Base: bAt, Disp: prefetchB + at})
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
		x := g.vector(g.spare + i%(g.last-g.spare+1))
		g.broadcast(at, x)
		for j := range v {
			g.fma(x, g.b(j), g.sum(i, j))
		}
	}
	ADDQ(aCol, aTop)
	if r > 4 {
		ADDQ(aCol, aLow)
	}
}

const prefetchB = 1536

// load loads the elements of the last vector that belong to the matrix.
func (g *generator) load(from Mem, to reg.VecPhysical) {
	switch {
	case g.isa == "AVX512" && g.size == 8:
		VMOVUPD_Z(from, reg.K1, to)
	case g.isa == "AVX512":
		VMOVUPS_Z(from, reg.K1, to)
	default:
		mask := g.vector(g.spare)
		VMOVDQU(Mem{Base: columns}, mask)
		if g.size == 8 {
			VMASKMOVPD(from, mask, to)
		} else {
			VMASKMOVPS(from, mask, to)
		}
	}
}

// store stores them. With AVX2 the mask is in the spare register.
func (g *generator) store(from reg.VecPhysical, to Mem) {
	switch {
	case g.isa == "AVX512" && g.size == 8:
		VMOVUPD(from, reg.K1, to)
	case g.isa == "AVX512":
		VMOVUPS(from, reg.K1, to)
	case g.size == 8:
		VMASKMOVPD(from, g.vector(g.spare), to)
	default:
		VMASKMOVPS(from, g.vector(g.spare), to)
	}
}

// write generates C ← α·sums + β·C.
func (g *generator) write(label string, r, v int, masked bool) {
	alpha, beta, old := g.b(0), g.b(1), g.b(2)
	address := func(name string) Op {
		component, err := Param(name).Resolve()
		if err != nil {
			log.Fatal(err)
		}
		return component.Addr
	}
	g.broadcast(address("alpha"), alpha)
	g.broadcast(address("beta"), beta)
	Load(Param("ldc"), scratch)
	MOVQ(cAt, aTop)
	// β is 0 where its bits but the sign are.
	if g.size == 8 {
		MOVQ(address("beta"), bAt)
		SHLQ(U8(1), bAt)
	} else {
		MOVL(address("beta"), bAt.As32())
		SHLL(U8(1), bAt.As32())
	}
	JEQ(LabelRef(label + "fresh"))
	if masked && g.isa == "AVX2" {
		VMOVDQU(Mem{Base: columns}, g.vector(g.spare))
	}
	for i := range r {
		for j := range v {
			at, sum := Mem{Base: aTop, Disp: j * g.width}, g.sum(i, j)
			g.multiply(alpha, sum, sum)
			if masked && j == v-1 {
				g.load(at, old)
				g.fma(beta, old, sum)
				g.store(sum, at)
			} else {
				g.fma(at, beta, sum)
				g.move(sum, at)
			}
		}
		if i+1 < r {
			LEAQ(Mem{Base: aTop, Index: scratch, Scale: uint8(g.size)}, aTop)
		}
	}
	JMP(LabelRef(label + "next"))
	Label(label + "fresh")
	if masked && g.isa == "AVX2" {
		VMOVDQU(Mem{Base: columns}, g.vector(g.spare))
	}
	for i := range r {
		for j := range v {
			at, sum := Mem{Base: aTop, Disp: j * g.width}, g.sum(i, j)
			g.multiply(alpha, sum, sum)
			if masked && j == v-1 {
				g.store(sum, at)
			} else {
				g.move(sum, at)
			}
		}
		if i+1 < r {
			LEAQ(Mem{Base: aTop, Index: scratch, Scale: uint8(g.size)}, aTop)
		}
	}
	Label(label + "next")
}
