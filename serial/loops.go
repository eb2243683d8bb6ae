package serial

import (
	"context"

	"gemm"
	"gemm/gf256"
)

// loops is naive with its three loops in any order. The six orders share one statement, with 4mnk accesses
// in 2mnk operations, and form every sum in the same order. They differ in how the innermost loop walks
// through A, B and C: it stays at an element, follows a row (stride 1) or goes down a column (stride n).
//
//	order     operation of the innermost loop           A       B       C
//	ijk, jik  dot product of a row and a column         row     column  stays
//	ikj, kij  a row of C += an element of A · a row     stays   row     row
//	jki, kji  a column of C += a column · an element    column  stays   column
//
// The operations and accesses are those of Table 1.1.1 of Golub and Van Loan, Matrix Computations, 4th ed.
// Bryant and O'Hallaron, Computer Systems: A Programmer's Perspective, 3rd ed., section 6.6.2, measure
// the six in C, with rows that are contiguous as here.
//
// A walk along a row moves a cache line every L steps, a walk down a column one in every step, unless the
// lines stay in cache until the next column needs them. So ikj and kij are the fastest for large matrices,
// and jki and kji, with two walks down columns, the slowest. In ijk and jik, each step also waits for the
// sum of the step before. The two orders of a pair differ in what their outer loops read again.
type loops[T gemm.Float] struct {
	order string
	inner inner[T]
}

func (x loops[T]) accumulate(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	return inOrder(ctx, x.order, x.inner, c, a, b)
}

// loopsField is loops in GF(2⁸).
type loopsField struct {
	order string
	inner inner[gf256.Elem]
}

func (x loopsField) accumulate(ctx context.Context, c, a, b gemm.Matrix[gf256.Elem]) error {
	return inOrder(ctx, x.order, x.inner, c, a, b)
}

// inner runs the two inner loops of an order, the middle one from first to last, for one index of the outermost loop.
type inner[T gemm.Element] func(c, a, b gemm.Matrix[T], outer, first, last int)

// inOrder runs the outermost loop, and the middle one in pieces. It looks at the context between them. Pieces
// are short, since a step down a column takes several times as long as one along a row.
func inOrder[T gemm.Element](ctx context.Context, order string, run inner[T], c, a, b gemm.Matrix[T]) error {
	of := func(loop int) int { return extent(order[loop], c.Rows, c.Cols, a.Cols) }
	width := unheard(4 * of(2))
	for outer := range of(0) {
		for first := 0; first < of(1); first += width {
			if err := ctx.Err(); err != nil {
				return err
			}
			run(c, a, b, outer, first, min(first+width, of(1)))
		}
	}
	return nil
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

// newLoops returns the inner loops of an order.
func newLoops[T gemm.Float](order string) loops[T] {
	return loops[T]{order, map[string]inner[T]{
		"ijk": ijkFloat[T], "ikj": ikjFloat[T], "jik": jikFloat[T],
		"jki": jkiFloat[T], "kij": kijFloat[T], "kji": kjiFloat[T],
	}[order]}
}

// newLoopsField is newLoops for GF(2⁸).
func newLoopsField(order string) loopsField {
	return loopsField{order, map[string]inner[gf256.Elem]{
		"ijk": ijkElem, "ikj": ikjElem, "jik": jikElem,
		"jki": jkiElem, "kij": kijElem, "kji": kjiElem,
	}[order]}
}

func ijkFloat[T gemm.Float](c, a, b gemm.Matrix[T], i, first, last int) {
	for j := first; j < last; j++ {
		for k := range a.Cols {
			c.Data[i*c.Stride+j] += a.Data[i*a.Stride+k] * b.Data[k*b.Stride+j]
		}
	}
}

func ikjFloat[T gemm.Float](c, a, b gemm.Matrix[T], i, first, last int) {
	for k := first; k < last; k++ {
		for j := range c.Cols {
			c.Data[i*c.Stride+j] += a.Data[i*a.Stride+k] * b.Data[k*b.Stride+j]
		}
	}
}

func jikFloat[T gemm.Float](c, a, b gemm.Matrix[T], j, first, last int) {
	for i := first; i < last; i++ {
		for k := range a.Cols {
			c.Data[i*c.Stride+j] += a.Data[i*a.Stride+k] * b.Data[k*b.Stride+j]
		}
	}
}

func jkiFloat[T gemm.Float](c, a, b gemm.Matrix[T], j, first, last int) {
	for k := first; k < last; k++ {
		for i := range c.Rows {
			c.Data[i*c.Stride+j] += a.Data[i*a.Stride+k] * b.Data[k*b.Stride+j]
		}
	}
}

func kijFloat[T gemm.Float](c, a, b gemm.Matrix[T], k, first, last int) {
	for i := first; i < last; i++ {
		for j := range c.Cols {
			c.Data[i*c.Stride+j] += a.Data[i*a.Stride+k] * b.Data[k*b.Stride+j]
		}
	}
}

func kjiFloat[T gemm.Float](c, a, b gemm.Matrix[T], k, first, last int) {
	for j := first; j < last; j++ {
		for i := range c.Rows {
			c.Data[i*c.Stride+j] += a.Data[i*a.Stride+k] * b.Data[k*b.Stride+j]
		}
	}
}

func ijkElem(c, a, b gemm.Matrix[gf256.Elem], i, first, last int) {
	for j := first; j < last; j++ {
		for k := range a.Cols {
			c.Set(i, j, gf256.Add(c.At(i, j), gf256.Mul(a.At(i, k), b.At(k, j))))
		}
	}
}

func ikjElem(c, a, b gemm.Matrix[gf256.Elem], i, first, last int) {
	for k := first; k < last; k++ {
		for j := range c.Cols {
			c.Set(i, j, gf256.Add(c.At(i, j), gf256.Mul(a.At(i, k), b.At(k, j))))
		}
	}
}

func jikElem(c, a, b gemm.Matrix[gf256.Elem], j, first, last int) {
	for i := first; i < last; i++ {
		for k := range a.Cols {
			c.Set(i, j, gf256.Add(c.At(i, j), gf256.Mul(a.At(i, k), b.At(k, j))))
		}
	}
}

func jkiElem(c, a, b gemm.Matrix[gf256.Elem], j, first, last int) {
	for k := first; k < last; k++ {
		for i := range c.Rows {
			c.Set(i, j, gf256.Add(c.At(i, j), gf256.Mul(a.At(i, k), b.At(k, j))))
		}
	}
}

func kijElem(c, a, b gemm.Matrix[gf256.Elem], k, first, last int) {
	for i := first; i < last; i++ {
		for j := range c.Cols {
			c.Set(i, j, gf256.Add(c.At(i, j), gf256.Mul(a.At(i, k), b.At(k, j))))
		}
	}
}

func kjiElem(c, a, b gemm.Matrix[gf256.Elem], k, first, last int) {
	for j := first; j < last; j++ {
		for i := range c.Rows {
			c.Set(i, j, gf256.Add(c.At(i, j), gf256.Mul(a.At(i, k), b.At(k, j))))
		}
	}
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
		F32: func(p gemm.Params) (gemm.Multiplier[float32], error) {
			return product[float32]{newLoops[float32](p.Text("order"))}, nil
		},
		F64: func(p gemm.Params) (gemm.Multiplier[float64], error) {
			return product[float64]{newLoops[float64](p.Text("order"))}, nil
		},
		GF256: func(p gemm.Params) (gemm.Multiplier[gf256.Elem], error) {
			return product[gf256.Elem]{newLoopsField(p.Text("order"))}, nil
		},
	}
}
