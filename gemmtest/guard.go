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

// guarded is a batch of matrices with guard zones around it, between its matrices and between their rows. Most
// are a batch of one matrix.
type guarded[T gemm.Element] struct {
	gemm.Batch[T]
	whole []T // the whole buffer
	was   []T // copy of whole
}

// guard is the number of sentinels before and after a batch.
const guard = 9

// newGuarded returns a matrix with the given elements and gap sentinels between its rows.
func newGuarded[T gemm.Element](kind kind[T], rows, cols, gap int, element func(i, j int) T) guarded[T] {
	return newGuardedBatch(kind, 1, rows, cols, gap, 0, func(_, i, j int) T { return element(i, j) })
}

// newGuardedBatch returns count matrices with the elements, gap sentinels between rows, and space more than
// that between matrices. If space is −1, the matrices are as close as possible.
func newGuardedBatch[T gemm.Element](kind kind[T], count, rows, cols, gap, space int,
	element func(x, i, j int) T) guarded[T] {
	stride, need := cols+gap, 0
	if rows > 0 && cols > 0 {
		need = (rows-1)*stride + cols
	}
	step := max(1, rows*stride+space)
	if space < 0 {
		step = max(1, need)
	}
	elements := 0
	if need > 0 {
		elements = (count-1)*step + need
	}
	g := guarded[T]{whole: slices.Repeat([]T{kind.sentinel}, guard+elements+guard)}
	g.Batch = gemm.Batch[T]{Count: count, Step: step, Rows: rows, Cols: cols, Stride: stride,
		Data: g.whole[guard : guard+elements]}
	if gap > 0 {
		// As in a block of a larger matrix, the data continue after the last row.
		g.Data = g.whole[guard:]
	}
	for x := range count {
		for i := range rows {
			for j := range cols {
				g.Nth(x).Set(i, j, element(x, i, j))
			}
		}
	}
	g.was = slices.Clone(g.whole)
	return g
}

// matrix returns the first matrix, with all of the data.
func (g guarded[T]) matrix() gemm.Matrix[T] { return matrixOf(g.Batch) }

// matrixOf returns the first matrix of a batch, with all of the data.
func matrixOf[T gemm.Element](b gemm.Batch[T]) gemm.Matrix[T] {
	return gemm.Matrix[T]{Rows: b.Rows, Cols: b.Cols, Stride: b.Stride, Data: b.Data}
}

// changed returns an error if an element of the buffer has changed. If writable is true, the elements of the matrices
// may change.
func (g guarded[T]) changed(name string, writable bool) error {
	for at, x := range g.whole {
		if bits(x) == bits(g.was[at]) {
			continue
		}
		off := at - guard
		inside := off >= 0 && g.Rows > 0 && g.Cols > 0 && off/g.Step < g.Count && off%g.Step/g.Stride < g.Rows &&
			off%g.Step%g.Stride < g.Cols
		switch {
		case inside && writable:
		case inside:
			return fmt.Errorf("element (%d, %d) of matrix %d of %s was changed", off%g.Step/g.Stride,
				off%g.Step%g.Stride, off/g.Step, name)
		default:
			return fmt.Errorf("the guard zone of %s was written: %d elements from the first of %d×%d with stride %d and "+
				"step %d", name, off, g.Rows, g.Cols, g.Stride, g.Step)
		}
	}
	return nil
}
