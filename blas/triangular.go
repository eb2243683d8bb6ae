package blas

import (
	"gonum.org/v1/gonum/blas"

	"gemm"
)

// Dtrmm computes B ← α·op(A)·B where s is Left and B ← α·B·op(A) where it is Right,
// with B m×n and A triangular, stored in its triangle ul; the other triangle, and
// the diagonal where d is Unit, are not read.
func (i Implementation) Dtrmm(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int) {
	if !triangularFits(s, ul, tA, d, m, n, a, lda, b, ldb) || alpha == 0 {
		i.Implementation.Dtrmm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	double.triangular((*workspace[float64]).triangularMultiply, s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
}

// Strmm is Dtrmm for float32.
func (i Implementation) Strmm(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float32, a []float32, lda int, b []float32, ldb int) {
	if !triangularFits(s, ul, tA, d, m, n, a, lda, b, ldb) || alpha == 0 {
		i.Implementation.Strmm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	single.triangular((*workspace[float32]).triangularMultiply, s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
}

// Dtrsm solves op(A)·X = α·B where s is Left and X·op(A) = α·B where it is Right,
// with B m×n and A triangular, stored in its triangle ul; the other triangle, and
// the diagonal where d is Unit, are not read. X takes the place of B. Whether A can
// be inverted is not checked.
func (i Implementation) Dtrsm(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int) {
	if !triangularFits(s, ul, tA, d, m, n, a, lda, b, ldb) || alpha == 0 {
		i.Implementation.Dtrsm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	double.triangular((*workspace[float64]).solve, s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
}

// Strsm is Dtrsm for float32.
func (i Implementation) Strsm(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float32, a []float32, lda int, b []float32, ldb int) {
	if !triangularFits(s, ul, tA, d, m, n, a, lda, b, ldb) || alpha == 0 {
		i.Implementation.Strsm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	single.triangular((*workspace[float32]).solve, s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
}

// triangularFits reports whether the arguments are right and B has elements.
func triangularFits[T gemm.Float](s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, a []T, lda int, b []T, ldb int) bool {
	if !isSide(s) || !isTriangle(ul) || !isTranspose(tA) || !isDiag(d) || m <= 0 || n <= 0 {
		return false
	}
	k := order(s, m, n)
	return fits(a, k, k, lda) && fits(b, m, n, ldb)
}

// triangular runs a routine for A on the left. Where A is on the right, it is
// handed the transposes: (B·A)ᵀ = Aᵀ·Bᵀ.
func (p *precision[T]) triangular(routine func(w *workspace[T], m, n int, alpha T, t triangle[T], b view[T]),
	s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int,
) {
	t, vb := triangular(ul, tA, d, a, lda), stored(blas.NoTrans, b, ldb)
	if s == blas.Right {
		m, n, t, vb = n, m, t.transposed(), transposed(vb)
	}
	w := p.borrow()
	routine(w, m, n, alpha, t, vb)
	w.giveBack()
}

// triangularMultiply computes B ← α·T·B with T of order m and B m×n. With both cut
// in two and T upper,
//
//	B₁ ← α·T₁₁·B₁, then B₁ ← B₁ + α·T₁₂·B₂, then B₂ ← α·T₂₂·B₂
//
// of which the second is a full product and the others are smaller ones of this
// kind; with T lower it goes from the last rows to the first.
func (w *workspace[T]) triangularMultiply(m, n int, alpha T, t triangle[T], b view[T]) {
	if m <= order0 {
		w.multiplyDiagonal(m, n, alpha, t, b)
		return
	}
	top := half(m, order0)
	b2 := from(b, top, 0)
	if t.upper {
		w.triangularMultiply(top, n, alpha, t, b)
		w.multiply(top, n, m-top, alpha, from(t.view, 0, top), b2, 1, b)
		w.triangularMultiply(m-top, n, alpha, t.from(top), b2)
	} else {
		w.triangularMultiply(m-top, n, alpha, t.from(top), b2)
		w.multiply(m-top, n, top, alpha, from(t.view, top, 0), b, 1, b2)
		w.triangularMultiply(top, n, alpha, t, b)
	}
}

// solve computes B ← α·T⁻¹·B with T of order m and B m×n. With both cut in two and
// T lower,
//
//	B₁ ← α·T₁₁⁻¹·B₁, then B₂ ← α·B₂ − T₂₁·B₁, then B₂ ← T₂₂⁻¹·B₂
//
// of which the second is a full product and the others are smaller solutions; with
// T upper it goes from the last rows to the first.
func (w *workspace[T]) solve(m, n int, alpha T, t triangle[T], b view[T]) {
	if m <= order0 {
		w.solveDiagonal(m, n, alpha, t, b)
		return
	}
	top := half(m, order0)
	b2 := from(b, top, 0)
	if t.upper {
		w.solve(m-top, n, alpha, t.from(top), b2)
		w.multiply(top, n, m-top, -1, from(t.view, 0, top), b2, alpha, b)
		w.solve(top, n, 1, t, b)
	} else {
		w.solve(top, n, alpha, t, b)
		w.multiply(m-top, n, top, -1, from(t.view, top, 0), b, alpha, b2)
		w.solve(m-top, n, 1, t.from(top), b2)
	}
}

// multiplyDiagonal is triangularMultiply for a block on the diagonal: it is
// completed by zeros to a full matrix, which multiplies copies of B a strip at a
// time. Where B has a NaN or an Inf, which those zeros would spread to rows that do
// not depend on it, gonum multiplies the strip.
func (w *workspace[T]) multiplyDiagonal(m, n int, alpha T, t triangle[T], b view[T]) {
	w.loadTriangle(m, t)
	for j := 0; j < n; j += width {
		cols := min(width, n-j)
		part := from(b, 0, j)
		if w.load(m, cols, part) {
			w.multiply(m, cols, m, alpha, w.squareOf(m), w.stripOf(cols), 0, part)
			continue
		}
		w.trmm(blas.Left, uplo(t.upper), blas.NoTrans, blas.NonUnit, m, cols, alpha, w.square[:], m, w.strip[:], cols)
		w.store(m, cols, part)
	}
}

// solveDiagonal is solve for a block on the diagonal: gonum solves for copies of B
// a strip at a time, which stay in the first level of cache.
func (w *workspace[T]) solveDiagonal(m, n int, alpha T, t triangle[T], b view[T]) {
	w.loadTriangle(m, t)
	for j := 0; j < n; j += width {
		cols := min(width, n-j)
		part := from(b, 0, j)
		w.load(m, cols, part)
		w.trsm(blas.Left, uplo(t.upper), blas.NoTrans, blas.NonUnit, m, cols, alpha, w.square[:], m, w.strip[:], cols)
		w.store(m, cols, part)
	}
}

// uplo returns gonum's name of a triangle.
func uplo(upper bool) blas.Uplo {
	if upper {
		return blas.Upper
	}
	return blas.Lower
}

// stripOf returns a view of the workspace's strip with the given number of columns.
func (w *workspace[T]) stripOf(cols int) view[T] {
	return view[T]{Data: w.strip[:], Row: cols, Col: 1}
}

// loadTriangle copies t, of order m, to the workspace's square, zeros and a unit
// diagonal included.
func (w *workspace[T]) loadTriangle(m int, t triangle[T]) {
	for i := range m {
		for j := range m {
			x := T(0)
			switch {
			case i == j && t.unit:
				x = 1
			case i == j, (i < j) == t.upper:
				x = t.Data[i*t.Row+j*t.Col]
			}
			w.square[i*m+j] = x
		}
	}
}

// load copies B, m×cols, to the workspace's strip and reports whether all of its
// elements are finite.
func (w *workspace[T]) load(m, cols int, b view[T]) bool {
	var zero T // until a NaN or an Inf is met, which make NaN of it
	for i := range m {
		row := w.strip[i*cols:][:cols]
		src := b.Data[i*b.Row:]
		for j := range row {
			x := src[j*b.Col]
			row[j] = x
			zero += x * 0
		}
	}
	return zero == 0
}

// store copies the workspace's strip to B, m×cols.
func (w *workspace[T]) store(m, cols int, b view[T]) {
	for i := range m {
		dst := b.Data[i*b.Row:]
		for j, x := range w.strip[i*cols:][:cols] {
			dst[j*b.Col] = x
		}
	}
}
