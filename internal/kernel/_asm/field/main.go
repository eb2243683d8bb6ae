// Command field generates the micro-kernels of gemm/internal/kernel/gf, products in
// GF(2⁸), for one instruction set: a function that computes a sliver of rows, with a
// loop for each number of rows.
//
//	field -isa gfni512 -pkg gf -out gfni512_amd64.s -stubs gfni512_amd64.go
package main

import (
	"flag"
	"fmt"
	"log"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// generator holds what the instruction set decides.
type generator struct {
	rows    int // of a full sliver
	vectors int // in a row of a tile
	width   int // bytes of a vector
	packed  int // bytes of an element of packed A
	unroll  int // steps of k a round, 1 or 2

	sum      func(row, vector int) reg.VecPhysical
	zero     func(x reg.Register)
	move     func(from, to Op)
	multiply func(rows, steps int) // adds A·B for some steps of k to the sums
}

// The general registers.
var (
	rows    = reg.RAX
	a       = reg.RBX // the sliver of A
	aAt     = reg.RCX // column l of it
	b       = reg.RSI // the tile's columns of B
	bAt     = reg.RDI // row l of them
	ldb     = reg.R8  // bytes between rows of B
	c       = reg.R9  // the tile of C
	cAt     = reg.R10 // row i of it
	ldc     = reg.R11 // bytes between rows of C
	columns = reg.R12 // to come
	depth   = reg.R13 // k
	steps   = reg.RDX // of k, to come
)

var zmm = []reg.VecPhysical{
	reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7, reg.Z8, reg.Z9, reg.Z10,
	reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15, reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20,
	reg.Z21, reg.Z22, reg.Z23, reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31,
}

var ymm = []reg.VecPhysical{
	reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7,
	reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12, reg.Y13, reg.Y14, reg.Y15,
}

var xmm = []reg.VecPhysical{
	reg.X0, reg.X1, reg.X2, reg.X3, reg.X4, reg.X5, reg.X6, reg.X7,
	reg.X8, reg.X9, reg.X10, reg.X11, reg.X12, reg.X13, reg.X14, reg.X15,
}

func main() {
	isa := flag.String("isa", "gfni512", "instruction set: gfni512, gfni256, avx2 or ssse3")
	flag.Parse()
	sets := map[string]struct {
		make func() *generator
		name string
		doc  string
	}{
		"gfni512": {gfni512, "mulGFNI512", "affine transformations of 64 bytes"},
		"gfni256": {gfni256, "mulGFNI256", "affine transformations of 32 bytes"},
		"avx2":    {avx2, "mulAVX2", "look-ups of 32 nibbles"},
		"ssse3":   {ssse3, "mulSSSE3", "look-ups of 16 nibbles"},
	}
	set, ok := sets[*isa]
	if !ok {
		log.Fatalf("-isa %s: gfni512, gfni256, avx2 or ssse3", *isa)
	}
	set.make().function(set.name, set.doc, *isa)
	Generate()
}

// gfni512: a sum a row, of 24 rows: one load of B serves 24 affine transformations,
// each of which takes its matrix from memory. Two steps of k share the addition to a
// sum, so that the port that adds is never what limits.
func gfni512() *generator {
	g := &generator{rows: 24, vectors: 1, width: 64, packed: 8, unroll: 2}
	g.sum = func(row, _ int) reg.VecPhysical { return zmm[row] }
	g.zero = func(x reg.Register) { VPXORQ(x, x, x) }
	g.move = func(x, y Op) { VMOVDQU64(x, y) }
	g.multiply = func(rows, steps int) {
		x, y := zmm[24], zmm[25]
		VMOVDQU64(Mem{Base: bAt}, x)
		if steps == 2 {
			VMOVDQU64(Mem{Base: bAt, Index: ldb, Scale: 1}, y)
		}
		for i := range rows {
			s, t := zmm[26+i%3], zmm[29+i%3]
			VGF2P8AFFINEQB_BCST(U8(0), Mem{Base: aAt, Disp: 8 * i}, x, s)
			if steps == 2 {
				VGF2P8AFFINEQB_BCST(U8(0), Mem{Base: aAt, Disp: 8 * (rows + i)}, y, t)
				VPTERNLOGQ(U8(0x96), s, t, zmm[i]) // the sum of the three
			} else {
				VPXORQ(s, zmm[i], zmm[i])
			}
		}
	}
	return g
}

// gfni256: 6 rows of two vectors. A matrix is broadcast once for both.
func gfni256() *generator {
	g := &generator{rows: 6, vectors: 2, width: 32, packed: 8, unroll: 1}
	g.sum = func(row, vector int) reg.VecPhysical { return ymm[2*row+vector] }
	g.zero = func(x reg.Register) { VPXOR(x, x, x) }
	g.move = func(x, y Op) { VMOVDQU(x, y) }
	g.multiply = func(rows, _ int) {
		x, y, matrix, product := ymm[12], ymm[13], ymm[14], ymm[15]
		VMOVDQU(Mem{Base: bAt}, x)
		VMOVDQU(Mem{Base: bAt, Disp: 32}, y)
		for i := range rows {
			VPBROADCASTQ(Mem{Base: aAt, Disp: 8 * i}, matrix)
			VGF2P8AFFINEQB(U8(0), matrix, x, product)
			VPXOR(product, g.sum(i, 0), g.sum(i, 0))
			VGF2P8AFFINEQB(U8(0), matrix, y, matrix)
			VPXOR(matrix, g.sum(i, 1), g.sum(i, 1))
		}
	}
	return g
}

// mask selects the low nibbles of 32 bytes.
func mask() Mem {
	m := GLOBL("nibbles", RODATA|NOPTR)
	for i := range 4 {
		DATA(8*i, U64(0x0f0f0f0f0f0f0f0f))
	}
	return m
}

// avx2: 4 rows of two vectors. A product is the sum of two look-ups, of the products
// with the low nibbles and with the high ones. The nibbles are separated once for all
// rows, and a table is loaded once for both vectors.
func avx2() *generator {
	g := &generator{rows: 4, vectors: 2, width: 32, packed: 32, unroll: 1}
	nibbles := mask()
	g.sum = func(row, vector int) reg.VecPhysical { return ymm[2*row+vector] }
	g.zero = func(x reg.Register) { VPXOR(x, x, x) }
	g.move = func(x, y Op) { VMOVDQU(x, y) }
	g.multiply = func(rows, _ int) {
		low, high := ymm[8:10], ymm[10:12]
		table, product := ymm[12:14], ymm[14:16]
		VMOVDQU(nibbles, product[0])
		for v := range 2 {
			VMOVDQU(Mem{Base: bAt, Disp: 32 * v}, low[v])
			VPSRLQ(U8(4), low[v], high[v])
			VPAND(product[0], low[v], low[v])
			VPAND(product[0], high[v], high[v])
		}
		for i := range rows {
			for half, index := range [][]reg.VecPhysical{low, high} {
				VBROADCASTI128(Mem{Base: aAt, Disp: 32*i + 16*half}, table[half])
				for v := range 2 {
					VPSHUFB(index[v], table[half], product[v])
					VPXOR(product[v], g.sum(i, v), g.sum(i, v))
				}
			}
		}
	}
	return g
}

// ssse3: avx2 with half the bytes. A look-up overwrites its table, which is loaded
// anew for each.
func ssse3() *generator {
	g := &generator{rows: 4, vectors: 2, width: 16, packed: 32, unroll: 1}
	nibbles := mask()
	g.sum = func(row, vector int) reg.VecPhysical { return xmm[2*row+vector] }
	g.zero = func(x reg.Register) { PXOR(x, x) }
	g.move = func(x, y Op) { MOVOU(x, y) }
	g.multiply = func(rows, _ int) {
		low, high, product := xmm[8:10], xmm[10:12], xmm[12:16]
		MOVOU(nibbles, product[0])
		for v := range 2 {
			MOVOU(Mem{Base: bAt, Disp: 16 * v}, low[v])
			MOVO(low[v], high[v])
			PSRLQ(U8(4), high[v])
			PAND(product[0], low[v])
			PAND(product[0], high[v])
		}
		for i := range rows {
			for half, index := range [][]reg.VecPhysical{low, high} {
				for v := range 2 {
					p := product[2*half+v]
					MOVOU(Mem{Base: aAt, Disp: 32*i + 16*half}, p)
					PSHUFB(index[v], p)
					PXOR(p, g.sum(i, v))
				}
			}
		}
	}
	return g
}

// function generates the function called name.
func (g *generator) function(name, doc, isa string) {
	TEXT(name, NOSPLIT, "func(rows, k, n int, a []uint64, b []byte, ldb int, c []byte, ldc int, add bool)")
	Doc(fmt.Sprintf("%s computes a sliver by %s; see kernel.Field.", name, doc))
	Pragma("noescape")
	Load(Param("rows"), rows)
	Load(Param("k"), depth)
	Load(Param("n"), columns)
	Load(Param("a").Base(), a)
	Load(Param("b").Base(), b)
	Load(Param("ldb"), ldb)
	Load(Param("c").Base(), c)
	Load(Param("ldc"), ldc)
	for n := g.rows; n > 1; n-- {
		CMPQ(rows, U8(n))
		JEQ(LabelRef(label("tile", n)))
	}
	for n := 1; n <= g.rows; n++ {
		g.tiles(n)
	}
	Label("done")
	if isa != "ssse3" {
		VZEROUPPER()
	}
	RET()
}

// label names a place in the loop for slivers of n rows.
func label(place string, n int) string { return fmt.Sprintf("%s%d", place, n) }

// tiles generates the loop over the tiles of a sliver of n rows.
func (g *generator) tiles(n int) {
	Label(label("tile", n))
	add, err := Param("add").Resolve()
	if err != nil {
		log.Fatal(err)
	}
	CMPB(add.Addr, I8(0))
	JNE(LabelRef(label("load", n)))
	for i := range n {
		for v := range g.vectors {
			g.zero(g.sum(i, v))
		}
	}
	JMP(LabelRef(label("sum", n)))
	Label(label("load", n))
	g.each(n, func(at Mem, sum reg.VecPhysical) { g.move(at, sum) })

	Label(label("sum", n))
	MOVQ(a, aAt)
	MOVQ(b, bAt)
	MOVQ(depth, steps)
	SUBQ(U8(g.unroll), steps)
	JLT(LabelRef(label("last", n)))
	Label(label("step", n))
	g.multiply(n, g.unroll)
	ADDQ(U32(g.unroll*n*g.packed), aAt)
	LEAQ(Mem{Base: bAt, Index: ldb, Scale: uint8(g.unroll)}, bAt)
	SUBQ(U8(g.unroll), steps)
	JGE(LabelRef(label("step", n)))
	Label(label("last", n))
	if g.unroll == 2 {
		CMPQ(steps, I8(-2))
		JEQ(LabelRef(label("store", n)))
		g.multiply(n, 1)
	}

	Label(label("store", n))
	g.each(n, func(at Mem, sum reg.VecPhysical) { g.move(sum, at) })
	tile := U8(g.vectors * g.width)
	ADDQ(tile, b)
	ADDQ(tile, c)
	SUBQ(tile, columns)
	JNE(LabelRef(label("tile", n)))
	JMP(LabelRef("done"))
}

// each calls f for every vector of a tile of C and the register of its sum.
func (g *generator) each(n int, f func(at Mem, sum reg.VecPhysical)) {
	MOVQ(c, cAt)
	for i := range n {
		for v := range g.vectors {
			f(Mem{Base: cAt, Disp: v * g.width}, g.sum(i, v))
		}
		if i < n-1 {
			ADDQ(ldc, cAt)
		}
	}
}
