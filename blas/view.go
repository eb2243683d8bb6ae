package blas

import (
	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/internal/block"
)

// element is the type of the elements of a routine's operands.
type element interface{ gemm.Float | anyComplex }

// view is a matrix in memory, by rows or by columns: element (i, j) is Data[i*Row+j*Col]. A transpose is
// another view of the same data. So the routines need one case for all transposes, sides and triangles.
type view[T gemm.Float] = block.View[T]

// stored returns op of the matrix whose rows begin ld elements apart.
func stored[T gemm.Float](t blas.Transpose, data []T, ld int) view[T] {
	v := view[T]{Data: data, Row: ld, Col: 1}
	if t == blas.NoTrans {
		return v
	}
	return transposed(v)
}

// transposed returns the transpose of v.
func transposed[T gemm.Float](v view[T]) view[T] {
	return view[T]{Data: v.Data, Row: v.Col, Col: v.Row}
}

// from returns the part of v that begins at element (i, j). It is empty if v has no such element.
func from[T gemm.Float](v view[T], i, j int) view[T] {
	return view[T]{Data: v.Data[min(i*v.Row+j*v.Col, len(v.Data)):], Row: v.Row, Col: v.Col}
}

// lower returns a view of a symmetric matrix whose lower triangle is stored. In v, triangle u is stored.
func lower[T gemm.Float](u blas.Uplo, v view[T]) view[T] {
	if u == blas.Upper {
		return transposed(v)
	}
	return v
}

// triangle is a triangular matrix.
type triangle[T gemm.Float] struct {
	view[T]
	upper bool // upper triangular, not lower
	unit  bool // the diagonal is not stored; its elements are 1
}

// triangular returns op of the triangular matrix that is stored in triangle u of data.
func triangular[T gemm.Float](u blas.Uplo, t blas.Transpose, d blas.Diag, data []T, ld int) triangle[T] {
	return triangle[T]{stored(t, data, ld), (u == blas.Upper) == (t == blas.NoTrans), d == blas.Unit}
}

// transposed returns the transpose of t.
func (t triangle[T]) transposed() triangle[T] {
	return triangle[T]{transposed(t.view), !t.upper, t.unit}
}

// from returns the triangle whose diagonal begins with element i of the diagonal of t.
func (t triangle[T]) from(i int) triangle[T] {
	return triangle[T]{from(t.view, i, i), t.upper, t.unit}
}

// half returns the index at which n elements are divided: near the middle, and a multiple of block.
func half(n, block int) int {
	return (n/2 + block - 1) / block * block
}
