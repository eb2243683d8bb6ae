package blas

import (
	"context"
	"unsafe"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/parallel/pool"
)

// Zgemm computes C ← α·op(A)·op(B) + β·C in complex numbers, by four real products:
//
//	Re = Re(A)·Re(B) − Im(A)·Im(B)      Im = Re(A)·Im(B) + Im(A)·Re(B)
//
// Three would do, but their error is small in comparison with |A|·|B| only, not in the real and in the
// imaginary part of each element (Higham, Stability of a Method for Multiplying Complex Matrices with Three Real Matrix
// Multiplications, SIAM J. Matrix Anal. Appl. 13(3), 1992). The error of four is the error of the definition.
func (i Implementation) Zgemm(tA, tB blas.Transpose, m, n, k int, alpha complex128, a []complex128, lda int,
	b []complex128, ldb int, beta complex128, c []complex128, ldc int) {
	if terms(m, n, k) <= fewComplex || alpha == 0 || !gemmFits(tA, tB, m, n, k, len(a), lda, len(b), ldb, len(c), ldc) {
		i.Implementation.Zgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	w := double.borrow(i.Workers)
	w.complexProduct(complexJob[float64]{tA: tA, tB: tB, alpha: [2]float64{real(alpha), imag(alpha)},
		beta: [2]float64{real(beta), imag(beta)}, a: pairs[float64](a), b: pairs[float64](b), c: pairs[float64](c),
		lda: lda, ldb: ldb, ldc: ldc}, m, n, k)
	w.giveBack()
}

// Cgemm is Zgemm for complex64.
func (i Implementation) Cgemm(tA, tB blas.Transpose, m, n, k int, alpha complex64, a []complex64, lda int,
	b []complex64, ldb int, beta complex64, c []complex64, ldc int) {
	if terms(m, n, k) <= fewComplex || alpha == 0 || !gemmFits(tA, tB, m, n, k, len(a), lda, len(b), ldb, len(c), ldc) {
		i.Implementation.Cgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	w := single.borrow(i.Workers)
	w.complexProduct(complexJob[float32]{tA: tA, tB: tB, alpha: [2]float32{real(alpha), imag(alpha)},
		beta: [2]float32{real(beta), imag(beta)}, a: pairs[float32](a), b: pairs[float32](b), c: pairs[float32](c),
		lda: lda, ldb: ldb, ldc: ldc}, m, n, k)
	w.giveBack()
}

const (
	// fewComplex is the largest m·n·k of a complex product that gonum computes faster.
	fewComplex = 8 * 8 * 8
	// complexRows, complexCols and complexDepth are the sizes of the blocks of a complex product, whose real and
	// imaginary parts are copied.
	complexRows, complexCols, complexDepth = 512, 1024, 256
	// splitAlone is the most elements that one worker splits or joins.
	splitAlone = 1 << 14
)

// pairs returns complex numbers as their real and imaginary parts, one behind the other.
func pairs[T gemm.Float, C complex64 | complex128](x []C) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(x))), 2*len(x))
}

// complexJob is a complex product. Its operands are pairs; leading dimensions count complex numbers.
type complexJob[T gemm.Float] struct {
	tA, tB        blas.Transpose
	alpha, beta   [2]T
	a, b, c       []T
	lda, ldb, ldc int
}

// complexes are the buffers of complex products, and the loop over the rows of one.
type complexes[T gemm.Float] struct {
	pool *pool.Pool
	rows func(worker, lo, hi int)
	// The two matrices of a block: real and imaginary parts.
	a, b, product [2][]T
	// What rows does: it splits a block of pairs, or joins a block of the product to C.
	join       bool
	pairs      []T // from the first element of the block on
	ld         int // complex numbers
	parts      [2][]T
	cols       int
	conjugated bool
	alpha      [2]T
	beta       [2]T
}

func newComplexes[T gemm.Float](workers int) *complexes[T] {
	x := &complexes[T]{pool: pool.New(workers)}
	for i := range 2 {
		x.a[i], x.b[i] = make([]T, complexRows*complexDepth), make([]T, complexDepth*complexCols)
		x.product[i] = make([]T, complexRows*complexCols)
	}
	x.rows = func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			if x.join {
				x.joinRow(i)
			} else {
				x.splitRow(i)
			}
		}
	}
	return x
}

// complexProduct computes j, whose α is not 0.
func (w *workspace[T]) complexProduct(j complexJob[T], m, n, k int) {
	if w.complexes == nil {
		w.complexes = newComplexes[T](w.workers)
	}
	x := w.complexes
	for jc := 0; jc < n; jc += complexCols {
		cols := min(complexCols, n-jc)
		for pc := 0; pc == 0 || pc < k; pc += complexDepth {
			depth := min(complexDepth, k-pc)
			b := x.split(x.b, j.tB, j.b, j.ldb, pc, jc, depth, cols)
			for ic := 0; ic < m; ic += complexRows {
				rows := min(complexRows, m-ic)
				a := x.split(x.a, j.tA, j.a, j.lda, ic, pc, rows, depth)
				w.fourProducts(rows, cols, depth, a, b)
				beta := j.beta
				if pc > 0 {
					beta = [2]T{1, 0}
				}
				x.alpha, x.beta, x.join, x.cols, x.parts = j.alpha, beta, true, cols, x.product
				x.pairs, x.ld = j.c[2*(ic*j.ldc+jc):], j.ldc
				x.loop(rows)
			}
		}
	}
	x.pairs = nil // leaves the operands to the garbage collector
}

// fourProducts computes the real and the imaginary part of the product of a block.
func (w *workspace[T]) fourProducts(m, n, k int, a, b [2]view[T]) {
	parts := w.complexes.product
	real, imag := view[T]{Data: parts[0], Row: n, Col: 1}, view[T]{Data: parts[1], Row: n, Col: 1}
	for _, p := range []struct {
		alpha T
		a, b  view[T]
		beta  T
		c     view[T]
	}{{1, a[0], b[0], 0, real}, {-1, a[1], b[1], 1, real}, {1, a[0], b[1], 0, imag}, {1, a[1], b[0], 1, imag}} {
		_ = w.product(context.Background(), m, n, k, p.alpha, p.a, p.b, p.beta, p.c) // the only error is the context's
	}
}

// split copies the parts of a block of op(X), rows×cols from (i, j) on, and returns them. A transpose is a view.
func (x *complexes[T]) split(to [2][]T, t blas.Transpose, data []T, ld, i, j, rows, cols int) [2]view[T] {
	if t != NoTrans {
		i, j, rows, cols = j, i, cols, rows
	}
	x.join, x.cols, x.parts, x.conjugated = false, cols, to, t == ConjTrans
	if rows > 0 && cols > 0 {
		x.pairs, x.ld = data[2*(i*ld+j):], ld
		x.loop(rows)
	}
	var out [2]view[T]
	for part := range out {
		out[part] = view[T]{Data: to[part], Row: cols, Col: 1}
		if t != NoTrans {
			out[part] = transposed(out[part])
		}
	}
	return out
}

// loop splits or joins rows.
func (x *complexes[T]) loop(rows int) {
	if rows*x.cols <= splitAlone {
		x.rows(0, 0, rows)
		return
	}
	x.pool.Run(x.pool.Workers(), rows, x.rows)
}

func (x *complexes[T]) splitRow(i int) {
	from := x.pairs[2*i*x.ld:][:2*x.cols]
	real, imag := x.parts[0][i*x.cols:][:x.cols], x.parts[1][i*x.cols:][:x.cols]
	sign := T(1)
	if x.conjugated {
		sign = -1
	}
	for j := range real {
		real[j], imag[j] = from[2*j], sign*from[2*j+1]
	}
}

func (x *complexes[T]) joinRow(i int) {
	to := x.pairs[2*i*x.ld:][:2*x.cols]
	real, imag := x.parts[0][i*x.cols:][:x.cols], x.parts[1][i*x.cols:][:x.cols]
	a, b := x.alpha, x.beta
	for j := range real {
		re, im := a[0]*real[j]-a[1]*imag[j], a[0]*imag[j]+a[1]*real[j]
		if b != [2]T{} {
			old := [2]T{to[2*j], to[2*j+1]}
			re, im = re+b[0]*old[0]-b[1]*old[1], im+b[0]*old[1]+b[1]*old[0]
		}
		to[2*j], to[2*j+1] = re, im
	}
}
