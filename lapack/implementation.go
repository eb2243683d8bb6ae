// Package lapack replaces the routines of gonum's LAPACK in which mat.SVD and mat.LU spend most of their time. All
// others are gonum's, and use the BLAS that blas64.Use set:
//
//	blas64.Use(blas.Implementation{})
//	lapack64.Use(lapack.Implementation{})
//
// gonum stores matrices by rows, as LAPACK does by columns. Two of its loops go down columns all the same:
//
//   - Dgesvd applies plane rotations (Dlasr) to columns of U. Here they are applied to rows of Uᵀ, and to a part of U
//     and Vᵀ that stays in a cache, each part on a goroutine of its own.
//   - Dgecon, Dpocon and Dtrcon solve triangular systems so that no number overflows (Dlatrs), column by column. Here
//     they are solved along rows, and again by Dlatrs only if a number has overflowed. The norms of a matrix and of its
//     inverse may be near the ends of the range, or out of it.
//
// Eigenvalues stay as they are: Dsteqr rotates columns of a square matrix, and gonum has no entry for a part of it. LU,
// Cholesky and QR themselves consist of routines of BLAS.
package lapack

import (
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"
)

// Implementation is a LAPACK for lapack64.Use. The zero value is ready for use, and any number of goroutines may call
// it at the same time. gonum documents the arguments of the routines. The routines of this package allocate memory.
type Implementation struct {
	gonum.Implementation
	// Workers is the most goroutines that rotate singular vectors. 0 is as many as GOMAXPROCS.
	Workers int

	least int // order of matrices whose singular values are not left to gonum, 0 for leastValues: tests take 1
}

var _ lapack.Float64 = Implementation{}

// leastValues is the order from which on singular values are faster by this package.
const leastValues = 128

// holds reports whether data holds a rows×cols matrix with the leading dimension ld.
func holds(data []float64, rows, cols, ld int) bool {
	return ld >= max(1, cols) && (rows == 0 || len(data) >= cols && (len(data)-cols)/ld >= rows-1)
}
