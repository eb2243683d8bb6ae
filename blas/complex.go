package blas

import (
	"context"
	"unsafe"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/internal/block"
	"gemm/pool"
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
	if !complexGemm(&double, i.Workers, tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc) {
		i.Implementation.Zgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Cgemm is Zgemm for complex64.
func (i Implementation) Cgemm(tA, tB blas.Transpose, m, n, k int, alpha complex64, a []complex64, lda int,
	b []complex64, ldb int, beta complex64, c []complex64, ldc int) {
	if !complexGemm(&single, i.Workers, tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc) {
		i.Implementation.Cgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// complexGemm computes a complex product. If α = 0, A and B are not read. It returns false if there is nothing to
// multiply or an argument is wrong: gonum does the rest.
func complexGemm[T gemm.Float, C anyComplex](p *precision[T], workers int, tA, tB blas.Transpose, m, n, k int, alpha C,
	a []C, lda int, b []C, ldb int, beta C, c []C, ldc int) bool {
	if !gemmFits(tA, tB, m, n, k, len(a), lda, len(b), ldb, len(c), ldc) {
		return false
	}
	j := &complexJob[T]{context.Background(), tA, tB, pair[T](alpha), pair[T](beta), pairs[T](a), pairs[T](b),
		pairs[T](c), lda, ldb, ldc}
	_ = j.compute(p, workers, m, n, k) // the only error would be the context's
	return true
}

// compute computes j. The error is the context's.
func (j *complexJob[T]) compute(p *precision[T], workers, m, n, k int) error {
	if k == 0 || j.alpha == [2]T{} {
		k, j.alpha = 0, [2]T{}
	}
	if k == 0 || terms(m, n, k) <= fewComplex && isModerate(j.alpha) {
		j.few(m, n, k)
		return nil
	}
	w := p.acquire(workers)
	w.complexProduct(j, m, n, k)
	w.release()
	return j.ctx.Err()
}

// isModerate is block.IsModerate for a complex number.
func isModerate[T gemm.Float](x [2]T) bool {
	return x == [2]T{1} || block.IsModerate(max(x[0], -x[0], x[1], -x[1]))
}

// scaled returns the parts of s·(re + im·i). If s is real, both parts are multiplied by a real number, so that infinite
// parts stay what they are.
func scaled[T gemm.Float](s [2]T, re, im T) (T, T) {
	if s[1] == 0 {
		return s[0] * re, s[0] * im
	}
	return s[0]*re - s[1]*im, s[0]*im + s[1]*re
}

const (
	// fewComplex is the largest m·n·k of a complex product that is computed by its definition.
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
	ctx           context.Context
	tA, tB        blas.Transpose
	alpha, beta   [2]T
	a, b, c       []T
	lda, ldb, ldc int
}

// complexBuffers are the buffers of complex products, and the loop over the rows of one.
type complexBuffers[T gemm.Float] struct {
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

func newComplexBuffers[T gemm.Float](workers int) *complexBuffers[T] {
	x := &complexBuffers[T]{pool: pool.New(workers)}
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

// complexProduct computes j, whose α and k are not 0. If the context is cancelled, it ends after a block.
func (w *workspace[T]) complexProduct(j *complexJob[T], m, n, k int) {
	if w.complexes == nil {
		w.complexes = newComplexBuffers[T](w.workers)
	}
	x := w.complexes
	for jc := 0; jc < n; jc += complexCols {
		cols := min(complexCols, n-jc)
		for pc := 0; pc < k; pc += complexDepth {
			depth := min(complexDepth, k-pc)
			b := x.split(x.b, j.tB, j.b, j.ldb, pc, jc, depth, cols)
			for ic := 0; ic < m && j.ctx.Err() == nil; ic += complexRows {
				rows := min(complexRows, m-ic)
				a := x.split(x.a, j.tA, j.a, j.lda, ic, pc, rows, depth)
				alpha, beta := j.alpha, j.beta
				if pc > 0 {
					beta = [2]T{1, 0}
				}
				if !isModerate(alpha) {
					x.old(j, ic, jc, rows, cols, beta)
					alpha, beta = [2]T{1, 0}, [2]T{}
				}
				w.products(rows, cols, depth, j.alpha, a, b)
				x.alpha, x.beta, x.join, x.cols, x.parts = alpha, beta, true, cols, x.product
				x.pairs, x.ld = j.c[2*(ic*j.ldc+jc):], j.ldc
				x.loop(rows)
			}
		}
	}
	x.pairs = nil // leaves the operands to the garbage collector
}

// few computes j by its definition: element by element, of the operands in place.
func (j *complexJob[T]) few(m, n, k int) {
	aRow, aCol := ordered(j.tA, j.lda, 1)
	bRow, bCol := ordered(j.tB, j.ldb, 1)
	signA, signB := T(1), T(1)
	if j.tA == ConjTrans {
		signA = -1
	}
	if j.tB == ConjTrans {
		signB = -1
	}
	a, b, c := unsafe.Pointer(unsafe.SliceData(j.a)), unsafe.Pointer(unsafe.SliceData(j.b)),
		unsafe.Pointer(unsafe.SliceData(j.c))
	size := int(unsafe.Sizeof(j.alpha))
	aRow, aCol, bRow, bCol, ldc := aRow*size, aCol*size, bRow*size, bCol*size, j.ldc*size
	for i := range m {
		for col := range n {
			var re1, re2, im1, im2 T
			for l, p, q := 0, i*aRow, col*bCol; l < k; l++ {
				x, y := (*[2]T)(unsafe.Add(a, p)), (*[2]T)(unsafe.Add(b, q))
				xr, xi, yr, yi := x[0], x[1], y[0], y[1]
				re1 += xr * yr
				re2 += xi * yi
				im1 += xr * yi
				im2 += xi * yr
				p, q = p+aCol, q+bRow
			}
			to := (*[2]T)(unsafe.Add(c, i*ldc+col*size))
			x, y := scaled(j.alpha, re1-signA*signB*re2, signB*im1+signA*im2)
			if j.beta != [2]T{} {
				oldX, oldY := scaled(j.beta, to[0], to[1])
				x, y = x+oldX, y+oldY
			}
			to[0], to[1] = x, y
		}
	}
}

// products computes the real and the imaginary part of the product of a block. If α is moderate, it is left out. If
// not, the parts of C are there already, and real products with α are added.
func (w *workspace[T]) products(m, n, k int, alpha [2]T, a, b [2]view[T]) {
	type product struct {
		alpha T
		a, b  view[T]
		beta  T
		part  int
	}
	four := []product{{1, a[0], b[0], 0, 0}, {-1, a[1], b[1], 1, 0}, {1, a[0], b[1], 0, 1}, {1, a[1], b[0], 1, 1}}
	if !isModerate(alpha) {
		re, im := alpha[0], alpha[1]
		four = []product{{re, a[0], b[0], 1, 0}, {-re, a[1], b[1], 1, 0}, {re, a[0], b[1], 1, 1},
			{re, a[1], b[0], 1, 1}, {-im, a[0], b[1], 1, 0}, {-im, a[1], b[0], 1, 0}, {im, a[0], b[0], 1, 1},
			{-im, a[1], b[1], 1, 1}}
	}
	for _, p := range four {
		c := view[T]{Data: w.complexes.product[p.part], Row: n, Col: 1}
		_ = w.product(context.Background(), m, n, k, p.alpha, p.a, p.b, p.beta, c) // the only error is the context's
	}
}

// split copies the parts of a block of op(X), rows×cols from (i, j) on, and returns them. A transpose is a view.
func (x *complexBuffers[T]) split(to [2][]T, t blas.Transpose, data []T, ld, i, j, rows, cols int) [2]view[T] {
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

// old writes the parts of a block of β·C to the product.
func (x *complexBuffers[T]) old(j *complexJob[T], ic, jc, rows, cols int, beta [2]T) {
	parts := x.product
	if beta == [2]T{} {
		clear(parts[0][:rows*cols])
		clear(parts[1][:rows*cols])
		return
	}
	x.split(parts, NoTrans, j.c, j.ldc, ic, jc, rows, cols)
	for i := range rows * cols {
		parts[0][i], parts[1][i] = scaled(beta, parts[0][i], parts[1][i])
	}
}

// loop splits or joins rows.
func (x *complexBuffers[T]) loop(rows int) {
	if rows*x.cols <= splitAlone {
		x.rows(0, 0, rows)
		return
	}
	x.pool.Run(x.pool.Workers(), rows, x.rows)
}

func (x *complexBuffers[T]) splitRow(i int) {
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

func (x *complexBuffers[T]) joinRow(i int) {
	to := x.pairs[2*i*x.ld:][:2*x.cols]
	real, imag := x.parts[0][i*x.cols:][:x.cols], x.parts[1][i*x.cols:][:x.cols]
	a, b := x.alpha, x.beta
	for j := range real {
		re, im := scaled(a, real[j], imag[j])
		if b != [2]T{} {
			oldRe, oldIm := scaled(b, to[2*j], to[2*j+1])
			re, im = re+oldRe, im+oldIm
		}
		to[2*j], to[2*j+1] = re, im
	}
}
