package blas

import (
	"math"
	"unsafe"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/internal/block"
)

// Dtrmm computes B ← α·op(A)·B if s is Left, and B ← α·B·op(A) if s is Right. B is m×n. A is triangular and stored in
// its triangle ul. The other triangle is not read, nor is the diagonal if d is Unit.
func (i Implementation) Dtrmm(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float64,
	a []float64, lda int, b []float64, ldb int) {
	if !triangularFits(s, ul, tA, d, m, n, a, lda, b, ldb) || alpha == 0 ||
		alpha*alpha == 1 && gonumComputes(false, s, ul, tA, d, m, n, a, lda) {
		i.Implementation.Dtrmm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	double.triangular(i.Workers, (*workspace[float64]).triangularMultiply, s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
}

// Strmm is Dtrmm for float32.
func (i Implementation) Strmm(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float32,
	a []float32, lda int, b []float32, ldb int) {
	if !triangularFits(s, ul, tA, d, m, n, a, lda, b, ldb) || alpha == 0 ||
		alpha*alpha == 1 && gonumComputes(false, s, ul, tA, d, m, n, a, lda) {
		i.Implementation.Strmm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	single.triangular(i.Workers, (*workspace[float32]).triangularMultiply, s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
}

// Dtrsm solves op(A)·X = α·B if s is Left, and X·op(A) = α·B if s is Right. B is m×n; X replaces
// it. A is triangular and stored in its triangle ul. The other triangle is not read, nor is the
// diagonal if d is Unit. Dtrsm does not check whether A can be inverted.
func (i Implementation) Dtrsm(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float64,
	a []float64, lda int, b []float64, ldb int) {
	if !triangularFits(s, ul, tA, d, m, n, a, lda, b, ldb) || alpha == 0 ||
		block.IsModerate(alpha) && gonumComputes(true, s, ul, tA, d, m, n, a, lda) {
		i.Implementation.Dtrsm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	double.triangular(i.Workers, (*workspace[float64]).solution, s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
}

// Strsm is Dtrsm for float32.
func (i Implementation) Strsm(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float32,
	a []float32, lda int, b []float32, ldb int) {
	if !triangularFits(s, ul, tA, d, m, n, a, lda, b, ldb) || alpha == 0 ||
		block.IsModerate(alpha) && gonumComputes(true, s, ul, tA, d, m, n, a, lda) {
		i.Implementation.Strsm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	single.triangular(i.Workers, (*workspace[float32]).solution, s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
}

// triangularFits reports whether the arguments are valid and B has elements. It panics if a slice is too
// short. If it returns false, gonum does the rest: it panics, or has nothing to do.
func triangularFits[T element](s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, a []T, lda int,
	b []T, ldb int) bool {
	if !isSide(s) || !isTriangle(ul) || !isTranspose(tA) || !isDiag(d) || m <= 0 || n <= 0 {
		return false
	}
	k := order(s, m, n)
	if lda < k || ldb < n {
		return false
	}
	mustHold(a, k, k, lda, shortA)
	mustHold(b, m, n, ldb, shortB)
	return true
}

// gonumComputes reports whether gonum multiplies, or solves: its loops are faster for few rows and columns. But gonum
// skips the zeros of a triangle on the left, and multiplies by reciprocals of its diagonal without a check. So there
// must be no zeros, and all reciprocals must be normal numbers. With a triangle on the right that is not transposed,
// gonum skips zeros of B.
func gonumComputes[T gemm.Float](solves bool, s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int,
	a []T, lda int) bool {
	if s == blas.Right {
		return tA != blas.NoTrans && m <= 6 && n <= 6
	}
	if most := max(m, n); most > 12 || !solves && most > 10 {
		return false
	}
	for i := range m {
		first, end := 0, i
		if ul == blas.Upper {
			first, end = i+1, m
		}
		for _, x := range a[i*lda+first : i*lda+end] {
			if x == 0 {
				return false
			}
		}
		if solves && d == blas.NonUnit && !isNormal(1/a[i*lda+i]) {
			return false
		}
	}
	return true
}

// triangular calls a routine for A on the left. If A is on the right, the routine gets the transposes: (B·A)ᵀ = Aᵀ·Bᵀ.
func (p *precision[T]) triangular(workers int,
	routine func(w *workspace[T], m, n int, alpha T, t triangle[T], b view[T]),
	s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha T, a []T, lda int, b []T, ldb int,
) {
	t, vb := triangular(ul, tA, d, a, lda), stored(blas.NoTrans, b, ldb)
	if s == blas.Right {
		m, n, t, vb = n, m, t.transposed(), transposed(vb)
	}
	w := p.acquire(workers)
	routine(w, m, n, alpha, t, vb)
	w.release()
}

// triangularMultiply computes B ← α·T·B with T of order m and B m×n. Both are divided into halves; for an upper T,
//
//	B₁ ← α·T₁₁·B₁, then B₁ ← B₁ + α·T₁₂·B₂, then B₂ ← α·T₂₂·B₂
//
// The second is a full product, the others are smaller triangular products. For a lower T the order is
// from the last rows to the first.
func (w *workspace[T]) triangularMultiply(m, n int, alpha T, t triangle[T], b view[T]) {
	if m <= corner {
		w.inStrips(m, n, alpha, t, b, (*workspace[T]).multiplyCorner)
		return
	}
	top := half(m, corner)
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

// solution is solve with any α.
func (w *workspace[T]) solution(m, n int, alpha T, t triangle[T], b view[T]) {
	if block.IsModerate(alpha) {
		w.solve(m, n, alpha, t, b)
		return
	}
	after := scaleFirst(1, m, n, [2]T{alpha}, b)
	w.solve(m, n, 1, t, b)
	after()
}

// scaleFirst multiplies the columns of B by α that a triangular system is solved for. If an element would leave the
// range, the column is multiplied after the solution, by the function that scaleFirst returns. An element has a real
// part and, if parts is 2, an imaginary part behind it.
func scaleFirst[T gemm.Float](parts, m, n int, alpha [2]T, b view[T]) (after func()) {
	later := make([]bool, n)
	scale := func(j int) {
		for i := range m {
			if x := b.Data[i*b.Row+j*b.Col:]; parts == 1 {
				x[0] *= alpha[0]
			} else {
				x[0], x[1] = scaled(alpha, x[0], x[1])
			}
		}
	}
	for j := range later {
		for i := range m {
			for _, x := range b.Data[i*b.Row+j*b.Col:][:parts] {
				for _, factor := range alpha {
					later[j] = later[j] || x-x == 0 && x != 0 && factor != 0 && !isNormal(factor*x)
				}
			}
		}
		if !later[j] {
			scale(j)
		}
	}
	return func() {
		for j, is := range later {
			if is {
				scale(j)
			}
		}
	}
}

// solve computes B ← α·T⁻¹·B with T of order m and B m×n. Both are divided into halves; for a lower T,
//
//	B₁ ← α·T₁₁⁻¹·B₁, then B₂ ← α·B₂ − T₂₁·B₁, then B₂ ← T₂₂⁻¹·B₂
//
// The second is a full product, the others are smaller solutions. For an upper T the order is from the
// last rows to the first.
func (w *workspace[T]) solve(m, n int, alpha T, t triangle[T], b view[T]) {
	if m <= corner {
		w.inStrips(m, n, alpha, t, b, (*workspace[T]).solveCorner)
		return
	}
	top := half(m, corner)
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

// inStrips calls a routine for a block on the diagonal, of an order up to corner, once for each strip of columns of B.
func (w *workspace[T]) inStrips(m, n int, alpha T, t triangle[T], b view[T],
	routine func(w *workspace[T], m, n int, alpha T, t triangle[T], b view[T]),
) {
	if b.Col != 1 && t.Row != 1 {
		// multiply exchanges the operands, and reads the second one by rows.
		t.view = w.copyTriangle(m, t)
	}
	for j := 0; j < n; j += strip {
		routine(w, m, min(strip, n-j), alpha, t, from(b, 0, j))
	}
}

// copyTriangle copies t, of order m, to the workspace's square, by columns. The elements outside of the
// triangle are undefined.
func (w *workspace[T]) copyTriangle(m int, t triangle[T]) view[T] {
	for i := range m {
		first, end := 0, i+1
		if t.upper {
			first, end = i, m
		}
		for j := first; j < end; j++ {
			w.square[j*m+i] = t.Data[i*t.Row+j*t.Col]
		}
	}
	return view[T]{Data: w.square[:], Row: 1, Col: m}
}

// multiplyCorner is triangularMultiply for a few rows of B at a time. Rows that no other row needs
// any longer are multiplied by their own triangle; then multiply adds all others.
func (w *workspace[T]) multiplyCorner(m, n int, alpha T, t triangle[T], b view[T]) {
	for left := m; left > 0; {
		rows := min(few, left)
		left -= rows
		i, others := left, 0
		if t.upper {
			i, others = m-left-rows, m-left
		}
		w.multiplyFew(rows, n, alpha, t.from(i), from(b, i, 0))
		if left > 0 {
			w.multiply(rows, n, left, alpha, from(t.view, i, others), from(b, others, 0), 1, from(b, i, 0))
		}
	}
}

// solveCorner is solve for a few rows of B at a time. First multiply subtracts the terms of the rows that
// are already solved. Then solveFew solves the few rows.
func (w *workspace[T]) solveCorner(m, n int, alpha T, t triangle[T], b view[T]) {
	for known := 0; known < m; {
		rows := min(few, m-known)
		i, others := known, 0
		if t.upper {
			i, others = m-known-rows, m-known
		}
		if known > 0 {
			w.multiply(rows, n, known, -1, from(t.view, i, others), from(b, others, 0), alpha, from(b, i, 0))
			solveFew(rows, n, 1, t.from(i), from(b, i, 0))
		} else {
			solveFew(rows, n, alpha, t.from(i), from(b, i, 0))
		}
		known += rows
	}
}

// few is the largest order of a triangle that multiplyFew and solveFew take.
const few = 4

// lowered returns a triangle of a few rows as a lower triangle. An upper triangle becomes lower if rows
// and columns are reversed. first is the position in B of the row for the first row of the triangle, and
// step is the distance to the next.
func lowered[T gemm.Float](order int, t triangle[T], b view[T]) (c [few][few]T, first, step int) {
	step = b.Row
	if t.upper {
		first, step = (order-1)*b.Row, -b.Row
	}
	for p := range order {
		for q := range p + 1 {
			i, j := p, q
			if t.upper {
				i, j = order-1-p, order-1-q
			}
			if c[p][q] = 1; p != q || !t.unit {
				c[p][q] = t.Data[i*t.Row+j*t.Col]
			}
		}
	}
	return c, first, step
}

// multiplyFew computes B ← α·T·B with T of a few rows and B of n columns. α multiplies T if nothing is lost.
func (w *workspace[T]) multiplyFew(order, n int, alpha T, t triangle[T], b view[T]) {
	c, at, step := lowered(order, t, b)
	if alpha != 1 {
		for p := range order {
			for q := range p + 1 {
				x := c[p][q]
				if c[p][q] *= alpha; x != 0 && !isNormal(c[p][q]) {
					w.multiplyRows(order, n, alpha, t, b)
					return
				}
			}
		}
	}
	applyFew(order, n, &c, b.Data, at, step, b.Col)
}

// multiplyRows is multiplyFew row by row, each of which is a product.
func (w *workspace[T]) multiplyRows(order, n int, alpha T, t triangle[T], b view[T]) {
	to := view[T]{Data: make([]T, n), Row: n, Col: 1}
	for step := range order {
		i, first, end := order-1-step, 0, order-step
		if t.upper {
			i, first, end = step, step, order
		}
		var row [few]T
		for j := first; j < end; j++ {
			if row[j-first] = 1; i != j || !t.unit {
				row[j-first] = t.Data[i*t.Row+j*t.Col]
			}
		}
		w.multiply(1, n, end-first, alpha, view[T]{Data: row[:], Row: few, Col: 1}, from(b, first, 0), 0, to)
		for j, x := range to.Data {
			b.Data[i*b.Row+j*b.Col] = x
		}
	}
}

// applyFew multiplies n vectors by a lower triangle of a few rows. The first vector begins at x[at]; its elements are
// step apart, and vectors next.
func applyFew[T gemm.Float](order, n int, c *[few][few]T, x []T, at, step, next int) {
	if order < few {
		for range n {
			for p := order - 1; p >= 0; p-- {
				sum := c[p][p] * x[at+p*step]
				for q := range p {
					sum += c[p][q] * x[at+q*step]
				}
				x[at+p*step] = sum
			}
			at += next
		}
		return
	}
	c00, c10, c11, c20, c21, c22 := c[0][0], c[1][0], c[1][1], c[2][0], c[2][1], c[2][2]
	c30, c31, c32, c33 := c[3][0], c[3][1], c[3][2], c[3][3]
	for range n {
		x0, x1, x2, x3 := x[at], x[at+step], x[at+2*step], x[at+3*step]
		x[at] = c00 * x0
		x[at+step] = c10*x0 + c11*x1
		x[at+2*step] = c20*x0 + c21*x1 + c22*x2
		x[at+3*step] = c30*x0 + c31*x1 + (c32*x2 + c33*x3)
		at += next
	}
}

// reciprocals returns the reciprocals of a diagonal's elements, and whether all are normal numbers. The
// reciprocal of a subnormal number can overflow; the reciprocal of a huge number is subnormal and has
// few digits. Then quotients differ from products with reciprocals.
func reciprocals[T gemm.Float](order int, c *[few][few]T) (r [few]T, normal bool) {
	normal = true
	for p := range order {
		r[p] = 1 / c[p][p]
		normal = normal && isNormal(r[p])
	}
	return r, normal
}

// isNormal reports whether x is neither zero, subnormal, Inf nor NaN.
func isNormal[T gemm.Float](x T) bool {
	least := 0x1p-1022
	if unsafe.Sizeof(x) == 4 {
		least = 0x1p-126
	}
	size := math.Abs(float64(x))
	return size >= least && size <= math.MaxFloat64
}

// solveFew computes B ← α·T⁻¹·B with T of a few rows and B of n columns. It multiplies by
// the reciprocals of T's diagonal if all are normal numbers, and divides otherwise.
func solveFew[T gemm.Float](order, n int, alpha T, t triangle[T], b view[T]) {
	c, at, step := lowered(order, t, b)
	r, normal := reciprocals(order, &c)
	x := b.Data
	if order < few || !normal {
		for range n {
			for p := range order {
				rest := alpha * x[at+p*step]
				for q := range p {
					rest -= c[p][q] * x[at+q*step]
				}
				if normal {
					x[at+p*step] = rest * r[p]
				} else {
					x[at+p*step] = rest / c[p][p]
				}
			}
			at += b.Col
		}
		return
	}
	r0, r1, r2, r3 := r[0], r[1], r[2], r[3]
	c10, c20, c21, c30, c31, c32 := c[1][0], c[2][0], c[2][1], c[3][0], c[3][1], c[3][2]
	for range n {
		x0 := alpha * x[at] * r0
		x1 := (alpha*x[at+step] - c10*x0) * r1
		x2 := (alpha*x[at+2*step] - c20*x0 - c21*x1) * r2
		x3 := (alpha*x[at+3*step] - c30*x0 - c31*x1 - c32*x2) * r3
		x[at], x[at+step], x[at+2*step], x[at+3*step] = x0, x1, x2, x3
		at += b.Col
	}
}
