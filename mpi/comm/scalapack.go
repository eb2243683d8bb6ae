package comm

import (
	"fmt"
	"unsafe"

	"gemm"
)

// ScaLAPACK is the library (netlib.org/scalapack), found at run time: its PBLAS multiply
// matrices that are dealt out over a grid of ranks, with messages of their own that Traffic
// does not count.
type ScaLAPACK struct {
	File    string // base name of what was opened
	Version string // as the file's name has it; may be empty
	BLAS    string // that computes each rank's part
	Kernel  string // of that BLAS, with what there is to say of it; may be empty
	Threads int    // of that BLAS
	library
}

// Dealt is a rank's part of a matrix of Rows×Cols that is dealt out in square blocks: its
// rows in turn to the columns of the grid, its columns to the rows of the grid. Local has
// the blocks side by side.
type Dealt[T gemm.Float] struct {
	Rows, Cols int
	Local      gemm.Matrix[T]
}

// Product computes C = A·B for matrices that are dealt out in blocks of so many rows and
// columns over the ranks of g: one call of pdgemm or psgemm, which all ranks of g make.
//
// The library has matrices by columns. Parts by rows are to it parts of the transposed
// ones, dealt out the way it expects, and it computes Cᵀ = Bᵀ·Aᵀ.
func Product[T gemm.Float](g *ProcessGrid, block int, c, a, b Dealt[T]) error {
	var parts [3]part
	for i, d := range []Dealt[T]{c, a, b} {
		if max(d.Rows, d.Cols, d.Local.Stride) > limit {
			return fmt.Errorf("comm: %d×%d elements: ScaLAPACK counts up to %d rows and columns: use a smaller size", d.Rows,
				d.Cols, limit)
		}
		parts[i] = part{at: unsafe.Pointer(unsafe.SliceData(d.Local.Data)), stride: max(d.Local.Stride, 1)}
	}
	return g.product(elementOf[T](), gemm.Shape{M: c.Rows, N: c.Cols, K: a.Cols}, block, parts)
}

// part is the memory of a Dealt matrix.
type part struct {
	at     unsafe.Pointer
	stride int
}
