package comm

import (
	"fmt"
	"math"

	"gemm"
)

// limit is the largest count of an MPI call, which is a C int.
var limit = math.MaxInt32

// Countable returns an error with the remedy if MPI cannot count that many elements. what names them in the error.
func Countable(elements int, what, remedy string) error {
	if elements > limit {
		return fmt.Errorf("%d elements %s: MPI counts up to %d: %s", elements, what, limit, remedy)
	}
	return nil
}

// shape is the form of a message's derived type.
type shape int

const (
	elements shape = iota // count elements, one after the other
	rows                  // count rows of cols elements, one after the other; a row is an element of the type
	vector                // one element of a type: count rows of cols elements, stride apart
)

// layout is a message in MPI's terms: count elements of a type.
type layout struct {
	shape               shape
	count, cols, stride int
}

// layoutOf returns the layout of a matrix: elements if they are contiguous, rows if there are more elements than
// MPI can count, and otherwise a vector. The error names the count that is too large.
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

func bytesOf[T gemm.Element](m gemm.Matrix[T]) int64 {
	return int64(m.Rows) * int64(m.Cols) * int64(gemm.TypeOf[T]().Size)
}
