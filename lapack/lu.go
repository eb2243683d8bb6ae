package lapack

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/blas"

	fast "gemm/blas"
)

const (
	// panelColumns is the most columns that are decomposed one by one; wider matrices are divided.
	panelColumns = 32
	// A matrix is decomposed where it is if it has at most fewRows rows and columns, or fewColumns of either.
	fewRows, fewColumns = 24, 8
)

// blas is the BLAS of this module.
func (impl Implementation) blas() fast.Implementation {
	return fast.Implementation{Workers: impl.Workers}
}

// buffers are for copies of panels: *[]float64.
var buffers = sync.Pool{New: func() any { return new([]float64) }}

// buffer returns n undefined elements, and what to call when they are no longer needed.
func buffer(n int) ([]float64, func()) {
	b := buffers.Get().(*[]float64)
	if cap(*b) < n {
		*b = make([]float64, n)
	}
	return (*b)[:n], func() { buffers.Put(b) }
}

// Dgetrf computes the decomposition A = P·L·U of an m×n matrix with partial pivoting. The left columns are decomposed,
// then the right ones, by the same method (Toledo, SIAM J. Matrix Anal. Appl. 18(4), 1997): nearly all work is
// products. The pivot of a column is the one that Idamax finds. The result is false if a pivot is 0.
func (impl Implementation) Dgetrf(m, n int, a []float64, lda int, ipiv []int) (ok bool) {
	if min(m, n) < 1 || !holds(a, m, n, lda) || len(ipiv) != min(m, n) {
		return impl.Implementation.Dgetrf(m, n, a, lda, ipiv)
	}
	return impl.lu(m, n, a, lda, ipiv)
}

// lu is Dgetrf for valid arguments.
func (impl Implementation) lu(m, n int, a []float64, lda int, ipiv []int) bool {
	switch {
	case max(m, n) <= fewRows || min(m, n) <= fewColumns:
		return impl.small(m, n, a, lda, ipiv)
	case n <= panelColumns:
		return impl.panel(m, n, a, lda, ipiv)
	}
	left := m
	if m > panelColumns {
		left = half(min(m, n))
	}
	ok := impl.lu(m, left, a, lda, ipiv[:left])
	right := n - left
	impl.Dlaswp(right, a[left:], lda, 0, left-1, ipiv[:left], 1)
	impl.blas().Dtrsm(blas.Left, blas.Lower, blas.NoTrans, blas.Unit, left, right, 1, a, lda, a[left:], lda)
	if left == m {
		return ok
	}
	a21 := a[left*lda:]
	impl.blas().Dgemm(blas.NoTrans, blas.NoTrans, m-left, right, left, -1, a21, lda, a[left:], lda, 1, a21[left:], lda)
	ipiv = ipiv[left:]
	ok = impl.lu(m-left, right, a21[left:], lda, ipiv) && ok
	impl.Dlaswp(left, a21, lda, 0, len(ipiv)-1, ipiv, 1)
	for i := range ipiv {
		ipiv[i] += left
	}
	return ok
}

// half returns where n columns are divided.
func half(n int) int { return (n/2 + 15) &^ 15 }

// few is the number of columns of a panel after which the others are updated.
const few = 4

// panel decomposes up to panelColumns columns. It copies them to rows: what is read is contiguous then, and in a cache.
func (impl Implementation) panel(m, n int, a []float64, lda int, ipiv []int) bool {
	columns, done := buffer(m * n)
	defer done()
	transpose(m, n, a, lda, columns, m)
	bi, ok := impl.blas(), true
	for first := 0; first < len(ipiv); first += few {
		end := min(first+few, len(ipiv))
		for j := first; j < end; j++ {
			x := columns[j*m:][:m]
			p := j + bi.Idamax(m-j, x[j:], 1)
			ipiv[j] = p
			if x[p] == 0 {
				ok = false
			} else {
				bi.Dswap(n, columns[j:], m, columns[p:], m)
				if r := 1 / x[j]; isNormal(r) {
					bi.Dscal(m-j-1, r, x[j+1:], 1)
				} else {
					for i := j + 1; i < m; i++ {
						x[i] /= x[j]
					}
				}
			}
			if at := (j + 1) * (m + 1); at < end*m {
				bi.Dger(end-j-1, m-j-1, -1, columns[at-1:], m, x[j+1:], 1, columns[at:], m)
			}
		}
		if end == n {
			break
		}
		l, u := columns[first*m+first:], columns[end*m+first:]
		solve(end-first, n-end, l, m, u)
		if rows := m - end; rows > 0 {
			k := end - first
			bi.Dgemm(blas.NoTrans, blas.NoTrans, n-end, rows, k, -1, u, m, l[k:], m, 1, u[k:], m)
		}
	}
	transpose(n, m, columns, m, a, lda)
	return ok
}

// solve computes U ← U·L⁻¹ of n rows with k elements. L is unit upper triangular.
func solve(k, n int, l []float64, ld int, u []float64) {
	if k < few {
		for i := range n {
			row := u[i*ld:][:k]
			for p, x := range row {
				for q := p + 1; q < k; q++ {
					row[q] -= l[p*ld+q] * x
				}
			}
		}
		return
	}
	l0, l1, l23 := l[1:few], l[ld+2:ld+few], l[2*ld+3]
	l01, l02, l03, l12, l13 := l0[0], l0[1], l0[2], l1[0], l1[1]
	for i := range n {
		row := u[i*ld:][:few]
		row[1] -= l01 * row[0]
		row[2] -= l02*row[0] + l12*row[1]
		row[3] -= l03*row[0] + l13*row[1] + l23*row[2]
	}
}

// small decomposes a small matrix where it is.
func (impl Implementation) small(m, n int, a []float64, lda int, ipiv []int) bool {
	const tiny = 42 // elements that a loop updates as fast as Dger
	bi, ok := impl.blas(), true
	a = a[:(m-1)*lda+n]
	for j := range ipiv {
		p, most := j, math.Abs(a[j*lda+j])
		for i := j + 1; i < m; i++ {
			if x := math.Abs(a[i*lda+j]); x > most {
				p, most = i, x
			}
		}
		ipiv[j] = p
		top := a[j*lda:][:n]
		if p != j {
			other := a[p*lda:][:n]
			for c, x := range top {
				top[c], other[c] = other[c], x
			}
		}
		pivot := top[j]
		if pivot == 0 {
			ok, pivot = false, 1
		}
		top = top[j+1:]
		r := 1 / pivot
		normal := isNormal(r)
		if normal && (m-j-1)*(n-j) > tiny {
			below := a[(j+1)*lda:]
			for i := j; i < len(below); i += lda {
				below[i] *= r
			}
			if j+1 < n {
				bi.Dger(m-j-1, n-j-1, -1, below[j:], lda, top, 1, below[j+1:], lda)
			}
			continue
		}
		for i := j + 1; i < m; i++ {
			row := a[i*lda+j:][:n-j]
			x := row[0] * r
			if !normal {
				x = row[0] / pivot
			}
			row[0] = x
			row = row[1:]
			for c, u := range top {
				row[c] -= x * u
			}
		}
	}
	return ok
}

// isNormal reports whether x is neither 0, subnormal, infinite nor NaN. To multiply by x is as exact then as to divide
// by its reciprocal.
func isNormal(x float64) bool { return math.Abs(x) >= safe && math.Abs(x) <= math.MaxFloat64 }
