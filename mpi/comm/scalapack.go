package comm

import (
	"fmt"
	"unsafe"

	"gemm"
)

// ScaLAPACK is the library (netlib.org/scalapack), opened at run time. Its PBLAS multiplies matrices that are
// distributed over a grid of ranks. Traffic does not count its messages.
type ScaLAPACK struct {
	File    string // base name of the opened file
	Version string // from the file name; may be empty
	BLAS    string // the BLAS that computes on each rank
	Kernel  string // kernel of the BLAS, with remarks; may be empty
	Threads int    // threads of the BLAS
	library
}

// BlockCyclic is the part of one rank of a Rows×Cols matrix that is distributed block-cyclically in square blocks.
// Block rows are assigned to the columns of the grid, round robin, and block columns to its rows. In Local the blocks
// are adjacent.
type BlockCyclic[T gemm.Float] struct {
	Rows, Cols int
	Local      gemm.Matrix[T]
}

// Product computes C = A·B for block-cyclic matrices over the ranks of g with square blocks of the
// given size. It is one call of pdgemm or psgemm, which all ranks of g make.
//
// The library stores matrices by columns. For it, our parts by rows are parts of the transposed
// matrices, distributed as it expects, and it computes Cᵀ = Bᵀ·Aᵀ.
func Product[T gemm.Float](g *ProcessGrid, block int, c, a, b BlockCyclic[T]) error {
	var parts [3]part
	for i, d := range []BlockCyclic[T]{c, a, b} {
		if max(d.Rows, d.Cols, d.Local.Stride) > limit {
			return fmt.Errorf("comm: %d×%d elements: ScaLAPACK counts up to %d rows and columns: use a smaller size", d.Rows,
				d.Cols, limit)
		}
		parts[i] = part{at: unsafe.Pointer(unsafe.SliceData(d.Local.Data)), stride: max(d.Local.Stride, 1)}
	}
	return g.product(elementOf[T](), gemm.Shape{M: c.Rows, N: c.Cols, K: a.Cols}, block, parts)
}

// part is the memory of a BlockCyclic matrix.
type part struct {
	at     unsafe.Pointer
	stride int
}
