package main

import (
	"fmt"
	"log"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
	"github.com/mmcloughlin/avo/x86"

	"asm/simd"
)

// operation is what a kernel does with each row of A: it adds a multiple of the row to y, it computes the dot product
// with x, and it adds a multiple of x, or of x and y, to the row.
type operation struct {
	axpy, dot, update, second bool
	column                    bool // only dot products, and no vector is stored before it is read
	product, solve            bool // of a triangular matrix: y is replaced
}

// solution is the distance of a solution from the product whose loop it has.
const solution = 2

// triangular are the operations of the function for triangles, in the order of vector.Operation.
var triangular = []operation{
	{axpy: true, dot: true}, {update: true}, {update: true, second: true}, {dot: true, product: true},
	{axpy: true, product: true}, {dot: true, solve: true}, {axpy: true, solve: true},
}

// level2 has the properties of the element type and the instruction set.
type level2 struct {
	simd.Set
	operation

	prefix, label string // of the set, and of the operation
	x, y          reg.Register
	at            reg.GPVirtual
	row           []reg.GPVirtual
	// Of each row of a group: the factors of the row, or of x and y, and the sum of the dot product. There may be sums
	// of each vector of a round.
	factor, other, sum []reg.VecVirtual
}

// generateLevel2 generates the functions of level 2.
func generateLevel2() {
	const arguments = "lda int, x, y *byte"
	function("axpys", "size uintptr, m, n int, alpha, a *byte, "+arguments, func(g *level2) {
		g.rectangle(operation{axpy: true})
	})
	function("ger", "size uintptr, m, n int, alpha, a *byte, "+arguments, func(g *level2) {
		g.rectangle(operation{update: true})
	})
	function("column", "size uintptr, m, n int, alpha, a *byte, lda int, x, beta, y *byte, incY int",
		(*level2).columnOf)
	function("triangle", "size uintptr, op, strips, n, dn, off, doff int, alpha, a *byte, da, "+arguments+
		", dx int, unit bool", (*level2).triangle)
}

// function generates a function for all element types and instruction sets.
func function(name, arguments string, body func(g *level2)) {
	TEXT(name, NOSPLIT, "func("+arguments+")")
	simd.ForEach(simd.Address("size"), func(s simd.Set, prefix string) {
		body(&level2{Set: s, prefix: prefix})
	})
}

// clear sets a register to 0. Unlike of the one in simd, avo knows that the result does not depend on the register.
func clear(v reg.VecVirtual) { VXORPS(v, v, v) }

// together is the number of vectors of a row in one round of the loop.
const together = 2

// rectangle generates the code for full matrices.
func (g *level2) rectangle(op operation) {
	a, lda, u := Load(Param("a"), GP64()), Load(Param("lda"), GP64()), Load(Param("x"), GP64())
	y, m := Load(Param("y"), GP64()), Load(Param("m"), GP64())
	g.x, g.y, g.operation = y, y, op
	SHLQ(g.Shift(), lda)
	alpha := g.Argument("alpha")
	for _, rows := range []int{4, 1} {
		g.label = fmt.Sprint(g.prefix, "rows", rows)
		Label(g.label)
		CMPQ(m, U8(rows))
		JLT(LabelRef("after" + g.label))
		g.row, g.factor = nil, g.vectors(rows)
		g.rows(rows, a, lda)
		g.factors(g.factor, alpha, Mem{Base: u})
		g.columns(simd.Address("n"))
		LEAQ(Mem{Base: a, Index: lda, Scale: uint8(rows)}, a)
		ADDQ(U8(rows*g.Size), u)
		SUBQ(U8(rows), m)
		JMP(LabelRef(g.label))
		Label("after" + g.label)
	}
}

// columnOf generates the code for y ← α·A·x + β·y. Each of four rows has a sum for every vector of a round.
func (g *level2) columnOf() {
	a, lda, m := Load(Param("a"), GP64()), Load(Param("lda"), GP64()), Load(Param("m"), GP64())
	y, incY, spill := Load(Param("y"), GP64()), Load(Param("incY"), GP64()), AllocLocal(4*8)
	g.x, g.operation, g.label = Load(Param("x"), GP64()), operation{dot: true, column: true}, g.prefix+"column"
	SHLQ(g.Shift(), lda)
	SHLQ(g.Shift(), incY)
	Label(g.label)
	row := simd.Rows(a, lda, m)
	g.row = row[:]
	LEAQ(Mem{Base: a, Index: lda, Scale: 4}, a)
	g.sum = g.vectors(together * len(row))
	for _, sum := range g.sum {
		clear(sum)
	}
	g.columns(simd.Address("n"))
	for r := range row {
		g.Add(g.sum[len(row)+r], g.sum[r], g.sum[r])
	}
	total, beta, bits := g.total(), Mem{Base: Load(Param("beta"), GP64())}, GP64()
	g.Multiply(g.four(g.Argument("alpha")), total, total)
	g.Move(total, spill)
	factor := XMM()
	g.MoveOne(beta, factor)
	g.BitsOf(beta, bits)
	for r := range row {
		store, value := fmt.Sprint(g.label, "store", r), XMM()
		g.MoveOne(spill.Offset(r*g.Size), value)
		TESTQ(bits, bits)
		JEQ(LabelRef(store))
		g.FMAOne(Mem{Base: y}, factor, value)
		Label(store)
		g.MoveOne(value, Mem{Base: y})
		ADDQ(incY, y)
		DECQ(m)
		JEQ(LabelRef(g.label + "done"))
	}
	JMP(LabelRef(g.label))
	Label(g.label + "done")
}

// rows computes the addresses of the rows of a group, in new registers unless it has some.
func (g *level2) rows(rows int, a, lda reg.Register) {
	for r := range rows {
		if len(g.row) == r {
			g.row = append(g.row, GP64())
		}
		if r == 0 {
			MOVQ(a, g.row[0])
		} else {
			LEAQ(Mem{Base: g.row[r-1], Index: lda, Scale: 1}, g.row[r])
		}
	}
}

// vectors returns new registers.
func (g *level2) vectors(n int) (list []reg.VecVirtual) {
	for range n {
		list = append(list, g.Virtual())
	}
	return list
}

// factors loads α times the elements at u.
func (g *level2) factors(f []reg.VecVirtual, alpha reg.VecVirtual, u Mem) {
	for r := range f {
		g.Broadcast(u.Offset(r*g.Size), f[r])
		g.Multiply(alpha, f[r], f[r])
	}
}

// four returns the first four elements of a vector.
func (g *level2) four(v reg.VecVirtual) reg.VecVirtual {
	if g.Size == 8 {
		return v.AsY().(reg.VecVirtual)
	}
	return v.AsX().(reg.VecVirtual)
}

// triangle generates the code for strips of triangles.
func (g *level2) triangle() {
	masks := "triangles" + g.prefix[:3]
	if g.Narrow { // for both instruction sets
		GLOBL(masks, RODATA|NOPTR)
		for i := range 4 * 4 * 4 {
			lower, strict, r, c := i/32 == 1, i/16%2 == 1, i/4%4, i%4
			g.Data(i, !lower && c > r || lower && c < r || c == r && !strict)
		}
	}
	for _, slot := range []string{"off", "doff", "da", "lda", "dx"} {
		SHLQ(g.Shift(), simd.Address(slot))
	}
	x, y, off := Load(Param("x"), GP64()), Load(Param("y"), GP64()), Load(Param("off"), GP64())
	SUBQ(off, x)
	SUBQ(off, y)
	SUBQ(off, simd.Address("a"))
	table, unit := GP64(), Load(Param("unit"), GP64())
	LEAQ(NewDataAddr(Symbol{Name: masks, Static: true}, 0), table)
	TESTQ(off, off)
	JLT(LabelRef(g.prefix + "upper"))
	ADDQ(U32(32*g.Size), table)
	Label(g.prefix + "upper")
	g.x, g.y = x, y
	alpha := g.Argument("alpha")
	label := func(op int) string { return fmt.Sprint(g.prefix, "strip", op) }
	for op := range triangular {
		CMPQ(simd.Address("op"), U8(op))
		JEQ(LabelRef(label(op)))
	}
	RET()
	products := map[bool]level2{} // by axpy; a solution has their registers, and shares the loop over the columns
	for op, operation := range triangular {
		if g.row, g.factor, g.other, g.sum = nil, g.vectors(4), g.vectors(4), g.vectors(4); operation.solve {
			of := products[operation.axpy]
			g.row, g.factor, g.sum = of.row, of.factor, of.sum
		}
		g.label, g.operation = label(op), operation
		Label(g.label)
		a, lda := Load(Param("a"), GP64()), Load(Param("lda"), GP64())
		g.rows(4, a, lda)
		u, v := Mem{Base: x, Index: off, Scale: 1}, Mem{Base: y, Index: off, Scale: 1}
		if g.solve && g.axpy {
			g.substitution(off, unit, v)
		}
		if g.axpy {
			g.factors(g.factor, alpha, u)
		} else if g.update {
			g.factors(g.factor, alpha, v)
		}
		if g.second {
			g.factors(g.other, alpha, u)
		}
		if g.solve {
			for _, sum := range g.sum {
				clear(sum)
			}
			JMP(LabelRef("columns" + label(op-solution)))
			Label("after" + g.label)
		} else {
			g.corner(table, off, unit, u, v)
			Label("columns" + g.label)
			g.columns(simd.Address("n"))
		}
		if g.product {
			products[g.axpy] = *g
			CMPQ(simd.Address("op"), U8(op+solution))
			JEQ(LabelRef("after" + label(op+solution)))
		}
		if g.dot {
			g.sums(alpha, v, unit)
		}
		if g.solve && g.dot {
			g.substitution(off, unit, v)
		}
		by := GP64()
		for _, step := range [][2]string{{"dn", "n"}, {"da", "a"}} {
			MOVQ(simd.Address(step[0]), by)
			ADDQ(by, simd.Address(step[1]))
		}
		ADDQ(simd.Address("doff"), off)
		ADDQ(simd.Address("dx"), x)
		ADDQ(simd.Address("dx"), y)
		DECQ(simd.Address("strips"))
		JNE(LabelRef(g.label))
		if op < len(triangular)-1 {
			VZEROUPPER()
			RET()
		}
	}
}

// corner computes the 4×4 elements on the diagonal, and begins the sums.
func (g *level2) corner(table, off, unit reg.Register, u, v Mem) {
	size, skip := 4*g.Size, "nonunit"+g.label
	inclusive := func(r int) Mem { return Mem{Base: table, Disp: r * size} }
	if g.product { // with a unit diagonal, the masks are strict
		base := GP64()
		LEAQ(Mem{Base: table, Disp: 4 * size}, base)
		TESTB(unit.(reg.GPVirtual).As8(), unit.(reg.GPVirtual).As8())
		CMOVQEQ(table, base)
		inclusive = func(r int) Mem { return Mem{Base: base, Disp: r * size} }
	}
	load := func(from Mem) reg.VecVirtual {
		to := g.four(g.Virtual())
		g.Move(from, to)
		return to
	}
	xv, yv := load(u), load(v)
	if g.product && g.axpy {
		TESTB(unit.(reg.GPVirtual).As8(), unit.(reg.GPVirtual).As8())
		JNE(LabelRef(skip))
		clear(yv)
		Label(skip)
	}
	for r, row := range g.row {
		at := Mem{Base: row, Index: off, Scale: 1}
		a := load(at)
		product := g.four(g.Virtual())
		if g.axpy {
			g.Multiply(a, g.four(g.factor[r]), product)
			VANDPS(inclusive(r), product, product)
			g.Add(product, yv, yv)
		}
		if g.dot {
			clear(g.sum[r])
			sum := g.four(g.sum[r])
			g.Multiply(a, xv, sum)
			if g.product {
				VANDPS(inclusive(r), sum, sum)
			} else {
				VANDPS(Mem{Base: table, Disp: (4 + r) * size}, sum, sum)
			}
		}
		if g.update {
			g.FMA(xv, g.four(g.factor[r]), a)
			if g.second {
				g.FMA(yv, g.four(g.other[r]), a)
			}
			g.storeFour(a, load(inclusive(r)), at)
		}
	}
	if g.axpy {
		g.Move(yv, v)
	}
}

// substitution solves the system with the 4×4 triangle on the diagonal: forward, from the first row to the last, or
// backward. The distance of strips has the direction.
func (g *level2) substitution(off, unit reg.Register, v Mem) {
	subtract, divide := simd.By(g.Size, VFNMADD231SS, VFNMADD231SD), simd.By(g.Size, VDIVSS, VDIVSD)
	CMPQ(simd.Address("da"), U8(0))
	JLT(LabelRef("backward" + g.label))
	for _, direction := range []string{"forward", "backward"} {
		Label(direction + g.label)
		var x [4]reg.VecVirtual
		for step := range x {
			order := func(i int) int {
				if direction == "forward" {
					return i
				}
				return 3 - i
			}
			element := func(i, j int) Mem {
				if g.axpy { // of the transpose
					i, j = j, i
				}
				return Mem{Base: g.row[i], Index: off, Scale: 1, Disp: j * g.Size}
			}
			i, after := order(step), fmt.Sprint("divided", direction, g.label, step)
			x[i] = XMM()
			g.MoveOne(v.Offset(i*g.Size), x[i])
			for before := range step {
				j := order(before)
				subtract(element(i, j), x[j], x[i])
			}
			TESTB(unit.(reg.GPVirtual).As8(), unit.(reg.GPVirtual).As8())
			JNE(LabelRef(after))
			divide(element(i, i), x[i], x[i])
			Label(after)
			g.MoveOne(x[i], v.Offset(i*g.Size))
		}
		if direction == "forward" {
			JMP(LabelRef("solved" + g.label))
		}
	}
	Label("solved" + g.label)
}

// storeFour stores the elements that have a mask.
func (g *level2) storeFour(from, mask reg.VecVirtual, to Mem) {
	if g.Narrow {
		g.StorePart(from, mask, to)
		return
	}
	simd.By(g.Size, VPMOVD2M, VPMOVQ2M)(mask, reg.K2)
	g.Move(from, reg.K2, to)
}

// columns computes a group of rows.
func (g *level2) columns(n Mem) {
	suffix := g.label
	g.at = GP64()
	XORQ(g.at, g.at)
	k := GP64()
	MOVQ(n, k)
	SUBQ(U8(together*g.Lanes()), k)
	JLT(LabelRef("one" + suffix))
	Label("round" + suffix)
	for i := range together {
		g.step(i, g.Width, nil)
	}
	ADDQ(U8(together*g.Width), g.at)
	SUBQ(U8(together*g.Lanes()), k)
	JGE(LabelRef("round" + suffix))
	Label("one" + suffix)
	ADDQ(U8((together-1)*g.Lanes()), k)
	JLT(LabelRef("rest" + suffix))
	g.step(0, g.Width, nil)
	ADDQ(U8(g.Width), g.at)
	Label("rest" + suffix)
	if g.column {
		ANDQ(U8(g.Lanes()-1), k)
		JEQ(LabelRef("end" + suffix))
		g.step(1, g.Width, g.Mask(k, "window"))
		Label("end" + suffix)
		return
	}
	// A part of a vector is loaded and stored as a half, a quarter and so on: what a masked store has written cannot be
	// forwarded to the next load.
	for width := g.Width / 2; width >= g.Size; width /= 2 {
		after := fmt.Sprintf("below%d_%s", width, suffix)
		TESTQ(U32(width/g.Size), k)
		JEQ(LabelRef(after))
		g.step(0, width, nil)
		ADDQ(U8(width), g.at)
		Label(after)
	}
}

// step computes vector i of the columns, or its first bytes. If mask is not nil, it computes the elements of vector 0
// that have a mask, with the sums of vector i.
func (g *level2) step(i, width int, mask Op) {
	move, part := g.Move, func(v reg.VecVirtual) Op { return v }
	switch width {
	case 4:
		move = VMOVSS
	case 8:
		move = VMOVSD
	}
	if width <= 16 {
		part = func(v reg.VecVirtual) Op { return v.AsX() }
	} else if width == 32 {
		part = func(v reg.VecVirtual) Op { return v.AsY() }
	}
	at := func(base reg.Register) Mem {
		m := Mem{Base: base, Index: g.at, Scale: 1}
		if mask == nil {
			m.Disp = i * g.Width
		}
		return m
	}
	load := func(base reg.Register) reg.VecVirtual { // and clears the rest of the register
		v := g.Virtual()
		if mask != nil {
			g.LoadPart(at(base), mask, v)
			return v
		}
		if width == g.Width {
			g.Move(at(base), v)
			return v
		}
		load := map[int]func(...Op) (*ir.Instruction, error){4: x86.VMOVSS, 8: x86.VMOVSD, 16: x86.VMOVUPS, 32: x86.VMOVUPS}
		i, err := load[width](at(base), part(v))
		if err != nil {
			log.Fatal(err)
		}
		i.Outputs = []Op{v} // avo does not know that the load clears the rest of the register
		Instruction(i)
		return v
	}
	store := func(v reg.VecVirtual, base reg.Register) { move(part(v), at(base)) }
	var x, y reg.VecVirtual
	if g.axpy || g.second {
		y = load(g.y)
	}
	if g.dot || g.update {
		x = load(g.x)
	}
	for r, row := range g.row {
		if g.column && mask == nil {
			g.FMA(at(row), x, g.sum[(i*len(g.row)+r)%len(g.sum)])
			continue
		}
		a := load(row)
		if g.update {
			g.FMA(x, g.factor[r], a)
			if g.second {
				g.FMA(y, g.other[r], a)
			}
			store(a, row)
		}
		if g.dot {
			g.FMA(a, x, g.sum[(i*len(g.row)+r)%len(g.sum)])
		}
		if g.axpy {
			g.FMA(a, g.factor[r], y)
		}
	}
	if g.axpy {
		store(y, g.y)
	}
}

// total returns the elements of the four sums, added together.
func (g *level2) total() reg.VecVirtual {
	var half [4]reg.VecVirtual
	for i := range half {
		half[i] = g.sum[i].AsY().(reg.VecVirtual)
		if !g.Narrow {
			high := YMM()
			VEXTRACTF64X4(U8(1), g.sum[i], high)
			g.Add(high, half[i], half[i])
		}
	}
	horizontal := simd.By(g.Size, VHADDPS, VHADDPD)
	horizontal(half[1], half[0], half[0])
	horizontal(half[3], half[2], half[2])
	total, high := g.four(half[0]), g.four(g.Virtual())
	if g.Size == 8 {
		VPERM2F128(U8(0x31), half[2], half[0], high)
		VPERM2F128(U8(0x20), half[2], half[0], total)
	} else {
		horizontal(half[2], half[0], half[0])
		VEXTRACTF128(U8(1), half[0], high)
	}
	g.Add(high, total, total)
	return total
}

// sums adds α times the four sums to v. A product with a triangle replaces v, or with a unit diagonal is added to it.
func (g *level2) sums(alpha reg.VecVirtual, v Mem, unit reg.Register) {
	total, old := g.total(), g.four(g.Virtual())
	g.Move(v, old)
	if g.product {
		TESTB(unit.(reg.GPVirtual).As8(), unit.(reg.GPVirtual).As8())
		JNE(LabelRef("add" + g.label))
		clear(old)
		Label("add" + g.label)
	}
	g.FMA(total, g.four(alpha), old)
	g.Move(old, v)
}
