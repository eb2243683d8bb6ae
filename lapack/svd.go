package lapack

import (
	"cmp"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"

	"gemm/internal/kernel"
)

// Dgesvd computes the singular value decomposition A = U·Σ·Vᵀ of an m×n matrix.
//
// A bidiagonal matrix B = Qᵀ·A·P is decomposed by QR iterations (Demmel and Kahan, SIAM J. Sci. Stat. Comput. 11(5),
// 1990), which are sequences of rotations of rows of Uᵀ and Vᵀ. They are the same for every column, so Dbdsqr is
// called for some columns at a time, and repeats the iterations on B each time.
func (impl Implementation) Dgesvd(jobU, jobVT lapack.SVDJob, m, n int, a []float64, lda int, s, u []float64, ldu int,
	vt []float64, ldvt int, work []float64, lwork int) (ok bool) {
	k := min(m, n)
	wantU, colsU := wanted(jobU, m, k)
	wantVT, rowsVT := wanted(jobVT, n, k)
	gonums := func() bool {
		return impl.Implementation.Dgesvd(jobU, jobVT, m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork)
	}
	if k < cmp.Or(impl.least, leastValues) || colsU < 0 || rowsVT < 0 || !wantU && !wantVT || !holds(a, m, n, lda) ||
		len(s) < k || wantU && !holds(u, m, colsU, ldu) || wantVT && !holds(vt, rowsVT, n, ldvt) ||
		lwork < max(5*k, 3*k+max(m, n)) || len(work) < lwork ||
		!ordinary(impl.Dlange(lapack.MaxAbs, m, n, a, lda, nil)) {
		return gonums() // which also says what is wrong
	}
	x := vectors{impl: impl, m: m, n: n}
	if wantU {
		x.u, x.ldu, x.colsU = u, ldu, colsU
	}
	if wantVT {
		x.vt, x.ldvt = vt, ldvt
	}
	var rest []float64
	if m >= n {
		rest, ok = x.decompose(a, lda, s)
	} else {
		rest, ok = x.wide(a, lda, s, rowsVT)
	}
	work[0] = float64(lwork)
	if !ok {
		copy(work[1:k], rest)
	}
	return ok
}

// wanted returns whether a job wants vectors of the given order, and how many. The number is negative if the job is
// not one of this package.
func wanted(job lapack.SVDJob, order, least int) (bool, int) {
	switch job {
	case lapack.SVDAll:
		return true, order
	case lapack.SVDStore:
		return true, least
	case lapack.SVDNone:
		return false, 0
	}
	return false, -1
}

// ordinary reports whether a matrix needs no scaling, given its largest magnitude.
func ordinary(largest float64) bool {
	small := math.Sqrt(safe) / 0x1p-52
	return largest >= small && largest <= 1/small
}

// vectors are the singular vectors of an m×n matrix with m ≥ n.
type vectors struct {
	impl  Implementation
	m, n  int
	u     []float64 // m×colsU, colsU ≥ n; nil: not wanted
	ldu   int
	colsU int
	vt    []float64 // n×n; nil: not wanted
	ldvt  int
}

// wide decomposes a matrix with m < n by its transpose, Aᵀ = V·Σ·Uᵀ. rowsVT is the number of rows of Vᵀ, if it
// is wanted.
func (x *vectors) wide(a []float64, lda int, s []float64, rowsVT int) (rest []float64, ok bool) {
	turned := vectors{impl: x.impl, m: x.n, n: x.m}
	if x.vt != nil {
		turned.u, turned.ldu, turned.colsU = make([]float64, x.n*rowsVT), rowsVT, rowsVT
	}
	if x.u != nil {
		turned.vt, turned.ldvt = make([]float64, x.m*x.m), x.m
	}
	at := make([]float64, x.n*x.m)
	transpose(x.m, x.n, a, lda, at, x.m)
	rest, ok = turned.decompose(at, x.m, s)
	if x.vt != nil {
		transpose(x.n, rowsVT, turned.u, rowsVT, x.vt, x.ldvt)
	}
	if x.u != nil {
		transpose(x.m, x.m, turned.vt, x.m, x.u, x.ldu)
	}
	return rest, ok
}

// tall is the ratio of rows to columns from which on a QR decomposition comes first (LAPACK's ilaenv, ispec = 6).
const tall = 1.6

// decompose computes the singular values, in descending order, and the vectors. It overwrites a. If the iterations do
// not converge, it returns false and what is left of the superdiagonal.
func (x *vectors) decompose(a []float64, lda int, s []float64) (rest []float64, ok bool) {
	m, n, impl := x.m, x.n, x.impl
	work := make([]float64, 64*(m+n)) // blocks of 64 columns
	d, e := s[:n], make([]float64, max(0, n-1))
	tauQ, tauP := make([]float64, n), make([]float64, n)
	if float64(m) < tall*float64(n) {
		impl.Dgebrd(m, n, a, lda, d, e, tauQ, tauP, work, len(work))
		if x.u != nil {
			impl.Dlacpy(blas.Lower, m, n, a, lda, x.u, x.ldu)
			impl.Dorgbr(lapack.GenerateQ, m, x.colsU, n, x.u, x.ldu, tauQ, work, len(work))
		}
		x.right(a, lda, tauP, work)
		ok = x.rotate(d, e, x.u, x.ldu, m)
		return e, ok
	}
	tau, r := make([]float64, n), make([]float64, n*n)
	impl.Dgeqrf(m, n, a, lda, tau, work, len(work))
	impl.Dlacpy(blas.Upper, n, n, a, lda, r, n)
	impl.Dgebrd(n, n, r, n, d, e, tauQ, tauP, work, len(work))
	x.right(r, n, tauP, work)
	if x.u == nil {
		ok = x.rotate(d, e, nil, 0, 0)
		return e, ok
	}
	impl.Dorgbr(lapack.GenerateQ, n, n, n, r, n, tauQ, work, len(work))
	ok = x.rotate(d, e, r, n, n)
	q := make([]float64, m*x.colsU)
	impl.Dlacpy(blas.Lower, m, n, a, lda, q, x.colsU)
	impl.Dorgqr(m, x.colsU, n, q, x.colsU, tau, work, len(work))
	impl.Dlacpy(blas.All, m, x.colsU, q, x.colsU, x.u, x.ldu)
	blas64.Implementation().Dgemm(blas.NoTrans, blas.NoTrans, m, n, n, 1, q, x.colsU, r, n, 0, x.u, x.ldu)
	return e, ok
}

// right computes Pᵀ, if Vᵀ is wanted, from the reflectors that Dgebrd left in a.
func (x *vectors) right(a []float64, lda int, tauP, work []float64) {
	if x.vt != nil {
		x.impl.Dlacpy(blas.Upper, x.n, x.n, a, lda, x.vt, x.ldvt)
		x.impl.Dorgbr(lapack.GeneratePT, x.n, x.n, x.n, x.vt, x.ldvt, tauP, work, len(work))
	}
}

const (
	// A part has at most mostColumns columns of Uᵀ and as many of Vᵀ, so that it stays in a cache, and at least
	// leastColumns: to compute the rotations takes as long as to apply them to some 30 columns.
	mostColumns, leastColumns = 128, 32
)

// rotate decomposes the bidiagonal matrix with the diagonal d and the superdiagonal e. It applies the rotations to the
// rows of Vᵀ, and to the first n columns of u, which has the given number of rows. The parts are divided among workers.
func (x *vectors) rotate(d, e, u []float64, ldu, rows int) bool {
	most := x.n
	if u == nil {
		rows = 0
	}
	if x.vt == nil {
		most = 0
	}
	most = max(most, rows)
	workers := cmp.Or(x.impl.Workers, runtime.GOMAXPROCS(0))
	parts := max((most+mostColumns-1)/mostColumns, min(workers, most/leastColumns))
	var next, failed atomic.Int64
	var all sync.WaitGroup
	before := [2][]float64{append([]float64(nil), d...), append([]float64(nil), e...)}
	for range min(workers, parts) {
		all.Go(func() {
			p := part{vectors: x, d: make([]float64, x.n), e: make([]float64, len(e)), work: make([]float64, 4*x.n)}
			for i := int(next.Add(1) - 1); i < parts; i = int(next.Add(1) - 1) {
				copy(p.d, before[0])
				copy(p.e, before[1])
				if !p.rotate(u, ldu, share(rows, i, parts), share(x.columns(), i, parts)) {
					failed.Add(1)
				}
				if i == 0 { // they are the same for all parts
					copy(d, p.d)
					copy(e, p.e)
				}
			}
		})
	}
	all.Wait()
	return failed.Load() == 0
}

// columns returns the number of columns of Vᵀ that are wanted.
func (x *vectors) columns() int {
	if x.vt == nil {
		return 0
	}
	return x.n
}

// share returns where share i of n things begins and ends.
func share(n, i, shares int) [2]int { return [2]int{n * i / shares, n * (i + 1) / shares} }

// part is what a worker needs for a part of the vectors: copies of some columns of Uᵀ and of Vᵀ among it.
type part struct {
	*vectors
	d, e, work   []float64
	someU, someV []float64
}

// rotate decomposes d and e, and applies the rotations to some rows of u and columns of Vᵀ.
func (p *part) rotate(u []float64, ldu int, rows, columns [2]int) bool {
	n, r, c := p.n, rows[1]-rows[0], columns[1]-columns[0]
	p.someU, p.someV = resized(p.someU, n*r), resized(p.someV, n*c)
	if r > 0 {
		transpose(r, n, u[rows[0]*ldu:], ldu, p.someU, r)
	}
	if c > 0 {
		p.impl.Dlacpy(blas.All, n, c, p.vt[columns[0]:], p.ldvt, p.someV, c)
	}
	ok := p.impl.Dbdsqr(blas.Upper, n, c, 0, r, p.d, p.e, p.someV, max(1, c), nil, 1, p.someU, max(1, r), p.work)
	if r > 0 {
		transpose(n, r, p.someU, r, u[rows[0]*ldu:], ldu)
	}
	if c > 0 {
		p.impl.Dlacpy(blas.All, n, c, p.someV, c, p.vt[columns[0]:], p.ldvt)
	}
	return ok
}

// resized returns a slice of n elements, x if that is long enough.
func resized(x []float64, n int) []float64 {
	if cap(x) < n {
		return make([]float64, n)
	}
	return x[:n]
}

var kernels = kernel.Best[float64]()

// transpose copies the rows×cols matrix a to its transpose in b.
func transpose(rows, cols int, a []float64, lda int, b []float64, ldb int) {
	const block = 32 // columns of a, in a cache
	fours := rows &^ 3
	for j0 := 0; j0 < cols; j0 += block {
		n := min(block, cols-j0)
		if fours > 0 {
			kernels.Transpose(fours, n, b[j0*ldb:], ldb, a[j0:], lda)
		}
		for i := fours; i < rows; i++ {
			for j, x := range a[i*lda+j0:][:n] {
				b[(j0+j)*ldb+i] = x
			}
		}
	}
}
