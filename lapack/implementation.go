// Package lapack replaces the routines of gonum's LAPACK in which mat.LU, Cholesky, QR, LQ, SVD, EigenSym and
// Eigen spend most of their time. All others are gonum's, and use the BLAS that blas64.Use set:
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
//   - Dgesvd and Dsyev divide and conquer, if singular vectors or eigenvectors are wanted. gonum rotates columns, which
//     are not contiguous.
//   - Dgeev makes sweeps with more shifts than gonum does.
//
// Workspace may have the least length that gonum permits: blocks have memory of their own.
//
// Dgecon, Dpocon and Dtrcon solve triangular systems so that no number overflows (Dlatrs), column by column. Here they
// are solved along rows, and again by Dlatrs only if a number has overflowed. The norms of a matrix and of its inverse
// may be near the ends of the range, or out of it.
//
// gonum's routines call each other, not the ones here. So Dhseqr is replaced by code in Dgeev alone. These
// remain gonum's: Dsytrd, Dgebrd, Dgehrd, Dorghr and Dtrevc3, in which our BLAS does the work, up to 40 % of all time;
// Dlaqr23 and Dlaqr5, the parts of a sweep; and Dsterf and Dbdsqr, if no vectors are wanted.
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
	// Workers is the most goroutines that compute products. 0 is as many as GOMAXPROCS.
	Workers int

	least int // order of matrices whose vectors are not left to gonum, 0 for leastVectors: tests take 1
}

var _ lapack.Float64 = Implementation{}

// leastVectors is the order from which on singular vectors and eigenvectors are faster by this package.
const leastVectors = 24

// holds reports whether data holds a rows×cols matrix with the leading dimension ld.
func holds(data []float64, rows, cols, ld int) bool {
	hi, lo := bits.Mul(uint(rows-1), uint(ld))
	return ld >= max(1, cols) && (rows == 0 || len(data) >= cols && hi == 0 && lo <= uint(len(data)-cols))
}
