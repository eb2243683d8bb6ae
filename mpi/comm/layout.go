package comm

import (
	"fmt"
	"math"

	"gemm"
)

// limit is the largest count that a call of MPI takes: counts are C's int.
var limit = math.MaxInt32

// Countable returns an error where MPI cannot count so many elements of what there are,
// with what helps.
func Countable(elements int, what, remedy string) error {
	if elements > limit {
		return fmt.Errorf("%d elements %s: MPI counts up to %d: %s", elements, what, limit, remedy)
	}
	return nil
}

// shape says how the derived type of a message is made.
type shape int

const (
	elements shape = iota // count elements, one after the other
	rows                  // count rows of cols elements, one after the other, each an element of a type
	vector                // one element of a type: count rows of cols elements, stride apart
)

// layout is a message as MPI is told of it: so many elements of a type.
type layout struct {
	shape               shape
	count, cols, stride int
}

// layoutOf returns the layout of a matrix: its elements where they lie side by side, in
// rows where those are more than MPI can count, and a vector otherwise. The error names
// what is still too much.
func layoutOf(m, n, stride int) (layout, error) {
	if max(m, n, stride) > limit {
		return layout{}, fmt.Errorf("comm: %d×%d elements with stride %d: MPI counts up to %d rows and columns: use more ranks or smaller panels", m, n, stride, limit)
	}
	switch {
	case m == 0 || n == 0:
		return layout{}, nil
	case m > 1 && stride != n:
		return layout{vector, m, n, stride}, nil
	case n <= limit/m:
		return layout{shape: elements, count: m * n}, nil
	default:
		return layout{shape: rows, count: m, cols: n, stride: n}, nil
	}
}

// bytesOf returns the bytes of a matrix's elements.
func bytesOf[T gemm.Element](m gemm.Matrix[T]) int64 {
	return int64(m.Rows) * int64(m.Cols) * int64(gemm.TypeOf[T]().Size)
}
