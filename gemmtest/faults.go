package gemmtest

import "gemm"

// Integers returns a matrix of small integers, whose products are exact, with pad elements between its rows.
func Integers[T gemm.Float](rows, cols, pad, seed int) gemm.Matrix[T] {
	all := tabulated(rows, cols+pad, func(i, j int) T { return T((7*i+3*j+seed)%11 - 5) })
	return all.Slice(0, 0, rows, cols)
}

// Exactly returns an error unless c is a·b, for matrices of small integers.
func Exactly[T gemm.Float](c, a, b gemm.Matrix[T]) error { return equal(c, floatProduct(a, b)) }

// Fault damages a right result.
type Fault[T gemm.Element] struct {
	Name  string
	Plant func(c gemm.Matrix[T])
}

// Faults are the damages that every check must find, in matrices of three rows and columns or more. other and bad are
// elements that no right result has.
func Faults[T gemm.Element](other, bad T) []Fault[T] {
	return []Fault[T]{
		{"one wrong element", func(c gemm.Matrix[T]) { c.Set(c.Rows/3, c.Cols/2+1, other) }},
		{"a zeroed element", func(c gemm.Matrix[T]) { var zero T; c.Set(c.Rows/2, c.Cols/3, zero) }},
		{"a NaN or a flipped byte", func(c gemm.Matrix[T]) { c.Set(c.Rows-1, 1, bad) }},
		{"zero-filled", func(c gemm.Matrix[T]) { clear(c.Data) }},
		{"transposed", func(c gemm.Matrix[T]) {
			for i := range c.Rows {
				for j := range i {
					x, y := c.At(i, j), c.At(j, i)
					c.Set(i, j, y)
					c.Set(j, i, x)
				}
			}
		}},
		{"an unwritten row", func(c gemm.Matrix[T]) {
			for j := range c.Cols {
				c.Set(c.Rows/4, j, bad)
			}
		}},
		{"two rows exchanged", func(c gemm.Matrix[T]) {
			for j := range c.Cols {
				x, y := c.At(0, j), c.At(1, j)
				c.Set(0, j, y)
				c.Set(1, j, x)
			}
		}},
	}
}
