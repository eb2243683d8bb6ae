package blas

import (
	"context"
	"math/bits"
	"runtime"
	"sync"
	"unsafe"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/internal/block"
	"gemm/pool"
)

// Dgemv computes y ← α·op(A)·x + β·y with A m×n. gonum's kernel reads A at the speed of memory on one processor; a
// large A is divided among several.
func (i Implementation) Dgemv(tA blas.Transpose, m, n int, alpha float64, a []float64, lda int, x []float64, incX int,
	beta float64, y []float64, incY int) {
	if uint(m|n) < little && block.IsModerate(alpha) ||
		!doubleVectors.gemv(&double, i.Workers, tA, m, n, alpha, a, lda, x, incX, beta, y, incY) {
		i.Implementation.Dgemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
	}
}

// Sgemv is Dgemv for float32.
func (i Implementation) Sgemv(tA blas.Transpose, m, n int, alpha float32, a []float32, lda int, x []float32, incX int,
	beta float32, y []float32, incY int) {
	if uint(m|n) < little && block.IsModerate(alpha) ||
		!singleVectors.gemv(&single, i.Workers, tA, m, n, alpha, a, lda, x, incX, beta, y, incY) {
		i.Implementation.Sgemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
	}
}

// Dger computes A ← α·x·yᵀ + A with A m×n. As in Dgemv, a large A is divided. Negative increments are right
// here, unlike in gonum v0.17 on amd64.
func (i Implementation) Dger(m, n int, alpha float64, x []float64, incX int, y []float64, incY int, a []float64,
	lda int) {
	if uint(m|n) < little && incX|incY >= 0 && block.IsModerate(alpha) ||
		!doubleVectors.ger(&double, i.Workers, m, n, alpha, x, incX, y, incY, a, lda) {
		i.Implementation.Dger(m, n, alpha, x, incX, y, incY, a, lda)
	}
}

// Sger is Dger for float32.
func (i Implementation) Sger(m, n int, alpha float32, x []float32, incX int, y []float32, incY int, a []float32,
	lda int) {
	if uint(m|n) < little && incX|incY >= 0 && block.IsModerate(alpha) ||
		!singleVectors.ger(&single, i.Workers, m, n, alpha, x, incX, y, incY, a, lda) {
		i.Implementation.Sger(m, n, alpha, x, incX, y, incY, a, lda)
	}
}

const (
	// little is more than the rows and columns of a matrix that is not large. Then gonum computes, and nothing else is
	// looked at: it takes 15 ns for 2×2.
	little = 512
	// large is the least size of a matrix, in bytes, that is divided among workers. A smaller one is in a processor's
	// own cache, or takes less time than the workers to begin.
	large = 4 << 20
	// leastPart is the least size of the part of a worker, in bytes.
	leastPart = 1 << 20
	// rowsTogether are the rows that gonum's kernels read at the same time. columnsTogether are the columns of Aᵀ
	// that a worker reads: of narrower parts of rows, the processor would not read the next ahead.
	rowsTogether, columnsTogether = 4, 64
)

// share returns how many of the workers share a matrix.
func (b *vectorKernels[T]) share(workers, m, n int) int {
	size := int64(unsafe.Sizeof(*new(T)))
	hi, lo := bits.Mul64(uint64(max(0, m)), uint64(max(0, n)))
	if hi != 0 || lo > 1<<50 || int64(lo)*size < large {
		return 1
	}
	if workers < 1 {
		workers = runtime.GOMAXPROCS(0)
	}
	return int(min(int64(workers), int64(lo)*size/leastPart))
}

// gemv computes y ← α·op(A)·x + β·y if several workers share A or α is extreme, and reports whether it did.
func (b *vectorKernels[T]) gemv(p *precision[T], workers int, tA blas.Transpose, m, n int, alpha T, a []T, lda int,
	x []T, incX int, beta T, y []T, incY int) bool {
	return b.divide(p, workers, &matrixVector[T]{tA: tA, m: m, n: n, alpha: alpha, beta: beta, a: a, lda: lda, x: x,
		incX: incX, y: y, incY: incY})
}

// ger computes A ← α·x·yᵀ + A if several workers share A, or if gonum's result would be wrong.
func (b *vectorKernels[T]) ger(p *precision[T], workers, m, n int, alpha T, x []T, incX int, y []T, incY int, a []T,
	lda int) bool {
	return b.divide(p, workers, &matrixVector[T]{ger: true, tA: NoTrans, m: m, n: n, alpha: alpha, a: a, lda: lda, x: y,
		incX: incY, y: x, incY: incX})
}

// divide is gemv or ger.
func (b *vectorKernels[T]) divide(p *precision[T], workers int, v *matrixVector[T]) bool {
	if p.extreme(workers, v) {
		return true
	}
	w := b.share(workers, v.m, v.n)
	if w < 2 && !(v.ger && v.descends()) || !v.fits() {
		return false
	}
	b.run(w, *v)
	return true
}

// matrixVector is y ← α·op(A)·x + β·y, or A ← α·y·xᵀ + A.
type matrixVector[T gemm.Float] struct {
	ger         bool
	tA          blas.Transpose
	m, n, lda   int
	alpha, beta T
	a, x, y     []T
	incX, incY  int
}

// descends reports whether an increment is negative: the vector is stored in descending order. gonum v0.17 computes a
// wrong Dger then, on amd64.
func (v *matrixVector[T]) descends() bool { return v.incX < 0 || v.incY < 0 }

// byRows computes A ← α·y·xᵀ + A by an axpy for each row. gonum's does nothing if its factor is 0.
func (v *matrixVector[T]) byRows(axpy func(n int, alpha T, x []T, incX int, y []T, incY int)) {
	for i := range v.m {
		factor := v.alpha * elements(v.y, v.m, v.incY, i, i+1)[0]
		axpy(v.n, factor, v.x, v.incX, v.a[i*v.lda:], 1)
		for j := 0; factor == 0 && j < v.n; j++ {
			v.a[i*v.lda+j] += factor * elements(v.x, v.n, v.incX, j, j+1)[0]
		}
	}
}

// scales reports whether gonum multiplies a vector by α first and no element leaves the range of normal numbers.
func (v *matrixVector[T]) scales() bool {
	data, n, inc := v.x, v.m, v.incX // of gemv with Aᵀ
	if v.ger {
		data, inc = v.y, v.incY
	} else if v.tA == NoTrans {
		return false
	}
	for i := range n {
		x := elements(data, n, inc, i, i+1)[0]
		if scaled := v.alpha * x; x != 0 && x-x == 0 && !isNormal(scaled) {
			return false
		}
	}
	return true
}

// extreme computes v as a product of matrices if α is not moderate and an element may be lost, and reports whether it
// did.
func (p *precision[T]) extreme(workers int, v *matrixVector[T]) bool {
	if block.IsModerate(v.alpha) || v.alpha == 0 || !v.fits() || v.scales() {
		return false
	}
	rows, cols := ordered(v.tA, v.m, v.n)
	column := func(data []T, n, inc int) view[T] {
		out := view[T]{Data: make([]T, n), Row: 1, Col: 1}
		for i := range n {
			out.Data[i] = elements(data, n, inc, i, i+1)[0]
		}
		return out
	}
	x, y, a := column(v.x, cols, v.incX), column(v.y, rows, v.incY), stored(v.tA, v.a, v.lda)
	if v.ger {
		x.Row = cols
		_ = p.product(context.Background(), workers, rows, cols, 1, v.alpha, y, x, 1, a)
		return true
	}
	_ = p.product(context.Background(), workers, rows, 1, cols, v.alpha, a, x, v.beta, y)
	for i, x := range y.Data {
		elements(v.y, rows, v.incY, i, i+1)[0] = x
	}
	return true
}

// fits reports whether the arguments are valid. If it returns false, gonum panics.
func (v *matrixVector[T]) fits() bool {
	if !isTranspose(v.tA) || v.m <= 0 || v.n <= 0 || v.lda < v.n || v.incX == 0 || v.incY == 0 {
		return false
	}
	rows, cols := ordered(v.tA, v.m, v.n)
	hi, lo := bits.Mul(uint(v.m-1), uint(v.lda))
	return hi == 0 && len(v.a) >= v.n && lo <= uint(len(v.a)-v.n) && holds(v.x, cols, v.incX) &&
		holds(v.y, rows, v.incY)
}

// holds reports whether data holds n ≥ 1 elements at distance inc, which is negative if they are in descending order.
func holds[T any](data []T, n, inc int) bool {
	hi, lo := bits.Mul(uint(n-1), uint(max(inc, -inc)))
	return hi == 0 && lo < uint(len(data))
}

// elements returns the vector of the elements lo to hi−1 of n.
func elements[T any](data []T, n, inc, lo, hi int) []T {
	if inc < 0 { // element i is at (n−1−i)·|inc|
		return data[(n-hi)*-inc : (n-1-lo)*-inc+1]
	}
	return data[lo*inc : (hi-1)*inc+1]
}

// part returns the work on the elements lo to hi−1 of y: rows of op(A).
func (v *matrixVector[T]) part(lo, hi int) matrixVector[T] {
	out := *v
	rows, _ := ordered(v.tA, v.m, v.n)
	out.y = elements(v.y, rows, v.incY, lo, hi)
	if v.tA == NoTrans {
		out.m, out.a = hi-lo, v.a[lo*v.lda:]
	} else {
		out.n, out.a = hi-lo, v.a[lo:]
	}
	return out
}

// vectorKernels computes parts of one type by gonum's kernels.
type vectorKernels[T gemm.Float] struct {
	gonumGemv func(tA blas.Transpose, m, n int, alpha T, a []T, lda int, x []T, incX int, beta T, y []T, incY int)
	gonumGer  func(m, n int, alpha T, x []T, incX int, y []T, incY int, a []T, lda int)
	axpy      func(n int, alpha T, x []T, incX int, y []T, incY int)
	idle      sync.Pool // of *sharedVectors[T]
}

var (
	gonums        = Implementation{}.Implementation
	doubleVectors = vectorKernels[float64]{gonumGemv: gonums.Dgemv, gonumGer: gonums.Dger, axpy: gonums.Daxpy}
	singleVectors = vectorKernels[float32]{gonumGemv: gonums.Sgemv, gonumGer: gonums.Sger, axpy: gonums.Saxpy}
)

// compute computes a part.
func (b *vectorKernels[T]) compute(v matrixVector[T]) {
	switch {
	case v.ger && v.descends():
		v.byRows(b.axpy)
	case v.ger:
		b.gonumGer(v.m, v.n, v.alpha, v.y, v.incY, v.x, v.incX, v.a, v.lda)
	default:
		b.gonumGemv(v.tA, v.m, v.n, v.alpha, v.a, v.lda, v.x, v.incX, v.beta, v.y, v.incY)
	}
}

// sharedVectors is one operation that workers share.
type sharedVectors[T gemm.Float] struct {
	v    matrixVector[T]
	unit int // elements of y that are not divided
	pool *pool.Pool
	body func(worker, lo, hi int)
}

// run computes v on several workers. Each element of y, or row of A, is computed by one, as gonum does.
func (b *vectorKernels[T]) run(workers int, v matrixVector[T]) {
	s, ok := b.idle.Get().(*sharedVectors[T])
	if !ok || s.pool.Workers() != workers {
		s = &sharedVectors[T]{pool: pool.New(workers)}
		s.body = func(_, lo, hi int) {
			rows, _ := ordered(s.v.tA, s.v.m, s.v.n)
			b.compute(s.v.part(lo*s.unit, min(hi*s.unit, rows)))
		}
	}
	s.v, s.unit = v, rowsTogether
	rows, _ := ordered(v.tA, v.m, v.n)
	if v.tA != NoTrans {
		s.unit = columnsTogether
	}
	s.pool.Run(workers, (rows+s.unit-1)/s.unit, s.body)
	s.v = matrixVector[T]{} // leaves the operands to the garbage collector
	b.idle.Put(s)
}
