package block

import (
	"unsafe"

	"gemm/internal/kernel"
)

// Small computes C ← α·A·B + β·C as Engine.Gemm does, without an engine, and reports whether it did. It does not if the
// product is not small, or α is neither 0 nor moderate. The rows of C are contiguous, or the columns.
func Small[T kernel.Float](k *kernel.Kernel[T], m, n, depth int, alpha T, a, b View[T], beta T, c View[T]) bool {
	if c.Col != 1 {
		m, n, a, b = n, m, View[T]{b.Data, b.Col, b.Row}, View[T]{a.Data, a.Col, a.Row}
		c.Row = c.Col
	}
	transposed, ldb := b.Col != 1, b.Row
	if transposed {
		if b.Row != 1 {
			return false
		}
		ldb = b.Col
	}
	if !k.IsFew(m, n, depth, transposed) || !IsModerate(alpha) {
		return false
	}
	_, _, _ = a.Data[(m-1)*a.Row+(depth-1)*a.Col], b.Data[(depth-1)*b.Row+(n-1)*b.Col], c.Data[(m-1)*c.Row+n-1]
	x, y, z := unsafe.SliceData(a.Data), unsafe.SliceData(b.Data), unsafe.SliceData(c.Data)
	if transposed {
		k.SmallTransposed(m, n, depth, x, a.Row, a.Col, y, ldb, z, c.Row, alpha, beta)
	} else {
		k.Small(m, n, depth, x, a.Row, a.Col, y, ldb, z, c.Row, alpha, beta)
	}
	return true
}
