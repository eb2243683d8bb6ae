// Package memory makes the matrices of a rank, in memory of its own or in what MPI shares.
package memory

import (
	"fmt"
	"unsafe"

	"gemm"
	"gemm/internal/cpu"
)

// Matrix returns a matrix of zeros, its rows side by side, on huge pages where the system
// gives them, which this rank is the first to touch.
func Matrix[T gemm.Element](rows, cols int) gemm.Matrix[T] {
	m := gemm.NewMatrix[T](rows, cols)
	if len(m.Data) > 0 {
		cpu.HugePages(unsafe.Pointer(unsafe.SliceData(m.Data)), uintptr(len(m.Data))*unsafe.Sizeof(m.Data[0]))
	}
	return m
}

// Copy copies the elements of from.
func Copy[T gemm.Element](to, from gemm.Matrix[T]) {
	for i := range from.Rows {
		copy(to.Row(i), from.Row(i))
	}
}

// Room returns an error if the given elements need more memory than is available.
func Room[T gemm.Element](elements float64, what string) error {
	need, have := elements*float64(gemm.TypeOf[T]().Size), float64(cpu.Available())
	if have > 0 && need > have {
		return fmt.Errorf("%s need %.1f GiB of memory, %.1f GiB are available: choose a smaller size or fewer ranks",
			what, need/(1<<30), have/(1<<30))
	}
	return nil
}

// Arena hands out matrices, one behind the other, of memory that MPI gave.
type Arena[T gemm.Element] struct {
	Base unsafe.Pointer // of the memory
	used uintptr        // bytes
}

// line is what the beginnings of matrices are multiples of, in bytes.
const line = 64

// Bytes returns the most bytes for the given number of matrices with the given number of elements.
func Bytes[T gemm.Element](matrices, elements int) int {
	return max(line, matrices*line+elements*gemm.TypeOf[T]().Size)
}

// Reserve returns how far behind the beginning the next matrix is.
func (a *Arena[T]) Reserve(rows, cols int) uintptr {
	at := a.used
	a.used += (uintptr(rows)*uintptr(cols)*uintptr(gemm.TypeOf[T]().Size) + line - 1) / line * line
	return at
}

// Matrix returns a matrix of zeros, its rows side by side.
func (a *Arena[T]) Matrix(rows, cols int) gemm.Matrix[T] {
	m := gemm.Matrix[T]{Rows: rows, Cols: cols, Stride: cols}
	at := a.Reserve(rows, cols)
	if rows*cols > 0 {
		m.Data = unsafe.Slice((*T)(unsafe.Add(a.Base, at)), rows*cols)
		clear(m.Data)
	}
	return m
}

// Taker allocates a matrix of zeros with the given rows and columns.
type Taker[T gemm.Element] func(m *gemm.Matrix[T], rows, cols int)

// Needed returns how many matrices are taken, and how many elements they have together.
func Needed[T gemm.Element](allocate func(Taker[T])) (matrices, elements int) {
	allocate(func(_ *gemm.Matrix[T], rows, cols int) {
		matrices, elements = matrices+1, elements+rows*cols
	})
	return matrices, elements
}
