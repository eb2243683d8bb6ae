// Package lapack replaces the routines of gonum's LAPACK in which mat.LU, Cholesky, QR, LQ and SVD spend most of their
// time. All others are gonum's, and use the BLAS that blas64.Use set:
//
//	blas64.Use(blas.Implementation{})
//	lapack64.Use(lapack.Implementation{})
//
// gonum decomposes blocks of 32 or 64 columns by routines of level 2. Here matrices are divided recursively, so that
// nearly all work is products, which package blas computes:
//
//   - Dgetrf, Dpotrf, and the inverses Dgetri, Dpotri and Dtrtri divide the matrix into halves, down to blocks that
//     stay in a cache.
//   - Dgeqrf and Dgelqf decompose a few columns or rows at a time, and apply their reflectors as a block. So do Dorgqr,
//     Dorglq, Dormqr and Dormlq.
//
// Workspace may have the least length that gonum permits: blocks have memory of their own.
//
// gonum stores matrices by rows, as LAPACK does by columns. Two of its loops go down columns all the same:
//
//   - Dgesvd applies plane rotations (Dlasr) to columns of U. Here they are applied to rows of Uᵀ, and to a part of U
//     and Vᵀ that stays in a cache, each part on a goroutine of its own.
//   - Dgecon, Dpocon and Dtrcon solve triangular systems so that no number overflows (Dlatrs), column by column. Here
//     they are solved along rows, and again by Dlatrs only if a number has overflowed. The norms of a matrix and of its
//     inverse may be near the ends of the range, or out of it.
//
// Eigenvalues stay as they are: Dsteqr rotates columns of a square matrix, and gonum has no entry for a part of it.
package lapack

import (
	"math/bits"

	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"
)

// Implementation is a LAPACK for lapack64.Use. The zero value is ready for use, and any number of goroutines may call
// it at the same time. gonum documents the arguments of the routines. The routines of this package allocate memory.
type Implementation struct {
	gonum.Implementation
	// Workers is the most goroutines that compute products or rotate singular vectors. 0 is as many as GOMAXPROCS.
	Workers int

	least int // order of matrices whose singular values are not left to gonum, 0 for leastValues: tests take 1
}

var _ lapack.Float64 = Implementation{}

// leastValues is the order from which on singular values are faster by this package.
const leastValues = 128

// holds reports whether data holds a rows×cols matrix with the leading dimension ld.
func holds(data []float64, rows, cols, ld int) bool {
	hi, lo := bits.Mul(uint(rows-1), uint(ld))
	return ld >= max(1, cols) && (rows == 0 || len(data) >= cols && hi == 0 && lo <= uint(len(data)-cols))
}
