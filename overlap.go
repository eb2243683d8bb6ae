package gemm

import (
	"fmt"
	"unsafe"
)

// block is where the rows of a matrix lie in memory, in bytes. A batch is one too: its rows are the matrices.
type block struct{ at, rows, width, stride uintptr }

// blockOf returns where a well-formed matrix of elements lies.
func blockOf[T Scalar](data []T, rows, cols, stride int) block {
	if rows == 0 || cols == 0 {
		return block{}
	}
	size := unsafe.Sizeof(*new(T))
	return block{uintptr(unsafe.Pointer(unsafe.SliceData(data))), uintptr(rows), uintptr(cols) * size,
		uintptr(stride) * size}
}

// place returns where a matrix lies.
func place[T Scalar](m Matrix[T]) block { return blockOf(m.Data, m.Rows, m.Cols, m.Stride) }

// end returns the address behind the last row.
func (x block) end() uintptr { return x.at + (x.rows-1)*x.stride + x.width }

// disjoint reports whether x ends before y begins, or the reverse.
func (x block) disjoint(y block) bool {
	return x.rows == 0 || y.rows == 0 || x.end() <= y.at || y.end() <= x.at
}

// row returns the first row of x that ends behind the address lo, and whether it begins before hi.
func (x block) row(lo, hi uintptr) (int, bool) {
	i := uintptr(0)
	if lo >= x.at+x.width {
		i = (lo-x.at-x.width)/x.stride + 1
	}
	return int(i), i < x.rows && x.at+i*x.stride < hi
}

// intersects reports whether rows of x and y have a byte in common.
func (x block) intersects(y block) bool {
	if x.disjoint(y) {
		return false
	}
	if x.at < y.at {
		x, y = y, x
	}
	rows := x.rows
	if x.stride == y.stride {
		rows = 1 // every other row has the same position between rows of y
	}
	for i := range rows {
		lo := x.at + i*x.stride
		if _, ok := y.row(lo, lo+x.width); ok {
			return true
		}
	}
	return false
}

// CheckOverlap returns an ErrOverlap if c has an element in common with a or b, all of which are well-formed. Blocks
// of one matrix may lie next to each other.
func CheckOverlap[T Scalar](c, a, b Matrix[T]) error {
	if Disjoint(c.Data, a.Data) && Disjoint(c.Data, b.Data) {
		return nil
	}
	return overlapping(place(c).intersects(place(a)), place(c).intersects(place(b)))
}

// Disjoint reports whether slices have no element in common. It takes a nanosecond.
func Disjoint[T Scalar](x, y []T) bool {
	size := unsafe.Sizeof(*new(T))
	px, py := uintptr(unsafe.Pointer(unsafe.SliceData(x))), uintptr(unsafe.Pointer(unsafe.SliceData(y)))
	return px+uintptr(len(x))*size <= py || py+uintptr(len(y))*size <= px
}

// overlapping returns an ErrOverlap if C overlaps A or B.
func overlapping(a, b bool) error {
	name := "A"
	switch {
	case !a && !b:
		return nil
	case !a:
		name = "B"
	}
	return fmt.Errorf("%w: C and %s: give C memory of its own, or copy %[2]s", ErrOverlap, name)
}

// CheckBatchOverlap returns an ErrOverlap if a matrix of c has an element in common with one of a or b.
func CheckBatchOverlap[T Element](c, a, b Batch[T]) error {
	return overlapping(batchesIntersect(c, a), batchesIntersect(c, b))
}

// batchesIntersect reports whether matrices of c and x share an element. If they only lie between each other, as blocks
// of rows do, it compares the pairs that do.
func batchesIntersect[T Element](c, x Batch[T]) bool {
	all, others := wholeBatch(c), wholeBatch(x)
	if Disjoint(c.Data, x.Data) || !all.intersects(others) {
		return false
	}
	for i := range c.Count {
		lo := all.at + uintptr(i)*all.stride
		for j, ok := others.row(lo, lo+all.width); ok; j++ {
			if place(c.Nth(i)).intersects(place(x.Nth(j))) {
				return true
			}
			ok = j+1 < x.Count && others.at+uintptr(j+1)*others.stride < lo+all.width
		}
	}
	return false
}

// wholeBatch returns where the matrices of a batch lie.
func wholeBatch[T Element](x Batch[T]) block {
	return blockOf(x.Data, x.Count, len(x.Nth(0).Data), x.Step)
}
