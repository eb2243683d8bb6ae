package gemmtest

import (
	"fmt"
	"math"
	"slices"

	"gemm"
	"gemm/gf256"
	"gemm/half"
)

// bits returns the bits of x, which differ for different NaNs.
func bits[T gemm.Element](x T) uint64 {
	switch x := any(x).(type) {
	case float32:
		return uint64(math.Float32bits(x))
	case float64:
		return math.Float64bits(x)
	case half.F16:
		return uint64(x.Bits())
	case half.BF16:
		return uint64(x.Bits())
	default:
		return uint64(x.(gf256.Elem).Byte())
	}
}

// same reports whether x and y are the same element; NaN is the same as nothing, and −0 as 0.
func same[T gemm.Element](x, y T) bool {
	switch x := any(x).(type) {
	case half.F16:
		return x.Float32() == any(y).(half.F16).Float32()
	case half.BF16:
		return x.Float32() == any(y).(half.BF16).Float32()
	}
	return x == y
}

// guarded is a matrix with guard zones around it and between its rows.
type guarded[T gemm.Element] struct {
	gemm.Matrix[T]
	whole []T // the whole buffer
	was   []T // copy of whole
}

// guard is the number of sentinels before and after a matrix.
const guard = 9

// newGuarded returns a matrix with the given elements and gap sentinels between its rows.
func newGuarded[T gemm.Element](kind kind[T], rows, cols, gap int, element func(i, j int) T) guarded[T] {
	stride := cols + gap
	need := 0
	if rows > 0 && cols > 0 {
		need = (rows-1)*stride + cols
	}
	g := guarded[T]{whole: make([]T, guard+need+guard)}
	for i := range g.whole {
		g.whole[i] = kind.sentinel
	}
	g.Matrix = gemm.Matrix[T]{Rows: rows, Cols: cols, Stride: stride, Data: g.whole[guard : guard+need]}
	if gap > 0 {
		// As in a block of a larger matrix, the data continue after the last row.
		g.Data = g.whole[guard:]
	}
	for i := range rows {
		for j := range cols {
			g.Set(i, j, element(i, j))
		}
	}
	g.was = slices.Clone(g.whole)
	return g
}

// changed returns an error if an element of the buffer has changed. If writable is true, the elements of the matrix may
// change.
func (g guarded[T]) changed(name string, writable bool) error {
	for at, x := range g.whole {
		if bits(x) == bits(g.was[at]) {
			continue
		}
		inside := false
		if off := at - guard; off >= 0 && g.Rows > 0 && g.Cols > 0 {
			inside = off/g.Stride < g.Rows && off%g.Stride < g.Cols
		}
		switch {
		case inside && writable:
		case inside:
			return fmt.Errorf("%s(%d, %d) was changed", name, (at-guard)/g.Stride, (at-guard)%g.Stride)
		default:
			return fmt.Errorf("the guard zone of %s was written: %d elements from the first of %v with stride %d", name,
				at-guard, g.Matrix, g.Stride)
		}
	}
	return nil
}
