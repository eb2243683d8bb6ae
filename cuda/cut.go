package cuda

import "gemm"

// Panels says how products with operands on the host are divided, so that copies and products
// overlap. A panel has at least Edge rows or columns and at least Bytes bytes. There are at most
// Most panels, unless the memory of the GPU requires more.
type Panels struct {
	Edge  int
	Bytes int64
	Most  int
}

// Cut is a product whose C moves between host and GPU in panels along its longer edge. They are panels of columns of C
// and op(B), while op(A) stays on the GPU; or panels of rows of C and op(A), while op(B) stays.
type Cut struct {
	Columns bool
	Size    int // rows or columns of a panel, but for the last
	Count   int
	Slots   int // panels on the GPU at a time: one comes, one is multiplied, one goes
}

// Cut divides a product of elements of size bytes, if free bytes are free on the GPU. Panels use at
// most half of what the stationary operand leaves, since kernels may need memory too.
func (p Panels) Cut(s gemm.Shape, size int, free int64) Cut {
	const slots = 3
	edge, across := max(1, s.M, s.N), min(s.M, s.N)
	stays := int64(size) * int64(s.K) * int64(across)
	moves := int64(size) * int64(edge) * int64(s.K+across)
	for n := max(1, min(p.Most, edge/p.Edge, int((moves+stays)/p.Bytes))); ; n *= 2 {
		c := Cut{Columns: s.N > s.M, Size: ceil(edge, n)}
		c.Count = ceil(edge, c.Size)
		c.Slots = min(slots, c.Count)
		if c.Size == 1 || moves/int64(c.Count)*int64(c.Slots) <= (free-stays)/2 {
			return c
		}
	}
}

// Panel returns the first row or column of a panel, and how many it has.
func (c Cut) Panel(s gemm.Shape, i int) (first, n int) {
	first = i * c.Size
	return first, min(c.Size, max(s.M, s.N)-first)
}
