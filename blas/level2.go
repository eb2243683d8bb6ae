package blas

import (
	"context"
	"math/bits"
	"unsafe"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/internal/block"
	"gemm/internal/cpu"
	"gemm/internal/kernel/vector"
	"gemm/pool"
)

// Dgemv computes y ← α·op(A)·x + β·y with A m×n.
func (i Implementation) Dgemv(tA blas.Transpose, m, n int, alpha float64, a []float64, lda int, x []float64, incX int,
	beta float64, y []float64, incY int) {
	if uint(m|n|lda>>31>>1) < fewRows && block.IsModerate(alpha) ||
		!double.gemv(i.Workers, tA, m, n, alpha, a, lda, x, incX, beta, y, incY) {
		i.Implementation.Dgemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
	}
}

// Sgemv is Dgemv for float32.
func (i Implementation) Sgemv(tA blas.Transpose, m, n int, alpha float32, a []float32, lda int, x []float32, incX int,
	beta float32, y []float32, incY int) {
	if uint(m|n|lda>>31>>1) < fewRows/4 && block.IsModerate(alpha) ||
		!single.gemv(i.Workers, tA, m, n, alpha, a, lda, x, incX, beta, y, incY) {
		i.Implementation.Sgemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
	}
}

// Dger computes A ← α·x·yᵀ + A with A m×n. Negative increments are right here, unlike in gonum v0.17 on amd64.
func (i Implementation) Dger(m, n int, alpha float64, x []float64, incX int, y []float64, incY int, a []float64,
	lda int) {
	if uint(m|n|lda>>31>>1) < fewRows && incX|incY >= 0 && block.IsModerate(alpha) ||
		!double.ger(i.Workers, m, n, alpha, x, incX, y, incY, a, lda) {
		i.Implementation.Dger(m, n, alpha, x, incX, y, incY, a, lda)
	}
}

// Sger is Dger for float32.
func (i Implementation) Sger(m, n int, alpha float32, x []float32, incX int, y []float32, incY int, a []float32,
	lda int) {
	if uint(m|n|lda>>31>>1) < fewRows && incX|incY >= 0 && block.IsModerate(alpha) ||
		!single.ger(i.Workers, m, n, alpha, x, incX, y, incY, a, lda) {
		i.Implementation.Sger(m, n, alpha, x, incX, y, incY, a, lda)
	}
}

// Dsymv computes y ← α·A·x + β·y with A symmetric of order n, stored in its triangle ul.
func (i Implementation) Dsymv(ul blas.Uplo, n int, alpha float64, a []float64, lda int, x []float64, incX int,
	beta float64, y []float64, incY int) {
	if uint(n|lda>>31>>1) < fewTriangle && block.IsModerate(alpha) ||
		!double.level2(i.Workers, &vector64{symv, ul, NoTrans, 0, n, n, lda, alpha, beta, a, x, y, incX,
			incY}) {
		i.Implementation.Dsymv(ul, n, alpha, a, lda, x, incX, beta, y, incY)
	}
}

// Ssymv is Dsymv for float32.
func (i Implementation) Ssymv(ul blas.Uplo, n int, alpha float32, a []float32, lda int, x []float32, incX int,
	beta float32, y []float32, incY int) {
	if uint(n|lda>>31>>1) < fewTriangle && block.IsModerate(alpha) ||
		!single.level2(i.Workers, &vector32{symv, ul, NoTrans, 0, n, n, lda, alpha, beta, a, x, y, incX,
			incY}) {
		i.Implementation.Ssymv(ul, n, alpha, a, lda, x, incX, beta, y, incY)
	}
}

// Dsyr computes A ← α·x·xᵀ + A with A symmetric of order n, stored in its triangle ul.
func (i Implementation) Dsyr(ul blas.Uplo, n int, alpha float64, x []float64, incX int, a []float64, lda int) {
	if uint(n|lda>>31>>1) < fewTriangle && block.IsModerate(alpha) && !hasZero(alpha, n, x, incX) ||
		!double.level2(i.Workers, &vector64{syr, ul, NoTrans, 0, n, n, lda, alpha, 0, a, x, x, incX, incX}) {
		i.Implementation.Dsyr(ul, n, alpha, x, incX, a, lda)
	}
}

// Ssyr is Dsyr for float32.
func (i Implementation) Ssyr(ul blas.Uplo, n int, alpha float32, x []float32, incX int, a []float32, lda int) {
	if uint(n|lda>>31>>1) < fewTriangle && block.IsModerate(alpha) && !hasZero(alpha, n, x, incX) ||
		!single.level2(i.Workers, &vector32{syr, ul, NoTrans, 0, n, n, lda, alpha, 0, a, x, x, incX, incX}) {
		i.Implementation.Ssyr(ul, n, alpha, x, incX, a, lda)
	}
}

// Dsyr2 computes A ← α·(x·yᵀ + y·xᵀ) + A with A symmetric of order n, stored in its triangle ul.
func (i Implementation) Dsyr2(ul blas.Uplo, n int, alpha float64, x []float64, incX int, y []float64, incY int,
	a []float64, lda int) {
	if uint(n|lda>>31>>1) < fewTriangle && block.IsModerate(alpha) ||
		!double.level2(i.Workers, &vector64{syr2, ul, NoTrans, 0, n, n, lda, alpha, 0, a, x, y, incX,
			incY}) {
		i.Implementation.Dsyr2(ul, n, alpha, x, incX, y, incY, a, lda)
	}
}

// Ssyr2 is Dsyr2 for float32.
func (i Implementation) Ssyr2(ul blas.Uplo, n int, alpha float32, x []float32, incX int, y []float32, incY int,
	a []float32, lda int) {
	if uint(n|lda>>31>>1) < fewTriangle && block.IsModerate(alpha) ||
		!single.level2(i.Workers, &vector32{syr2, ul, NoTrans, 0, n, n, lda, alpha, 0, a, x, y, incX,
			incY}) {
		i.Implementation.Ssyr2(ul, n, alpha, x, incX, y, incY, a, lda)
	}
}

// Dtrmv computes x ← op(A)·x with A triangular of order n, stored in its triangle ul.
func (i Implementation) Dtrmv(ul blas.Uplo, tA blas.Transpose, d blas.Diag, n int, a []float64, lda int, x []float64,
	incX int) {
	if uint(n|lda>>31>>1) < fewTriangle ||
		!double.level2(i.Workers, &vector64{trmv, ul, tA, d, n, n, lda, 1, 0, a, x, x, incX, incX}) {
		i.Implementation.Dtrmv(ul, tA, d, n, a, lda, x, incX)
	}
}

// Strmv is Dtrmv for float32.
func (i Implementation) Strmv(ul blas.Uplo, tA blas.Transpose, d blas.Diag, n int, a []float32, lda int, x []float32,
	incX int) {
	if uint(n|lda>>31>>1) < fewTriangle ||
		!single.level2(i.Workers, &vector32{trmv, ul, tA, d, n, n, lda, 1, 0, a, x, x, incX, incX}) {
		i.Implementation.Strmv(ul, tA, d, n, a, lda, x, incX)
	}
}

// Dtrsv solves op(A)·z = x with A triangular of order n, stored in its triangle ul; z replaces x.
func (i Implementation) Dtrsv(ul blas.Uplo, tA blas.Transpose, d blas.Diag, n int, a []float64, lda int, x []float64,
	incX int) {
	if uint(n|lda>>31>>1)/2 < fewTriangle ||
		!double.level2(i.Workers, &vector64{trsv, ul, tA, d, n, n, lda, 1, 0, a, x, x, incX, incX}) {
		i.Implementation.Dtrsv(ul, tA, d, n, a, lda, x, incX)
	}
}

// Strsv is Dtrsv for float32.
func (i Implementation) Strsv(ul blas.Uplo, tA blas.Transpose, d blas.Diag, n int, a []float32, lda int, x []float32,
	incX int) {
	if uint(n|lda>>31>>1)/2 < fewTriangle ||
		!single.level2(i.Workers, &vector32{trsv, ul, tA, d, n, n, lda, 1, 0, a, x, x, incX, incX}) {
		i.Implementation.Strsv(ul, tA, d, n, a, lda, x, incX)
	}
}

const (
	// gonum computes if a matrix has fewer rows and columns than fewRows, or than fewTriangle if it is symmetric or
	// triangular, before anything else is looked at: it takes 15 ns for 2×2. Its gemv for float32 is slower; its trsv
	// is faster up to twice that order. gonum does not see that a leading dimension is too large, of 2³⁶ and more.
	fewRows, fewTriangle = 16, 20
	// little is more than the rows and columns of a matrix that one worker computes, whatever their number.
	little = 512
	// fewStrided is the least size of a matrix for which vectors that are not contiguous are copied.
	fewStrided = 32 * 32
	// large is the least size of a matrix, in bytes, that is divided among workers. A smaller one is in a processor's
	// own cache, or takes less time than the workers to begin.
	large = 4 << 20
	// leastPart is the least size of the part of a worker, in bytes.
	leastPart = 1 << 20
	// rowsTogether are the rows that a kernel reads at the same time. columnsTogether are the columns of Aᵀ
	// that a worker reads: of narrower parts of rows, the processor would not read the next ahead.
	rowsTogether, columnsTogether = 4, 64
)

// hasZero reports whether gonum's syr skips a row, or may do so: then what meets NaN or Inf there is not NaN.
func hasZero[T gemm.Float](alpha T, n int, x []T, inc int) bool {
	if inc != 1 || n > len(x) {
		return true
	}
	for _, x := range x[:n] {
		if alpha*x == 0 {
			return true
		}
	}
	return false
}

// vectorRoutine is a routine of level 2. Those from symv on have an A that is symmetric or triangular of order n.
type vectorRoutine int

const (
	gemv vectorRoutine = iota // y ← α·op(A)·x + β·y
	ger                       // A ← α·y·xᵀ + A
	symv                      // y ← α·A·x + β·y
	syr                       // A ← α·y·xᵀ + A, where y is x
	syr2                      // A ← α·(x·yᵀ + y·xᵀ) + A
	trmv                      // y ← op(A)·y
	trsv                      // y ← op(A)⁻¹·y
)

// matrixVector is a call of a routine. It reads those fields that it has.
type matrixVector[T gemm.Float] struct {
	op          vectorRoutine
	ul          blas.Uplo
	tA          blas.Transpose
	d           blas.Diag
	m, n, lda   int
	alpha, beta T
	a, x, y     []T
	incX, incY  int
}

type (
	vector64 = matrixVector[float64]
	vector32 = matrixVector[float32]
)

// fits reports whether the arguments are valid. If it returns false, gonum panics, or has nothing to do.
func (v *matrixVector[T]) fits() bool {
	if !isTranspose(v.tA) || v.op >= symv && !isTriangle(v.ul) || v.op >= trmv && !isDiag(v.d) || v.m <= 0 ||
		v.n <= 0 || v.lda < v.n || v.incX == 0 || v.incY == 0 {
		return false
	}
	rows, cols := ordered(v.tA, v.m, v.n)
	if !holds(v.x, cols, v.incX) || !holds(v.y, rows, v.incY) {
		return false
	}
	mustHold(v.a, v.m, v.n, v.lda, shortA)
	return true
}

// holds reports whether data holds n ≥ 1 elements at distance inc, which is negative if they are in descending order.
func holds[T any](data []T, n, inc int) bool {
	hi, lo := bits.Mul(uint(n-1), uint(max(inc, -inc)))
	return hi == 0 && lo < uint(len(data))
}

// share returns how many of the workers share A.
func (v *matrixVector[T]) share(workers int) int {
	size := int64(unsafe.Sizeof(*new(T)))
	hi, lo := bits.Mul64(uint64(v.m), uint64(v.n))
	if v.op >= symv || hi != 0 || lo > 1<<50 || int64(lo)*size < large {
		return 1
	}
	if workers < 1 {
		workers = cpu.Workers()
	}
	return int(min(int64(workers), int64(lo)*size/leastPart))
}

// gemv computes y ← α·op(A)·x + β·y, and reports whether it did.
func (p *precision[T]) gemv(workers int, tA blas.Transpose, m, n int, alpha T, a []T, lda int, x []T, incX int, beta T,
	y []T, incY int) bool {
	if uint((m-1)|(n-1)) < little && incX == 1 && incY == 1 && block.IsModerate(alpha) && vector.Fast &&
		fitsFew(len(a), NoTrans, m, n, lda) {
		switch {
		case tA == NoTrans && len(x) >= n && len(y) >= m:
			p.kernel.Column(m, n, alpha, a, lda, x, beta, y, 1)
			return true
		case (tA == Trans || tA == ConjTrans) && len(x) >= m && len(y) >= n:
			scale(beta, y[:n])
			vector.Axpys(m, n, alpha, a, lda, x, y)
			return true
		}
	}
	return p.level2(workers, &matrixVector[T]{gemv, 0, tA, 0, m, n, lda, alpha, beta, a, x, y, incX, incY})
}

// ger computes A ← α·x·yᵀ + A, and reports whether it did.
func (p *precision[T]) ger(workers, m, n int, alpha T, x []T, incX int, y []T, incY int, a []T, lda int) bool {
	if uint((m-1)|(n-1)) < little && incX == 1 && incY == 1 && block.IsModerate(alpha) && vector.Fast &&
		fitsFew(len(a), NoTrans, m, n, lda) && len(x) >= m && len(y) >= n {
		vector.Ger(m, n, alpha, a, lda, x, y)
		return true
	}
	return p.level2(workers, &matrixVector[T]{ger, 0, NoTrans, 0, m, n, lda, alpha, 0, a, y, x, incY, incX})
}

// leaves reports whether gonum computes v: if there is no assembly here, or if A is small and a vector not contiguous.
// gonum v0.17 computes a wrong Dger on amd64 if a vector is stored in descending order.
func (p *precision[T]) leaves(v *matrixVector[T]) bool {
	slow := !vector.Fast || (v.incX != 1 || v.incY != 1) && v.m*v.n < fewStrided
	return slow && (v.op != ger || v.incX > 0 && v.incY > 0) && (v.op != syr || !hasZero(v.alpha, v.n, v.x, v.incX))
}

// level2 computes v, and reports whether it did. If it did not, gonum panics, multiplies y by β, or computes v.
func (p *precision[T]) level2(workers int, v *matrixVector[T]) bool {
	if v.alpha == 0 || !v.fits() {
		return false
	}
	w, mild := v.share(workers), block.IsModerate(v.alpha)
	switch {
	case w == 1 && mild && p.leaves(v):
		return false
	case w > 1 || v.incX != 1 || v.incY != 1 || !mild:
		p.shared(w, *v)
	default:
		rows, _ := ordered(v.tA, v.m, v.n)
		p.part(v, 0, rows)
	}
	return true
}

// sharedVectors is an operation that workers share, and the copies of vectors that are not contiguous.
type sharedVectors[T gemm.Float] struct {
	v    matrixVector[T]
	x, y []T
	unit int // elements of y that are not divided
	pool *pool.Pool
	body func(worker, lo, hi int)
}

// shared computes v on several workers, with contiguous copies of vectors and a moderate α. Each element of y, or row
// of A, is computed by one worker, as one alone computes it. If α is not moderate, it multiplies x first.
func (p *precision[T]) shared(workers int, v matrixVector[T]) {
	idle := &p.vectors[min(workers, 2)-1]
	s, ok := idle.Get().(*sharedVectors[T])
	if !ok || s.pool.Workers() != workers {
		s = &sharedVectors[T]{pool: pool.New(workers)}
		s.body = func(_, lo, hi int) {
			rows, _ := ordered(s.v.tA, s.v.m, s.v.n)
			p.part(&s.v, lo*s.unit, min(hi*s.unit, rows))
		}
	}
	rows, cols := ordered(v.tA, v.m, v.n)
	mild := block.IsModerate(v.alpha)
	y, incY := v.y, v.incY
	if incY != 1 {
		s.y = gathered(s.y, rows, y, incY)
		v.y = s.y
	}
	if v.op >= trmv {
		v.x = v.y
	} else if v.incX != 1 || !mild {
		s.x = gathered(s.x, cols, v.x, v.incX)
		v.x = s.x
	}
	if !mild && isScalable(v.alpha, v.x[:cols]) {
		vector.Scal(v.alpha, v.x[:cols])
		v.alpha, mild = 1, true
	}
	s.v, s.unit = v, rowsTogether
	if v.tA != NoTrans {
		s.unit = columnsTogether
	}
	switch {
	case !mild:
		p.extreme(workers, &s.v)
	case workers > 1:
		s.pool.Run(workers, (rows+s.unit-1)/s.unit, s.body)
	default:
		p.part(&s.v, 0, rows)
	}
	if incY != 1 && v.op != ger && v.op != syr && v.op != syr2 {
		at := first(rows, incY)
		for _, x := range v.y {
			y[at] = x
			at += incY
		}
	}
	s.v = matrixVector[T]{} // leaves the operands to the garbage collector
	idle.Put(s)
}

// first returns the index of the first of n elements.
func first(n, inc int) int { return max(0, (1-n)*inc) }

// gathered returns n elements of data, in buffer if it is long enough.
func gathered[T gemm.Float](buffer []T, n int, data []T, inc int) []T {
	if cap(buffer) < n {
		buffer = make([]T, n)
	}
	buffer = buffer[:n]
	at := first(n, inc)
	for i := range buffer {
		buffer[i] = data[at]
		at += inc
	}
	return buffer
}

// isScalable reports whether no element of α·x leaves the range of normal numbers.
func isScalable[T gemm.Float](alpha T, x []T) bool {
	for _, x := range x {
		if x != 0 && x-x == 0 && !isNormal(alpha*x) {
			return false
		}
	}
	return true
}

// extreme computes v as a product of matrices if α is not moderate and an element may be lost.
func (p *precision[T]) extreme(workers int, v *matrixVector[T]) {
	rows, cols := ordered(v.tA, v.m, v.n)
	a, x, y := stored(v.tA, v.a, v.lda), view[T]{Data: v.x, Row: 1, Col: 1}, view[T]{Data: v.y, Row: 1, Col: 1}
	switch v.op {
	case gemv:
		_ = p.product(context.Background(), workers, rows, 1, cols, v.alpha, a, x, v.beta, y)
	case ger:
		x.Row = cols
		_ = p.product(context.Background(), workers, rows, cols, 1, v.alpha, y, x, 1, a)
	case symv:
		p.symm(workers, blas.Left, v.ul, v.n, 1, v.alpha, v.a, v.lda, v.x, 1, v.beta, v.y, 1)
	case syr:
		p.syrk(workers, v.ul, NoTrans, v.n, 1, v.alpha, v.x, 1, 1, v.a, v.lda)
	case syr2:
		p.syr2k(workers, v.ul, NoTrans, v.n, 1, v.alpha, v.x, 1, v.y, 1, 1, v.a, v.lda)
	}
}

// part computes the elements lo to hi−1 of y, or rows of A; all of them from symv on.
func (p *precision[T]) part(v *matrixVector[T], lo, hi int) {
	switch {
	case v.op == gemv && v.tA == NoTrans:
		p.multiplyRows(hi-lo, v.n, v.alpha, v.a[lo*v.lda:], v.lda, v.x, v.beta, v.y[lo:])
	case v.op == gemv:
		scale(v.beta, v.y[lo:hi])
		vector.Axpys(v.m, hi-lo, v.alpha, v.a[lo:], v.lda, v.x, v.y[lo:])
	case v.op == ger:
		vector.Ger(hi-lo, v.n, v.alpha, v.a[lo*v.lda:], v.lda, v.y[lo:], v.x)
	default:
		if v.op == symv {
			scale(v.beta, v.y[:v.n])
		}
		p.triangle(v)
	}
}

// scale computes y ← β·y. If β = 0, y is not read.
func scale[T gemm.Float](beta T, y []T) {
	if beta == 0 {
		clear(y)
	} else if beta != 1 {
		vector.Scal(beta, y)
	}
}

// multiplyRows computes y ← α·A·x + β·y with A m×n, in blocks: assembly cannot be preempted.
func (p *precision[T]) multiplyRows(m, n int, alpha T, a []T, lda int, x []T, beta T, y []T) {
	const rows, columns = 64, 4096
	for i := 0; i < m; i += rows {
		beta := beta
		for j := 0; j < n; j += columns {
			p.kernel.Column(min(m-i, rows), min(n-j, columns), alpha, a[i*lda+j:], lda, x[j:], beta, y[i:], 1)
			beta = 1
		}
	}
}

// triangle computes v, whose A is symmetric or triangular. The kernels leave fewer rows than a strip, a triangle at its
// tip, which the loops below compute.
func (p *precision[T]) triangle(v *matrixVector[T]) {
	upper, plain, forward, alpha, kind := v.ul == blas.Upper, v.tA == NoTrans, true, v.alpha, int(v.op-symv)
	if v.op >= trmv {
		forward = (v.op == trmv) == (upper == plain)
	}
	if v.op == trsv {
		alpha, kind = -1, vector.Trsv
	}
	if !plain {
		kind++
	}
	x, y := v.x[:v.n], v.y[:v.n]
	rest, tip := v.n, 0
	if vector.Fast {
		rest %= vector.Strip
		if upper {
			tip = v.n - rest
		}
	}
	for turn := range 2 {
		if (turn == 0) == (forward == upper) {
			if rest < v.n {
				vector.Triangle(kind, upper, forward, v.d == blas.Unit, v.n, alpha, v.a, v.lda, x, y)
			}
			continue
		}
		x, y := x[tip:tip+rest], y[tip:tip+rest]
		a := triangle[T]{from(stored(v.tA, v.a, v.lda), tip, tip), upper == plain, v.d == blas.Unit}
		switch v.op {
		case symv:
			symvCorner(alpha, a, x, y)
		case syr:
			gerCorner(alpha, a, y, x)
		case syr2:
			gerCorner(alpha, a, y, x)
			gerCorner(alpha, a, x, y)
		default:
			triangleCorner(v.op == trsv, forward, a, y)
		}
	}
}

// others returns the columns of row r of a triangle of order n that are not on the diagonal.
func (t *triangle[T]) others(r, n int) (lo, hi int) {
	if t.upper {
		return r + 1, n
	}
	return 0, r
}

// symvCorner computes y ← α·A·x + y for a symmetric A, of which a triangle is stored.
func symvCorner[T gemm.Float](alpha T, a triangle[T], x, y []T) {
	for r := range x {
		row, f := a.Data[r*a.Row:], alpha*x[r]
		sum := row[r] * x[r]
		for c, hi := a.others(r, len(x)); c < hi; c++ {
			sum += row[c] * x[c]
			y[c] += f * row[c]
		}
		y[r] += alpha * sum
	}
}

// gerCorner computes A ← α·x·yᵀ + A for a triangle of A.
func gerCorner[T gemm.Float](alpha T, a triangle[T], x, y []T) {
	for r := range x {
		row, f := a.Data[r*a.Row:], alpha*x[r]
		row[r] += f * y[r]
		for c, hi := a.others(r, len(x)); c < hi; c++ {
			row[c] += f * y[c]
		}
	}
}

// triangleCorner computes x ← A·x, or x ← A⁻¹·x, for a triangle A, from its first row to the last or the reverse.
func triangleCorner[T gemm.Float](solve, forward bool, a triangle[T], x []T) {
	for r := range x {
		if !forward {
			r = len(x) - 1 - r
		}
		sum, diagonal := T(0), T(1)
		for c, hi := a.others(r, len(x)); c < hi; c++ {
			sum += a.Data[r*a.Row+c*a.Col] * x[c]
		}
		if !a.unit {
			diagonal = a.Data[r*(a.Row+a.Col)]
		}
		if solve {
			x[r] = (x[r] - sum) / diagonal
		} else {
			x[r] = diagonal*x[r] + sum
		}
	}
}
