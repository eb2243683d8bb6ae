package lapack

import "gonum.org/v1/gonum/blas"

const (
	// leafReflectors is the most reflectors that are applied one by one.
	leafReflectors = 8
	// fewElements is the most elements of a matrix to which reflectors are applied one by one, and fewLong the most
	// rows: they are contiguous.
	fewElements, fewLong = 32 * 32, 24
)

// block is the product of k elementary reflectors, H = I − V·T·Vᵀ, with V n×k and T upper triangular (compact WY:
// Schreiber and Van Loan, SIAM J. Sci. Stat. Comput. 10(1), 1989).
type block struct {
	impl Implementation
	k, n int
	// v is Vᵀ by rows, with the ones and zeros that LAPACK does not store. Before a row is a reflector, it is a row or
	// column of the matrix that is decomposed. Then r gets its elements of R or L.
	v         []float64
	ld        int // of v
	r, t, tau []float64
	order     int // leading dimension of r and t
	scratch   [3][]float64
	last      bool // nothing is multiplied by H, so T is not needed
}

// newBlock returns a block for k reflectors of n elements in all, which are applied to some other vectors, and what to
// call when it is no longer needed.
func (impl Implementation) newBlock(k, n, others int) (block, func()) {
	order := 32
	if k <= 256 {
		order = 16
	}
	order = min(order, k)
	others = max(others, order)
	all, done := buffer(2 * order * (n + order + others))
	part := func(n int) (x []float64) { x, all = all[:n:n], all[n:]; return x }
	return block{impl: impl, order: order, v: part(order * n), r: part(order * order), t: part(order * order),
		scratch: [3][]float64{part(order * others), part(order * others), part(order * n)}}, done
}

// load copies k vectors of n elements into v: rows of a, or columns.
func (b *block) load(byRows bool, k, n int, a []float64, lda int, tau []float64) {
	b.k, b.n, b.ld, b.tau = k, n, n, tau
	if byRows {
		b.impl.Dlacpy(blas.All, k, n, a, lda, b.v, n)
	} else {
		transpose(n, k, a, lda, b.v, n)
	}
	clear(b.t)
}

// loadReflectors is load for vectors that LAPACK stored as reflectors.
func (b *block) loadReflectors(byRows bool, k, n int, a []float64, lda int, tau []float64) {
	b.load(byRows, k, n, a, lda, tau)
	for i := range k {
		row := b.v[i*n:]
		clear(row[:i])
		row[i] = 1
	}
	b.triangle()
}

// store is the inverse of load, after factor.
func (b *block) store(byRows bool, a []float64, lda int) {
	for i := range b.k {
		copy(b.v[i*b.n:][:i+1], b.r[i*b.order:])
	}
	if byRows {
		b.impl.Dlacpy(blas.All, b.k, b.n, b.v, b.n, a, lda)
	} else {
		transpose(b.k, b.n, b.v, b.n, a, lda)
	}
}

// from returns the block of reflectors i to i+k−1.
func (b *block) from(i, k int) *block {
	part, at := *b, i*b.order+i
	part.last = b.last && i+k == b.k
	part.k, part.n, part.v = k, b.n-i, b.v[i*b.ld+i:]
	part.r, part.t, part.tau = b.r[at:], b.t[at:], b.tau[i:]
	return &part
}

// factor makes the rows of v reflectors, each of which makes all elements of its row 0 but one, and applies each to the
// rows below. The first half of the rows is applied to the second half as a block (Elmroth and Gustavson, IBM J. Res.
// Develop. 44(4), 2000).
func (b *block) factor() {
	if b.k > leafReflectors {
		h := b.k / 2
		left := b.from(0, h)
		left.factor()
		left.apply(blas.Right, blas.NoTrans, b.k-h, b.v[h*b.ld:], b.ld)
		for i := h; i < b.k; i++ {
			b.move(i, h)
		}
		b.from(h, b.k-h).factor()
		if !b.last {
			b.join(h)
		}
		return
	}
	bi, x := b.impl.blas(), b.scratch[0]
	for i := range b.k {
		row, rest := b.v[i*b.ld:][:b.n], b.v[min(i+1, b.k-1)*b.ld+i:]
		var beta float64
		beta, b.tau[i] = b.impl.Dlarfg(b.n-i, row[i], row[min(i+1, b.n-1):], 1)
		b.move(i, i)
		b.r[i*b.order+i], row[i] = beta, 1
		if below := b.k - i - 1; below > 0 {
			bi.Dgemv(blas.NoTrans, below, b.n-i, 1, rest, b.ld, row[i:], 1, 0, x, 1)
			bi.Dger(below, b.n-i, -b.tau[i], x, 1, row[i:], 1, rest, b.ld)
		}
	}
	if !b.last {
		b.triangle()
	}
}

// move moves the first n elements of row i from v to r: no more reflectors change them.
func (b *block) move(i, n int) {
	row := b.v[i*b.ld:][:n]
	copy(b.r[i*b.order:], row)
	clear(row)
}

// triangle computes T.
func (b *block) triangle() {
	if b.k > leafReflectors {
		h := b.k / 2
		b.from(0, h).triangle()
		b.from(h, b.k-h).triangle()
		b.join(h)
		return
	}
	k, g := b.k, b.scratch[0]
	b.products(k, k, b.n, b.v, b.ld, b.v, g)
	for j, tau := range b.tau[:k] {
		for i := range j {
			var sum float64
			for l, x := range b.t[i*b.order:][i:j] {
				sum += x * g[(i+l)*k+j]
			}
			b.t[i*b.order+j] = -tau * sum
		}
		b.t[j*b.order+j] = tau
	}
}

// join computes the upper right block of T, −T₁·V₁ᵀ·V₂·T₂. T₁ is of the first h reflectors, T₂ of the others.
func (b *block) join(h int) {
	bi, k, x, y := b.impl.blas(), b.k-h, b.scratch[0], b.scratch[1]
	b.products(h, k, b.n-h, b.v[h:], b.ld, b.v[h*b.ld+h:], x)
	bi.Dgemm(blas.NoTrans, blas.NoTrans, h, k, h, -1, b.t, b.order, x, k, 0, y, k)
	bi.Dgemm(blas.NoTrans, blas.NoTrans, h, k, k, 1, y, k, b.t[h*b.order+h:], b.order, 0, b.t[h:], b.order)
}

// apply computes C ← op(H)·C, where C has m columns, or C·op(H), where it has m rows.
func (b *block) apply(side blas.Side, trans blas.Transpose, m int, c []float64, ldc int) {
	bi, k, x, y := b.impl.blas(), b.k, b.scratch[0], b.scratch[1]
	if side == blas.Left {
		bi.Dgemm(blas.NoTrans, blas.NoTrans, k, m, b.n, 1, b.v, b.ld, c, ldc, 0, x, m)
		bi.Dgemm(trans, blas.NoTrans, k, m, k, 1, b.t, b.order, x, m, 0, y, m)
		bi.Dgemm(blas.Trans, blas.NoTrans, b.n, m, k, -1, b.v, b.ld, y, m, 1, c, ldc)
		return
	}
	b.products(m, k, b.n, c, ldc, b.v, x)
	bi.Dgemm(blas.NoTrans, trans, m, k, k, 1, x, k, b.t, b.order, 0, y, k)
	bi.Dgemm(blas.NoTrans, blas.NoTrans, m, b.n, k, -1, y, k, b.v, b.ld, 1, c, ldc)
}

// products computes X ← A·Bᵀ, of m rows with n rows of v, which have k elements. If they are few rows, Bᵀ is copied by
// rows, a part at a time: the kernels for small products need it so.
func (b *block) products(m, n, k int, a []float64, lda int, v, x []float64) {
	const small, least = 32 * 32 * 32, 64
	bi, turned := b.impl.blas(), b.scratch[2]
	step := min(32*n, small/(m*n))
	if step < min(k, least) {
		bi.Dgemm(blas.NoTrans, blas.Trans, m, n, k, 1, a, lda, v, b.ld, 0, x, n)
		return
	}
	for i := 0; i < k; i += step {
		part, beta := min(step, k-i), min(1, float64(i))
		transpose(n, part, v[i:], b.ld, turned, n)
		bi.Dgemm(blas.NoTrans, blas.NoTrans, m, n, part, 1, a[i:], lda, turned, n, beta, x, n)
	}
}

// Dgeqrf computes the decomposition A = Q·R of an m×n matrix by blocks of reflectors.
func (impl Implementation) Dgeqrf(m, n int, a []float64, lda int, tau, work []float64, lwork int) {
	if min(m, n) > 0 && holds(a, m, n, lda) && len(tau) == min(m, n) && lwork >= n && len(work) >= lwork {
		impl.decompose(false, m, n, a, lda, tau, work)
		lwork = -1
	}
	impl.Implementation.Dgeqrf(m, n, a, lda, tau, work, lwork)
}

// Dgelqf computes the decomposition A = L·Q of an m×n matrix by blocks of reflectors.
func (impl Implementation) Dgelqf(m, n int, a []float64, lda int, tau, work []float64, lwork int) {
	if min(m, n) > 0 && holds(a, m, n, lda) && len(tau) >= min(m, n) && lwork >= m && len(work) >= lwork {
		impl.decompose(true, m, n, a, lda, tau, work)
		lwork = -1
	}
	impl.Implementation.Dgelqf(m, n, a, lda, tau, work, lwork)
}

// oneByOne decomposes a small matrix by one reflector after the other.
func (impl Implementation) oneByOne(byRows bool, m, n int, a []float64, lda int, tau, work []float64) {
	bi := impl.blas()
	for i := range min(m, n) {
		v, order, others, inc := a[i*lda+i:], m-i, n-i-1, lda
		if byRows {
			order, others, inc = n-i, m-i-1, 1
		}
		var beta float64
		beta, tau[i] = impl.Dlarfg(order, v[0], v[min(inc, len(v)-1):], inc)
		v[0] = 1
		switch {
		case others == 0 || tau[i] == 0:
		case byRows:
			bi.Dgemv(blas.NoTrans, others, order, 1, v[lda:], lda, v, 1, 0, work, 1)
			bi.Dger(others, order, -tau[i], work, 1, v, 1, v[lda:], lda)
		default:
			bi.Dgemv(blas.Trans, order, others, 1, v[1:], lda, v, lda, 0, work, 1)
			bi.Dger(order, others, -tau[i], v, lda, work, 1, v[1:], lda)
		}
		v[0] = beta
	}
}

// pays reports whether elements are too many for gonum's loops, and the workspace has at least the length that it must
// have.
func pays(elements, least int, work []float64, lwork int) bool {
	return elements > fewElements && least > 0 && lwork >= least && len(work) >= lwork
}

// decompose is Dgelqf if byRows, otherwise Dgeqrf.
func (impl Implementation) decompose(byRows bool, m, n int, a []float64, lda int, tau, work []float64) {
	if m*n <= fewElements || min(m, n) <= leafReflectors || byRows && m <= fewLong {
		impl.oneByOne(byRows, m, n, a, lda, tau, work)
		return
	}
	k, order, others := min(m, n), m, n
	if byRows {
		order, others = n, m
	}
	b, done := impl.newBlock(k, order, others)
	defer done()
	for i := 0; i < k; i += b.order {
		h, at := min(k-i, b.order), a[i*lda+i:]
		left := others - i - h
		b.load(byRows, h, order-i, at, lda, tau[i:])
		b.last = left == 0
		b.factor()
		if left > 0 && byRows {
			b.apply(blas.Right, blas.NoTrans, left, at[h*lda:], lda)
		} else if left > 0 {
			b.apply(blas.Left, blas.Trans, left, at[h:], lda)
		}
		b.store(byRows, at, lda)
	}
}

// Dorgqr computes the first n columns of Q, m×n, from the k reflectors that Dgeqrf stored. gonum's loops (Dorg2r) are
// slow at any order but the least.
func (impl Implementation) Dorgqr(m, n, k int, a []float64, lda int, tau, work []float64, lwork int) {
	if !pays(32*m*n, n, work, lwork) || k < 1 || m < n || n < k || !holds(a, m, n, lda) || len(tau) != k {
		impl.Implementation.Dorgqr(m, n, k, a, lda, tau, work, lwork)
		return
	}
	impl.generate(false, m, n, k, a, lda, tau)
	impl.Implementation.Dorgqr(m, n, k, a, lda, tau, work, -1)
}

// Dorglq computes the first m rows of Q, m×n, from the k reflectors that Dgelqf stored.
func (impl Implementation) Dorglq(m, n, k int, a []float64, lda int, tau, work []float64, lwork int) {
	if !pays(m*n, m, work, lwork) || k < 1 || n < m || m < k || !holds(a, m, n, lda) || len(tau) < k {
		impl.Implementation.Dorglq(m, n, k, a, lda, tau, work, lwork)
		return
	}
	impl.generate(true, m, n, k, a, lda, tau)
	impl.Implementation.Dorglq(m, n, k, a, lda, tau, work, -1)
}

// generate is Dorglq if byRows, otherwise Dorgqr. It applies the blocks to the identity matrix, the last one first.
func (impl Implementation) generate(byRows bool, m, n, k int, a []float64, lda int, tau []float64) {
	order, others := m, n
	if byRows {
		order, others = n, m
	}
	b, done := impl.newBlock(k, order, others)
	defer done()
	identity(byRows, k, others, m, n, a, lda)
	for i := (k - 1) / b.order * b.order; i >= 0; i -= b.order {
		h, at := min(k-i, b.order), a[i*lda+i:]
		b.loadReflectors(byRows, h, order-i, at, lda, tau[i:])
		identity(byRows, i, i+h, m, n, a, lda)
		if byRows {
			b.apply(blas.Right, blas.Trans, others-i, at, lda)
		} else {
			b.apply(blas.Left, blas.NoTrans, others-i, at, lda)
		}
	}
}

// identity sets rows or columns lo to hi−1 of an m×n matrix to the rows or columns of the identity.
func identity(rows bool, lo, hi, m, n int, a []float64, lda int) {
	first, end := 0, m
	if rows {
		first, end, lo, hi = lo, hi, 0, n
	}
	for i := first; i < end; i++ {
		row := a[i*lda:]
		clear(row[lo:hi])
		if lo <= i && i < hi {
			row[i] = 1
		}
	}
}

// Dormqr computes op(Q)·C or C·op(Q) from the k reflectors that Dgeqrf stored. C is m×n.
func (impl Implementation) Dormqr(side blas.Side, trans blas.Transpose, m, n, k int, a []float64, lda int,
	tau, c []float64, ldc int, work []float64, lwork int) {
	rows, other := ordered(side, m, n)
	if !pays(k*max(k, other), other, work, lwork) || !areValid(side, trans) || k > rows || !holds(a, rows, k, lda) ||
		len(tau) != k || !holds(c, m, n, ldc) {
		impl.Implementation.Dormqr(side, trans, m, n, k, a, lda, tau, c, ldc, work, lwork)
		return
	}
	impl.multiply(false, side, trans, m, n, k, a, lda, tau, c, ldc)
	impl.Implementation.Dormqr(side, trans, m, n, k, a, lda, tau, c, ldc, work, -1)
}

// Dormlq computes op(Q)·C or C·op(Q) from the k reflectors that Dgelqf stored. C is m×n.
func (impl Implementation) Dormlq(side blas.Side, trans blas.Transpose, m, n, k int, a []float64, lda int,
	tau, c []float64, ldc int, work []float64, lwork int) {
	cols, other := ordered(side, m, n)
	if !pays(k*max(k, other), other, work, lwork) || !areValid(side, trans) || k > cols || !holds(a, k, cols, lda) ||
		len(tau) < k || !holds(c, m, n, ldc) {
		impl.Implementation.Dormlq(side, trans, m, n, k, a, lda, tau, c, ldc, work, lwork)
		return
	}
	impl.multiply(true, side, trans, m, n, k, a, lda, tau, c, ldc)
	impl.Implementation.Dormlq(side, trans, m, n, k, a, lda, tau, c, ldc, work, -1)
}

// areValid reports whether the values of both flags are valid.
func areValid(side blas.Side, trans blas.Transpose) bool {
	return (side == blas.Left || side == blas.Right) && (trans == blas.NoTrans || trans == blas.Trans)
}

// ordered returns the order of a square matrix that multiplies an m×n matrix from a side, and the other dimension.
func ordered(side blas.Side, m, n int) (order, other int) {
	if side == blas.Left {
		return m, n
	}
	return n, m
}

// multiply is Dormlq if byRows, otherwise Dormqr.
func (impl Implementation) multiply(byRows bool, side blas.Side, trans blas.Transpose, m, n, k int, a []float64,
	lda int, tau, c []float64, ldc int) {
	order, others := ordered(side, m, n)
	b, done := impl.newBlock(k, order, others)
	defer done()
	if byRows { // Q is the transpose of the product of the reflectors
		trans = blas.Trans + blas.NoTrans - trans
	}
	i, step := 0, b.order
	if (side == blas.Left) == (trans == blas.NoTrans) {
		i, step = (k-1)/step*step, -step
	}
	for ; i >= 0 && i < k; i += step {
		part := c[i:]
		if side == blas.Left {
			part = c[i*ldc:]
		}
		b.loadReflectors(byRows, min(k-i, b.order), order-i, a[i*lda+i:], lda, tau[i:])
		b.apply(side, trans, others, part, ldc)
	}
}
