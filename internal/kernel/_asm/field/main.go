// Command field generates the micro-kernels of internal/kernel/gf, products in GF(2⁸). Each instruction set has a
// function that computes a sliver. With AVX-512, slivers of several heights share a loop, in which a step of k ends
// after the last row; otherwise each height has its own. Few rows have loops with wider tiles, and also one for each
// small k.
//
//	field -pkg gf -out gf_amd64.s
package main

import (
	"flag"
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"asm/simd"
)

// generator has the properties of the instruction set.
type generator struct {
	rows    int  // of a full sliver
	vectors int  // in a row of a tile
	wide    int  // tiles with at most this many rows are twice as wide, if there is room
	wider   int  // tiles with at most this many rows are four times as wide
	shared  bool // tiles of one width share a loop
	small   int  // small tiles have at most this many rows; two vectors
	width   int  // bytes of a vector
	packed  int  // bytes of an element of packed A
	steady  bool // small tiles leave the prefetch of B to the hardware

	registers    []reg.VecPhysical
	move, stream func(from, to Op) // stream is a non-temporal store
	begin        func()            // nil, or what comes before all tiles
	hold         func(t shape)     // nil, or keeps A in registers for all small tiles
	// multiply adds A·B to the sums of a tile, for one step of k or for two beginning with first. If set
	// is true, A·B replaces the sums.
	multiply func(t shape, first, steps int, set bool)
	loops    int // over rows so far
}

// smallK is the most rows of B of a small tile. Its loop over k is unrolled.
const smallK = 4

// shape is the shape of a tile: rows, from least on if heights share a loop, and vectors in each row. k is set for small
// tiles only.
type shape struct {
	least, rows, vectors, k int
}

// shared reports whether several heights share the loop.
func (t shape) shared() bool { return t.least < t.rows }

// shapes returns the narrow and the wide shapes of tiles that are not small, lowest first. A step with few rows is so
// short that the loop's own instructions matter, so it has more vectors.
func (g *generator) shapes() (narrow, wide []shape) {
	if g.shared {
		return []shape{{1, g.rows, g.vectors, 0}},
			[]shape{{1, g.wider, 4 * g.vectors, 0}, {g.wider + 1, g.wide, 2 * g.vectors, 0}}
	}
	for n := 1; n <= g.rows; n++ {
		narrow = append(narrow, shape{n, n, g.vectors, 0})
		if n <= g.wide {
			wide = append(wide, shape{n, n, 2 * g.vectors, 0})
		}
	}
	return narrow, wide
}

// forRows generates the code for each row of a tile; if heights share it, it ends after the last row of the sliver.
func (g *generator) forRows(t shape, row func(i int)) {
	g.loops++
	end := fmt.Sprintf("row%d", g.loops)
	for i := range t.rows {
		if i >= t.least {
			CMPQ(rows, U8(i))
			JEQ(LabelRef(end))
		}
		row(i)
	}
	if t.shared() {
		Label(end)
	}
}

// sum returns the register of a vector of the tile.
func (g *generator) sum(t shape, row, vector int) reg.VecPhysical {
	return g.registers[row*t.vectors+vector]
}

// header is the bytes of the header of a slice, which begins with the address of its elements.
const header = 24

// from loads the address of a row, from its header in a table of rows.
func from(table reg.Register, i int, row reg.Register) { MOVQ(Mem{Base: table, Disp: header * i}, row) }

// vectorOf returns the address of a vector of the tile in a row.
func (g *generator) vectorOf(row, column reg.Register, i int) Mem {
	return Mem{Base: row, Index: column, Scale: 1, Disp: i * g.width}
}

// load loads a vector of B and prefetches the cache line 256 bytes after it. The hardware does not follow the rows of
// B if there are many of them, or if they share cache sets.
func (g *generator) load(t shape, row reg.Register, vector int, to Op) {
	m := g.vectorOf(row, bColumn, vector)
	g.move(m, to)
	if !(t.k > 0 && g.steady) && vector*g.width%64 == 0 {
		m.Disp += 256
		PREFETCHT0(m)
	}
}

// element returns the address of element i of a packed column of the sliver.
func (g *generator) element(t shape, step, i int) Mem {
	if t.shared() && step == 1 {
		return Mem{Base: aNext, Disp: g.packed * i}
	}
	return Mem{Base: aAt, Disp: g.packed * (step*t.rows + i)}
}

// The general registers.
var (
	rows    = reg.RAX
	a       = reg.RBX // the sliver of A
	aAt     = reg.RCX // column l of it
	aNext   = reg.RBP // column l+1
	column  = reg.R14 // bytes of a column, if heights share a loop
	b       = reg.RSI // the headers of the rows of B
	bAt     = reg.RDI // the header of row l
	c       = reg.R9  // the headers of the rows of C
	bColumn = reg.R8  // the first column of the tile, in rows of B
	cColumn = reg.R11 // and in rows of C
	row     = reg.R10 // a row of B or C
	columns = reg.R12 // to come
	depth   = reg.R13 // k
	steps   = reg.RDX // of k, to come
)

// rowsOfB has a register for each of two rows of B.
var rowsOfB = [2]reg.Register{row, reg.R15}

var zmm, ymm, xmm = simd.Z, simd.Y, simd.X

func main() {
	flag.Parse()
	nibbles := nibbles()
	gfni512().function("GFNI512")
	gfni256().function("GFNI256")
	avx2(nibbles).function("AVX2")
	ssse3(nibbles).function("SSSE3")
	fetch()
	Generate()
}

// gfni512 has 24 rows of one vector: one load of B is used by 24 affine transformations, each with its
// matrix from memory. Tiles with fewer rows have more vectors, which share a matrix in a register. Two
// steps of k share one addition to a sum, so the port that adds is never the limit. Small tiles have
// all of A in registers.
func gfni512() *generator {
	g := &generator{rows: 24, vectors: 1, wide: 12, wider: 4, shared: true, small: 2, width: 64, packed: 8, steady: true,
		registers: zmm, move: func(x, y Op) { VMOVDQU64(x, y) }, stream: VMOVNTDQ}
	held := zmm[24:32]
	g.hold = g.broadcasts(held)
	g.multiply = func(t shape, first, steps int, set bool) {
		rest := zmm[t.rows*t.vectors:]
		x, broadcast, product := rest[:2*t.vectors], rest[2*t.vectors:][:2], rest[2*t.vectors+2:][:2]
		for step := range steps {
			from(bAt, first+step, rowsOfB[step]) // both before a vector is loaded
		}
		for step := range steps {
			for v := range t.vectors {
				g.load(t, rowsOfB[step], v, x[2*v+step])
			}
		}
		g.forRows(t, func(i int) {
			var matrix [2]reg.VecPhysical
			for step := range steps {
				switch {
				case t.k > 0:
					matrix[step] = held[(first+step)*t.rows+i]
				case t.vectors > 1:
					matrix[step] = broadcast[step]
					VPBROADCASTQ(g.element(t, step, i), matrix[step])
				}
			}
			transform := func(step, v int, to reg.VecPhysical) {
				if t.vectors > 1 {
					VGF2P8AFFINEQB(U8(0), matrix[step], x[2*v+step], to)
				} else {
					VGF2P8AFFINEQB_BCST(U8(0), g.element(t, step, i), x[2*v+step], to)
				}
			}
			for v := range t.vectors {
				sum := g.sum(t, i, v)
				switch {
				case set && steps == 1:
					transform(0, v, sum)
				case set:
					transform(0, v, sum)
					transform(1, v, product[0])
					VPXORQ(product[0], sum, sum)
				case steps == 1:
					transform(0, v, product[0])
					VPXORQ(product[0], sum, sum)
				default:
					transform(0, v, product[0])
					transform(1, v, product[1])
					VPTERNLOGQ(U8(0x96), product[0], product[1], sum) // the sum of the three
				}
			}
		})
	}
	return g
}

// broadcasts returns the hold function that broadcasts the words of A into registers.
func (g *generator) broadcasts(to []reg.VecPhysical) func(t shape) {
	return func(t shape) {
		for i := range t.rows * t.k {
			VPBROADCASTQ(g.element(t, 0, i), to[i])
		}
	}
}

// gfni256 has 6 rows of two vectors. A matrix is broadcast once for all vectors of a row, or for all
// small tiles.
func gfni256() *generator {
	g := &generator{rows: 6, vectors: 2, wide: 2, small: 2, width: 32, packed: 8, registers: ymm, move: VMOVDQU,
		stream: VMOVNTDQ}
	held := ymm[4:12]
	g.hold = g.broadcasts(held)
	g.multiply = stepwise(func(t shape, step int, set bool) {
		x, matrix, product := ymm[16-2-t.vectors:14], ymm[14], ymm[15]
		from(bAt, step, row)
		for v := range t.vectors {
			g.load(t, row, v, x[v])
		}
		g.forRows(t, func(i int) {
			if t.k > 0 {
				matrix = held[step*t.rows+i]
			} else {
				VPBROADCASTQ(g.element(t, step, i), matrix)
			}
			for v := range t.vectors {
				sum := g.sum(t, i, v)
				if set {
					VGF2P8AFFINEQB(U8(0), matrix, x[v], sum)
					continue
				}
				VGF2P8AFFINEQB(U8(0), matrix, x[v], product)
				VPXOR(product, sum, sum)
			}
		})
	})
	return g
}

// stepwise returns the multiplication that computes one step of k after the other.
func stepwise(multiply func(t shape, step int, set bool)) func(t shape, first, steps int, set bool) {
	return func(t shape, first, steps int, set bool) {
		for step := range steps {
			multiply(t, first+step, set && step == 0)
		}
	}
}

// nibbles is the mask of the low nibbles of bytes.
func nibbles() Mem {
	m := GLOBL("nibbles", RODATA|NOPTR)
	for i := range 4 {
		DATA(8*i, U64(0x0f0f0f0f0f0f0f0f))
	}
	return m
}

// avx2 has 4 rows of two vectors. A product is the sum of two look-ups: in the products with the low
// nibbles, and in those with the high ones. The nibbles are separated once for all rows, and a table
// is loaded once for two vectors of a row.
//
// The number of these operations is the limit, and their order matters: each step is done for both
// vectors together. Small tiles are so slow that the hardware prefetches B in time.
func avx2(nibbles Mem) *generator {
	g := &generator{rows: 4, vectors: 2, wide: 1, small: 2, width: 32, packed: 32, steady: true, registers: ymm,
		move: VMOVDQU, stream: VMOVNTDQ}
	low, high, tables, product, selects := ymm[8:10], ymm[10:12], ymm[12:14], ymm[14], ymm[15]
	g.begin = func() { VMOVDQU(nibbles, selects) }
	g.multiply = stepwise(func(t shape, step int, set bool) {
		from(bAt, step, row)
		for first := 0; first < t.vectors; first += 2 {
			for v := range 2 {
				g.load(t, row, first+v, low[v])
			}
			for v := range 2 {
				VPSRLW(U8(4), low[v], high[v])
			}
			for v := range 2 {
				VPAND(selects, low[v], low[v])
			}
			for v := range 2 {
				VPAND(selects, high[v], high[v])
			}
			g.forRows(t, func(i int) {
				for half, table := range tables {
					m := g.element(t, step, i)
					m.Disp += 16 * half
					VBROADCASTI128(m, table)
				}
				sums := []reg.VecPhysical{g.sum(t, i, first), g.sum(t, i, first+1)}
				for half, index := range [][]reg.VecPhysical{low, high} {
					table := tables[half]
					if set && half == 0 {
						VPSHUFB(index[1], table, sums[1])
						VPSHUFB(index[0], table, sums[0])
						continue
					}
					VPSHUFB(index[1], table, product)
					VPSHUFB(index[0], table, table)
					VPXOR(product, sums[1], sums[1])
					VPXOR(table, sums[0], sums[0])
				}
			})
		}
	})
	return g
}

// ssse3 is avx2 with half the vector length. A look-up overwrites its table, which is then loaded
// again.
func ssse3(nibbles Mem) *generator {
	g := &generator{rows: 4, vectors: 2, width: 16, packed: 32, registers: xmm, move: MOVOU, stream: MOVNTO}
	index, product, selects := [][]reg.VecPhysical{xmm[8:10], xmm[10:12]}, xmm[12:15], xmm[15]
	g.begin = func() { MOVOU(nibbles, selects) }
	g.multiply = stepwise(func(t shape, step int, set bool) {
		from(bAt, step, row)
		for v := range t.vectors {
			low, high := index[0][v], index[1][v]
			g.move(g.vectorOf(row, bColumn, v), low)
			MOVO(low, high)
			PSRLQ(U8(4), high)
			PAND(selects, low)
			PAND(selects, high)
		}
		g.forRows(t, func(i int) {
			for half := range 2 {
				for v := range t.vectors {
					p, m := product[(4*i+2*half+v)%3], g.element(t, step, i)
					m.Disp += 16 * half
					if set && half == 0 {
						p = g.sum(t, i, v)
					}
					MOVOU(m, p)
					PSHUFB(index[half][v], p)
					if p != g.sum(t, i, v) {
						PXOR(p, g.sum(t, i, v))
					}
				}
			}
		})
	})
	return g
}

// function generates the function called name.
func (g *generator) function(name string) {
	TEXT(name, NOSPLIT, "func(rows, k, n int, a []uint64, b [][]byte, bAt int, c [][]byte, cAt int, into uint8)")
	Load(Param("rows"), rows)
	Load(Param("k"), depth)
	Load(Param("n"), columns)
	Load(Param("a").Base(), a)
	Load(Param("b").Base(), b)
	Load(Param("bAt"), bColumn)
	Load(Param("c").Base(), c)
	Load(Param("cAt"), cColumn)
	if g.begin != nil {
		g.begin()
	}
	g.tiles()
	Label("done")
	CMPB(into(), U8(intoStream))
	JNE(LabelRef("end"))
	SFENCE() // the non-temporal stores happen before all later ones
	Label("end")
	if name != "SSSE3" {
		VZEROUPPER()
	}
	RET()
}

// label returns a label in the loop over tiles of a shape.
func label(place string, t shape) string {
	name := fmt.Sprintf("%s%dx%d", place, t.rows, t.vectors)
	if t.k > 0 {
		name += fmt.Sprintf("x%d", t.k)
	}
	return name
}

// tiles generates the loops over the tiles of a sliver: either small ones, or wide ones if there are few rows; then
// narrow ones.
func (g *generator) tiles() {
	var small []shape
	if g.small > 0 {
		CMPQ(rows, U8(g.small))
		JGT(LabelRef("any"))
		CMPQ(columns, g.bytes(shape{vectors: 2}))
		JLT(LabelRef("any"))
		CMPB(into(), U8(intoSet))
		JNE(LabelRef("any"))
		CMPQ(depth, U8(smallK))
		JGT(LabelRef("any"))
		LEAQ(Mem{Base: rows, Index: depth, Scale: uint8(g.small), Disp: -g.small - 1}, steps)
		for k := 1; k <= smallK; k++ {
			for n := 1; n <= g.small; n++ {
				t := shape{n, n, 2, k}
				if small = append(small, t); len(small) > 1 {
					CMPQ(steps, U8(len(small)-1))
					JEQ(LabelRef(label("small", t)))
				}
			}
		}
		g.unrolled(small[0])
	}
	Label("any")
	if g.shared {
		MOVQ(rows, column)
		SHLQ(U8(3), column)
	}
	narrow, wide := g.shapes()
	if len(wide) > 0 {
		CMPB(into(), U8(intoStream))
		JEQ(LabelRef("narrow"))
	}
	for _, t := range wide {
		CMPQ(rows, U8(t.rows))
		JGT(LabelRef(label("above", t)))
		CMPQ(columns, g.bytes(t))
		JLT(LabelRef("narrow"))
		g.tile(t)
		g.again(t)
		JNE(LabelRef("narrow"))
		JMP(LabelRef("done"))
		Label(label("above", t))
	}
	Label("narrow")
	for at, t := range narrow {
		if at < len(narrow)-1 {
			CMPQ(rows, U8(t.rows))
			JNE(LabelRef(label("above", t)))
		}
		g.tile(t)
		JNE(LabelRef(label("tile", t)))
		JMP(LabelRef("done"))
		Label(label("stream", t))
		g.each(t, func(at Mem, sum reg.VecPhysical) { g.stream(sum, at) })
		JMP(LabelRef(label("next", t)))
		if at < len(narrow)-1 {
			Label(label("above", t))
		}
	}
	for _, t := range small[min(1, len(small)):] {
		g.unrolled(t)
	}
}

// bytes returns the bytes of a tile row.
func (g *generator) bytes(t shape) U32 { return U32(t.vectors * g.width) }

// again jumps back if there are columns for another tile. It sets the zero flag if no columns are
// left.
func (g *generator) again(t shape) {
	CMPQ(columns, g.bytes(t))
	JGE(LabelRef(label("tile", t)))
	TESTQ(columns, columns)
}

// The values of kernel.Into.
const (
	intoSet = iota
	intoAdd
	intoStream
)

// into returns the parameter into.
func into() Op { return simd.Address("into") }

// tile generates one tile, and advances to the columns after it. Only narrow tiles use non-temporal
// stores: B is best read from memory one cache line of each row at a time.
func (g *generator) tile(t shape) {
	Label(label("tile", t))
	MOVQ(a, aAt)
	MOVQ(b, bAt)
	MOVQ(depth, steps)
	if t.shared() {
		LEAQ(Mem{Base: a, Index: column, Scale: 1}, aNext)
	}
	CMPB(into(), U8(intoAdd))
	JEQ(LabelRef(label("load", t)))
	if t.shared() {
		for i := range t.rows * t.vectors {
			VPXORQ(g.registers[i], g.registers[i], g.registers[i])
		}
	} else {
		g.multiply(t, 0, 1, true)
		ADDQ(U32(t.rows*g.packed), aAt)
		ADDQ(U8(header), bAt)
		DECQ(steps)
	}
	JMP(LabelRef(label("sum", t)))
	Label(label("load", t))
	g.each(t, func(at Mem, sum reg.VecPhysical) { g.move(at, sum) })

	Label(label("sum", t))
	SUBQ(U8(2), steps)
	JLT(LabelRef(label("last", t)))
	Label(label("step", t))
	g.multiply(t, 0, 2, false)
	if t.shared() {
		LEAQ(Mem{Base: aAt, Index: column, Scale: 2}, aAt)
		LEAQ(Mem{Base: aNext, Index: column, Scale: 2}, aNext)
	} else {
		ADDQ(U32(2*t.rows*g.packed), aAt)
	}
	ADDQ(U8(2*header), bAt)
	SUBQ(U8(2), steps)
	JGE(LabelRef(label("step", t)))
	Label(label("last", t))
	CMPQ(steps, I8(-2))
	JEQ(LabelRef(label("store", t)))
	g.multiply(t, 0, 1, false)

	Label(label("store", t))
	if t.vectors == g.vectors {
		CMPB(into(), U8(intoStream))
		JEQ(LabelRef(label("stream", t)))
	}
	g.each(t, func(at Mem, sum reg.VecPhysical) { g.move(sum, at) })
	if t.vectors == g.vectors {
		Label(label("next", t))
	}
	ADDQ(g.bytes(t), bColumn)
	ADDQ(g.bytes(t), cColumn)
	SUBQ(g.bytes(t), columns)
}

// unrolled generates the small tiles of one shape. They do not add to C.
func (g *generator) unrolled(t shape) {
	Label(label("small", t))
	MOVQ(a, aAt)
	MOVQ(b, bAt)
	if g.hold != nil {
		g.hold(t)
	}
	Label(label("tile", t))
	for step := 0; step < t.k; step += 2 {
		g.multiply(t, step, min(2, t.k-step), step == 0)
	}
	g.each(t, func(at Mem, sum reg.VecPhysical) { g.move(sum, at) })
	ADDQ(g.bytes(t), bColumn)
	ADDQ(g.bytes(t), cColumn)
	SUBQ(g.bytes(t), columns)
	g.again(t)
	JNE(LabelRef("any"))
	JMP(LabelRef("done"))
}

// each calls f for every vector of a tile of C and the register of its sum.
func (g *generator) each(t shape, f func(at Mem, sum reg.VecPhysical)) {
	g.forRows(t, func(i int) {
		from(c, i, row)
		for v := range t.vectors {
			f(g.vectorOf(row, cColumn, v), g.sum(t, i, v))
		}
	})
}

// fetch generates the function that prefetches memory.
func fetch() {
	const line = 64
	TEXT("Fetch", NOSPLIT, "func(p []byte)")
	at, end := GP64(), GP64()
	Load(Param("p").Base(), at)
	Load(Param("p").Len(), end)
	ADDQ(at, end)
	JMP(LabelRef("next"))
	Label("fetch")
	PREFETCHT1(Mem{Base: at})
	ADDQ(Imm(line), at)
	Label("next")
	CMPQ(at, end)
	JB(LabelRef("fetch"))
	RET()
}
