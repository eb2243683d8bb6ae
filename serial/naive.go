package serial

import (
	"gemm"
	"gemm/gf256"
	"gemm/half"
)

// naive is the definition. C starts as zero, and for every i, j and l
//
//	C[i][j] += A[i][l]·B[l][j]
//
// with l in the innermost loop. Each step loads an element of C, of A and of B and stores one of C.
// That is 4mnk accesses, and each step waits for the sum of the step before.
//
// The most expensive access is the one down a column of B. Every step reads another cache line, and
// uses one element of it; the others are used when j has moved on. Are they still in cache then? If
// k lines fit, k·L ≤ Z, they are: B is read m times, m·kn elements. If not, every step moves a
// line, mnk·L elements. Then the row of A is evicted too and read again for every j, another mnk.
func naive[T gemm.Float](c, a, b gemm.Matrix[T]) {
	for i := range c.Rows {
		for j := range c.Cols {
			for l := range a.Cols {
				c.Data[i*c.Stride+j] += a.Data[i*a.Stride+l] * b.Data[l*b.Stride+j]
			}
		}
	}
}

// naiveField is naive in GF(2⁸). Each At and Set copies a header, 48 bytes: 32 of 82 instructions.
func naiveField(c, a, b gemm.Matrix[gf256.Elem]) {
	for i := range c.Rows {
		for j := range c.Cols {
			for l := range a.Cols {
				c.Set(i, j, gf256.Add(c.At(i, j), gf256.Mul(a.At(i, l), b.At(l, j))))
			}
		}
	}
}

// naiveHalf is naive in half precision: a sum stays in single precision until its last term, and is rounded once. The
// values of elements are looked up.
func naiveHalf[T half.Float](c, a, b gemm.Matrix[T]) {
	value := half.Values[T]()
	for i := range c.Rows {
		row := half.Words(a.Row(i))
		for j := range c.Cols {
			sum, column := c.Data[i*c.Stride+j].Float32(), half.Words(b.Data[j:])
			for l, x := range row {
				sum += value[x] * value[column[l*b.Stride]]
			}
			c.Data[i*c.Stride+j] = half.From[T](sum)
		}
	}
}

// columnWalk is the traffic of loops that walk down the columns of B.
func (s size) columnWalk(cache, line float64) float64 {
	// Elements of a line that are of other columns but of the same row.
	width := min(line, s.n)
	column := s.k*width + s.k + line // the lines of a column of B, a row of A
	return 2*s.c +
		pick(column <= cache, s.a, s.terms) +
		pick(s.b+s.k+line <= cache, s.b, pick(column <= cache, s.m*s.b, s.terms*width))
}

func naiveVariant() gemm.Variant {
	return gemm.Variant{
		Name:  "serial/naive",
		Doc:   "the definition: three loops ijk; B is read down its columns",
		Class: gemm.Textbook,
		Model: func(shape gemm.Shape, _ gemm.Params) gemm.Model {
			s := sizeOf(shape)
			return s.model(4*s.terms, s.columnWalk)
		},
		Bound: gemm.Classical,
		F32:   inOrder("ijk", naive[float32]),
		F64:   inOrder("ijk", naive[float64]),
		F16:   inOrder("ijk", naiveHalf[half.F16]),
		BF16:  inOrder("ijk", naiveHalf[half.BF16]),
		GF256: inOrder("ijk", naiveField),
	}
}
