package comm

import (
	"fmt"

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

// Product computes C = A·B for matrices over the ranks of g that are distributed block-cyclically in square blocks of
// the given size: block rows are assigned to the columns of the grid, round robin, and block columns to its rows. c, a
// and b are the parts of this rank, in which its blocks are adjacent. It is one call of pdgemm or psgemm, which all
// ranks of g make.
//
// The library stores matrices by columns. For it, our parts by rows are parts of the transposed
// matrices, distributed as it expects, and it computes Cᵀ = Bᵀ·Aᵀ.
func Product[T gemm.Float](g *ProcessGrid, block int, s gemm.Shape, c, a, b gemm.Matrix[T]) error {
	if max(s.M, s.N, s.K) > limit {
		return fmt.Errorf("comm: a product of %v: ScaLAPACK counts up to %d rows and columns: use a smaller size", s,
			limit)
	}
	var parts [3]buffer
	for i, m := range []gemm.Matrix[T]{c, a, b} {
		parts[i] = wholeOf(m, layout{stride: max(m.Stride, 1)})
	}
	return g.product(s, block, parts)
}
