//go:build cgo && !windows

package main

// #include "product.h"
import "C"

import (
	"cmp"

	"gonum.org/v1/gonum/blas"

	fast "gemm/blas"
)

// routines are the routines of level 3 for elements E, whose real and imaginary parts are R.
type routines[E, R any] struct {
	gemm func(i fast.Implementation, tA, tB blas.Transpose, m, n, k int, alpha E, a []E, lda int, b []E, ldb int,
		beta E, c []E, ldc int)
	symm, hemm func(i fast.Implementation, s blas.Side, ul blas.Uplo, m, n int, alpha E, a []E, lda int, b []E, ldb int,
		beta E, c []E, ldc int)
	syrk func(i fast.Implementation, ul blas.Uplo, t blas.Transpose, n, k int, alpha E, a []E, lda int, beta E, c []E,
		ldc int)
	herk func(i fast.Implementation, ul blas.Uplo, t blas.Transpose, n, k int, alpha R, a []E, lda int, beta R, c []E,
		ldc int)
	syr2k func(i fast.Implementation, ul blas.Uplo, t blas.Transpose, n, k int, alpha E, a []E, lda int, b []E, ldb int,
		beta E, c []E, ldc int)
	her2k func(i fast.Implementation, ul blas.Uplo, t blas.Transpose, n, k int, alpha E, a []E, lda int, b []E, ldb int,
		beta R, c []E, ldc int)
	trmm, trsm func(i fast.Implementation, s blas.Side, ul blas.Uplo, t blas.Transpose, d blas.Diag, m, n int, alpha E,
		a []E, lda int, b []E, ldb int)
}

type implementation = fast.Implementation

var (
	routinesS = routines[float32, float32]{
		gemm: implementation.Sgemm, symm: implementation.Ssymm, syrk: implementation.Ssyrk,
		syr2k: implementation.Ssyr2k, trmm: implementation.Strmm, trsm: implementation.Strsm,
	}
	routinesD = routines[float64, float64]{
		gemm: implementation.Dgemm, symm: implementation.Dsymm, syrk: implementation.Dsyrk,
		syr2k: implementation.Dsyr2k, trmm: implementation.Dtrmm, trsm: implementation.Dtrsm,
	}
	routinesC = routines[complex64, float32]{
		gemm: implementation.Cgemm, symm: implementation.Csymm, hemm: implementation.Chemm,
		syrk: implementation.Csyrk, herk: implementation.Cherk, syr2k: implementation.Csyr2k,
		her2k: implementation.Cher2k, trmm: implementation.Ctrmm, trsm: implementation.Ctrsm,
	}
	routinesZ = routines[complex128, float64]{
		gemm: implementation.Zgemm, symm: implementation.Zsymm, hemm: implementation.Zhemm,
		syrk: implementation.Zsyrk, herk: implementation.Zherk, syr2k: implementation.Zsyr2k,
		her2k: implementation.Zher2k, trmm: implementation.Ztrmm, trsm: implementation.Ztrsm,
	}
)

func (r *routines[E, R]) call(p *C.struct_product) {
	i := fast.Implementation{Workers: cmp.Or(int(p.threads), int(p.threads_default))}
	m, n, k := int(p.m), int(p.n), int(p.k)
	lda, ldb, ldc := int(p.lda), int(p.ldb), int(p.ldc)
	s, ul, d := blas.Side(p.side), blas.Uplo(p.uplo), blas.Diag(p.diag)
	tA, tB := blas.Transpose(p.trans_a), blas.Transpose(p.trans_b)
	hermitian := p.family&C.HERMITIAN != 0
	if k == 0 { // A and B have no elements, and rows of any length
		tA, tB, lda, ldb = blas.Trans, blas.NoTrans, max(1, m), max(1, n)
		if hermitian {
			tA = blas.ConjTrans
		}
	}
	rowsA, colsA, rowsB, colsB := m, k, k, n
	switch {
	case p.family&C.SIDED != 0:
		rowsA, rowsB = k, m
	case tA != blas.NoTrans:
		rowsA, colsA = k, m
	}
	switch {
	case p.family&(C.SYR2K|C.HER2K) != 0:
		rowsB, colsB = rowsA, colsA
	case tB != blas.NoTrans:
		rowsB, colsB = n, k
	}
	a, b, c := elements[E](p.a, rowsA, colsA, lda), elements[E](p.b, rowsB, colsB, ldb), elements[E](p.c, m, n, ldc)
	switch p.family {
	case C.GEMM:
		r.gemm(i, tA, tB, m, n, k, *(*E)(p.alpha), a, lda, b, ldb, *(*E)(p.beta), c, ldc)
	case C.GEMMTR:
		r.gemmtr(i, ul, tA, tB, n, k, *(*E)(p.alpha), a, lda, b, ldb, *(*E)(p.beta), c, ldc)
	case C.SYMM:
		r.symm(i, s, ul, m, n, *(*E)(p.alpha), a, lda, b, ldb, *(*E)(p.beta), c, ldc)
	case C.HEMM:
		r.hemm(i, s, ul, m, n, *(*E)(p.alpha), a, lda, b, ldb, *(*E)(p.beta), c, ldc)
	case C.SYRK:
		r.syrk(i, ul, tA, n, k, *(*E)(p.alpha), a, lda, *(*E)(p.beta), c, ldc)
	case C.HERK:
		r.herk(i, ul, tA, n, k, *(*R)(p.alpha), a, lda, *(*R)(p.beta), c, ldc)
	case C.SYR2K:
		r.syr2k(i, ul, tA, n, k, *(*E)(p.alpha), a, lda, b, ldb, *(*E)(p.beta), c, ldc)
	case C.HER2K:
		r.her2k(i, ul, tA, n, k, *(*E)(p.alpha), a, lda, b, ldb, *(*R)(p.beta), c, ldc)
	case C.TRMM:
		r.trmm(i, s, ul, tA, d, m, n, *(*E)(p.alpha), a, lda, b, ldb)
	case C.TRSM:
		r.trsm(i, s, ul, tA, d, m, n, *(*E)(p.alpha), a, lda, b, ldb)
	}
}

// gemmtr computes the triangle ul of the n×n matrix C ← α·op(A)·op(B) + β·C: two triangles of half the order, and by
// gemm what is between them. A small triangle is copied into a square.
func (r *routines[E, R]) gemmtr(i fast.Implementation, ul blas.Uplo, tA, tB blas.Transpose, n, k int, alpha E, a []E,
	lda int, b []E, ldb int, beta E, c []E, ldc int) {
	if n <= 32 {
		square := make([]E, n*n)
		for row := range 2 * n { // to the square and, after the product, back
			if row == n {
				r.gemm(i, tA, tB, n, n, k, alpha, a, lda, b, ldb, beta, square, n)
			}
			lo, hi := 0, row%n+1
			if ul == blas.Upper {
				lo, hi = row%n, n
			}
			from, to := c[row%n*ldc:][lo:hi], square[row%n*n:][lo:hi]
			if row >= n {
				from, to = to, from
			}
			copy(to, from)
		}
		return
	}
	h := n / 2
	rowA, colB := h*lda, h // where row h of op(A) and column h of op(B) begin
	if tA != blas.NoTrans {
		rowA = h
	}
	if tB != blas.NoTrans {
		colB = h * ldb
	}
	a2, b2 := a[min(rowA, len(a)):], b[min(colB, len(b)):]
	r.gemmtr(i, ul, tA, tB, h, k, alpha, a, lda, b, ldb, beta, c, ldc)
	r.gemmtr(i, ul, tA, tB, n-h, k, alpha, a2, lda, b2, ldb, beta, c[h*ldc+h:], ldc)
	if ul == blas.Lower {
		r.gemm(i, tA, tB, n-h, h, k, alpha, a2, lda, b, ldb, beta, c[h*ldc:], ldc)
	} else {
		r.gemm(i, tA, tB, h, n-h, k, alpha, a, lda, b2, ldb, beta, c[h:], ldc)
	}
}
