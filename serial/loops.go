package serial

import (
	"gemm"
	"gemm/gf256"
)

// nest is naive with its three loops in any order. The six orders share one statement, with 4mnk accesses
// in 2mnk operations, and form every sum in the same order. They differ in how the innermost loop walks
// through A, B and C: it stays at an element, follows a row (stride 1) or goes down a column (stride n).
//
//	order     operation of the innermost loop           A       B       C
//	ijk, jik  dot product of a row and a column         row     column  stays
//	ikj, kij  a row of C += an element of A · a row     stays   row     row
//	jki, kji  a column of C += a column · an element    column  stays   column
//
// The operations and accesses are listed in Table 1.1.1 of Golub and Van Loan, Matrix Computations, 4th ed.
// Bryant and O'Hallaron, Computer Systems: A Programmer's Perspective, 3rd ed., section 6.6.2, measure
// the six in C, with rows that are contiguous as here.
//
// A walk along a row moves a cache line every L steps, a walk down a column one in every step, unless the
// lines stay in cache until the next column needs them. So ikj and kij are the fastest for large matrices,
// and jki and kji, with two walks down columns, the slowest. In ijk and jik, each step also waits for the
// sum of the step before. The two orders of a pair differ in what their outer loops read again.
type nest struct {
	length  [3]int // of the loops, the outermost first
	c, a, b [3]int // how far a step of each loop moves in the data of the operands
}

func nestOf[T gemm.Element](order string, c, a, b gemm.Matrix[T]) (x nest) {
	for level, index := range order {
		switch index {
		case 'i':
			x.length[level], x.c[level], x.a[level] = c.Rows, c.Stride, a.Stride
		case 'j':
			x.length[level], x.c[level], x.b[level] = c.Cols, 1, 1
		case 'k':
			x.length[level], x.a[level], x.b[level] = a.Cols, 1, b.Stride
		}
	}
	return x
}

// inner calls the innermost loop, with the first elements, their steps and the length, for all steps of the outer two.
func (x nest) inner(loop func(c, a, b, stepC, stepA, stepB, length int)) {
	at := func(step [3]int, i, j int) int { return i*step[0] + j*step[1] }
	for i := range x.length[0] {
		for j := range x.length[1] {
			loop(at(x.c, i, j), at(x.a, i, j), at(x.b, i, j), x.c[2], x.a[2], x.b[2], x.length[2])
		}
	}
}

func nested[T gemm.Float](order string) loop[T] {
	return func(c, a, b gemm.Matrix[T]) {
		nestOf(order, c, a, b).inner(func(sum, x, y, stepC, stepA, stepB, length int) {
			to, left, right := c.Data, a.Data, b.Data
			for range length {
				to[sum] += left[x] * right[y]
				sum, x, y = sum+stepC, x+stepA, y+stepB
			}
		})
	}
}

func nestedField(order string) loop[gf256.Elem] {
	return func(c, a, b gemm.Matrix[gf256.Elem]) {
		nestOf(order, c, a, b).inner(func(sum, x, y, stepC, stepA, stepB, length int) {
			to, left, right := c.Data, a.Data, b.Data
			for range length {
				to[sum] = gf256.Add(to[sum], gf256.Mul(left[x], right[y]))
				sum, x, y = sum+stepC, x+stepA, y+stepB
			}
		})
	}
}

// extent returns the length of the loop over the index i, j or k.
func extent[N int | float64](index byte, m, n, k N) N {
	switch index {
	case 'i':
		return m
	case 'j':
		return n
	}
	return k
}

// nest is the traffic of the loops in an order, counted from the innermost loop outwards. A loop multiplies
// what an operand has moved by its length. It does not if the lines that are needed again are still in cache:
// all that one iteration touches must fit. Of an operand without the index of the next inner loop, which
// touches the same lines in each of its iterations, that is one iteration of the inner loop.
func (s size) nest(order string) func(cache, line float64) float64 {
	of := func(index byte) float64 { return extent(index, s.m, s.n, s.k) }
	operands := []struct{ row, col byte }{{'i', 'k'}, {'k', 'j'}, {'i', 'j'}}
	return func(cache, line float64) float64 {
		var width, moved, touched [3]float64 // elements of each operand: of a line, by the loops so far
		for x, operand := range operands {
			width[x] = min(line, of(operand.col))
			moved[x], touched[x] = width[x], width[x]
		}
		fits := true // what one iteration touches: the innermost loop three lines
		for level := 2; level >= 0; level-- {
			index, length, inside := order[level], of(order[level]), fits
			fits = level == 2 || touched[0]+touched[1]+touched[2] <= cache
			for x, operand := range operands {
				again := level < 2 && operand.row != order[level+1] && operand.col != order[level+1]
				stays := fits || again && inside
				switch index {
				case operand.row:
					moved[x] *= length
					touched[x] *= length
				case operand.col:
					moved[x] *= pick(stays, length/width[x], length)
					touched[x] *= length / width[x]
				default:
					moved[x] *= pick(stays, 1, length)
				}
			}
		}
		return moved[0] + moved[1] + 2*moved[2]
	}
}

func loopsVariant() gemm.Variant {
	return gemm.Variant{
		Name:   "serial/loops",
		Parent: "serial/naive",
		Role:   gemm.Study,
		Doc:    "naive with its three loops in any of the six orders",
		Params: []gemm.Param{{
			Name: "order", Default: "ijk", Choices: []string{"ijk", "ikj", "jik", "jki", "kij", "kji"},
			Doc: "the loops, the outermost first",
		}},
		Model: func(shape gemm.Shape, p gemm.Params) gemm.Model {
			s := sizeOf(shape)
			return s.model(4*s.terms, s.nest(p.Text("order")))
		},
		Bound: gemm.Classical,
		F32:   newNest(nested[float32]),
		F64:   newNest(nested[float64]),
		GF256: newNest(nestedField),
	}
}

// newNest returns the constructor of the nest that the parameter order names.
func newNest[T gemm.Element](nested func(order string) loop[T]) func(gemm.Params) (gemm.Multiplier[T], error) {
	return func(p gemm.Params) (gemm.Multiplier[T], error) {
		order := p.Text("order")
		return inOrder(order, nested(order))(p)
	}
}
