package blas

import (
	"unsafe"

	"gonum.org/v1/gonum/blas"

	"gemm"
)

// The corners of complex triangular matrices: blocks on the diagonal that are not divided.

// pair returns the real and the imaginary part; number returns the number that has them.
func pair[T gemm.Float, C anyComplex](x C) [2]T   { return *(*[2]T)(unsafe.Pointer(&x)) }
func number[C anyComplex, T gemm.Float](x [2]T) C { return *(*C)(unsafe.Pointer(&x)) }

// isFinite reports whether no element is Inf or NaN.
func isFinite[T gemm.Float](x []T) bool {
	for _, v := range x {
		if v-v != 0 {
			return false
		}
	}
	return true
}

// gonumFits reports whether gonum's routine multiplies by a corner, or solves with it, as complexCorner does. gonum
// skips zeros, which is right if they meet finite numbers only: on the left zeros of the triangle, which may meet
// solutions that are infinite, and on the right zeros of B. It multiplies by reciprocals of the diagonal, which is right
// if they are normal numbers.
func gonumFits[T gemm.Float, C anyComplex](solve bool, s blas.Side, ul blas.Uplo, d blas.Diag, m, n int, a []C,
	lda int, b []C, ldb int) bool {
	k, meetB := order(s, m, n), !solve && (s == blas.Right || d == blas.Unit)
	for i := range k {
		row := pairs[T](a[i*lda:][:k])
		others := row[:2*i]
		if ul == blas.Upper {
			others = row[2*i+2:]
		}
		if !isFinite(others) {
			return false
		}
		for ; s == blas.Left && len(others) > 1; others = others[2:] {
			if others[0] == 0 && others[1] == 0 {
				if solve {
					return false
				}
				meetB = true
			}
		}
		x, y := row[2*i], row[2*i+1]
		if d == blas.NonUnit && (!isFinite(row[2*i:][:2]) || solve && !isNormal(1/max(x, -x, y, -y))) {
			return false
		}
	}
	for i := 0; meetB && i < m; i++ {
		if !isFinite(pairs[T](b[i*ldb:][:n])) {
			return false
		}
	}
	return true
}

// complexCorner is op(A), or its transpose if A is on the right. It multiplies vectors from the left: the columns of B,
// or the rows.
type complexCorner[C anyComplex] struct {
	t              [onCorner][onCorner]C
	upper, unit    bool
	order, vectors int
	b              []C // element i of vector v is b[i·step + v·next]
	step, next     int
}

// cornerOf returns the corner for the arguments of trmm and trsm.
func cornerOf[T gemm.Float, C anyComplex](s blas.Side, ul blas.Uplo, t blas.Transpose, d blas.Diag, m, n int, a []C,
	lda int, b []C, ldb int) *complexCorner[C] {
	turned := (s == blas.Left) != (t == NoTrans)
	x := &complexCorner[C]{upper: (ul == blas.Upper) != turned, unit: d == blas.Unit, order: m, vectors: n, b: b,
		step: ldb, next: 1}
	if s == blas.Right {
		x.order, x.vectors, x.step, x.next = n, m, 1, ldb
	}
	for i := range x.order {
		first, end := x.row(i)
		for j := first; j < end; j++ {
			p, q := i, j
			if turned {
				p, q = j, i
			}
			y := pair[T](a[p*lda+q])
			if t == ConjTrans {
				y[1] = -y[1]
			}
			x.t[i][j] = number[C](y)
		}
	}
	return x
}

// row returns where the elements of row i begin and end. A unit diagonal has none.
func (x *complexCorner[C]) row(i int) (first, end int) {
	switch {
	case x.upper && x.unit:
		return i + 1, x.order
	case x.upper:
		return i, x.order
	case x.unit:
		return 0, i
	}
	return 0, i + 1
}

// at returns the row that is computed at a step: the rows come first whose input no other row needs, or in a
// solution the rows that need no other.
func (x *complexCorner[C]) at(step int, solve bool) int {
	if x.upper == solve {
		return x.order - 1 - step
	}
	return step
}

// solve multiplies each vector by the inverse of the corner. It skips no zeros, and divides.
func (x *complexCorner[C]) solve() {
	for v := range x.vectors {
		y := x.b[v*x.next:]
		for step := range x.order {
			i := x.at(step, true)
			sum := y[i*x.step]
			for j, end := x.row(i); j < end; j++ {
				if j != i {
					sum -= x.t[i][j] * y[j*x.step]
				}
			}
			if !x.unit {
				sum /= x.t[i][i]
			}
			y[i*x.step] = sum
		}
	}
}

// multiplyCorner computes B ← α·op(A)·B or α·B·op(A) for a corner.
func (r *complexRoutines[T, C]) multiplyCorner(s blas.Side, ul blas.Uplo, t blas.Transpose, d blas.Diag, m, n int,
	alpha C, a []C, lda int, b []C, ldb int) {
	if isModerate(pair[T](alpha)) && gonumFits[T](false, s, ul, d, m, n, a, lda, b, ldb) {
		r.trmm(r.by.Implementation, s, ul, t, d, m, n, 1, a, lda, b, ldb)
		r.scale(alpha, m, n, b, ldb)
	} else {
		r.multiplyRows(s, cornerOf[T](s, ul, t, d, m, n, a, lda, b, ldb), alpha)
	}
}

// scale computes B ← α·B.
func (r *complexRoutines[T, C]) scale(alpha C, m, n int, b []C, ldb int) {
	if alpha != 1 {
		r.multiplied(NoTrans, NoTrans, m, n, 0, 0, b, ldb, b, ldb, alpha, b, ldb)
	}
}

// multiplyRows multiplies each vector by α times the corner, row by row, each of which is a product.
func (r *complexRoutines[T, C]) multiplyRows(s blas.Side, x *complexCorner[C], alpha C) {
	to := make([]C, x.vectors)
	for step := range x.order {
		i := x.at(step, false)
		first, end := x.row(i)
		var beta C
		if x.unit {
			beta = alpha
		}
		for v := range to {
			to[v] = x.b[i*x.step+v*x.next]
		}
		row, others := x.t[i][first:end], x.b[min(first*x.step, len(x.b)):]
		if s == blas.Left {
			r.multiplied(NoTrans, NoTrans, 1, x.vectors, len(row), alpha, row, max(1, len(row)), others, x.step, beta, to,
				x.vectors)
		} else {
			r.multiplied(NoTrans, NoTrans, x.vectors, 1, len(row), alpha, others, x.next, row, 1, beta, to, 1)
		}
		for v, y := range to {
			x.b[i*x.step+v*x.next] = y
		}
	}
}
