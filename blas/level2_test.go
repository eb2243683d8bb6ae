package blas

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"gemm"
	"gemm/gemmtest"
)

// elements returns the vector of the elements lo to hi−1 of n.
func elements[T any](data []T, n, inc, lo, hi int) []T {
	if inc < 0 { // element i is at (n−1−i)·|inc|
		return data[(n-hi)*-inc : (n-1-lo)*-inc+1]
	}
	return data[lo*inc : (hi-1)*inc+1]
}

func magnitude(n int) int { return max(n, -n) }

// TestLargeVectors calls the routines with matrices that are divided, and bad arguments, which panic as gonum's do.
func TestLargeVectors(t *testing.T) {
	const m, n = 1100, 1000
	rng := rand.New(rand.NewPCG(8, 2))
	a, x, y := filled(rng, m*n), filled(rng, m), filled(rng, m)
	by, other := Implementation{Workers: 2}, gonum.Implementation{}
	if (&matrixVector[float64]{m: m, n: n}).share(by.Workers) < 2 {
		t.Fatal("the matrix is not shared")
	}
	for _, tA := range []blas.Transpose{NoTrans, Trans} {
		got, want := slices.Clone(y), slices.Clone(y)
		by.Dgemv(tA, m, n, 2, a, n, x, 1, 3, got, 1)
		other.Dgemv(tA, m, n, 2, a, n, x, 1, 3, want, 1)
		if !near(got, want) {
			t.Errorf("%c: the product is wrong", tA)
		}
	}
	got, want := slices.Clone(a), slices.Clone(a)
	by.Dger(m, n, 2, x, 1, y, 1, got, n)
	other.Dger(m, n, 2, x, 1, y, 1, want, n)
	if !near(got, want) {
		t.Error("the rank-one update is wrong")
	}
	// Negative increments, and a matrix that is not divided.
	small := make([]float64, 4)
	by.Dger(2, 2, 1, []float64{1, 2}, -1, []float64{10, 20}, -1, small, 2)
	if want := []float64{40, 20, 20, 10}; !near(small, want) {
		t.Errorf("the update with negative increments is %v, want %v", small, want)
	}
	const rows = 2 * m // of elements half as long
	a32, x32, y32 := make([]float32, rows*n), make([]float32, rows), make([]float32, rows)
	for i := range x32 {
		x32[i], y32[i] = 1, float32(i%3)
	}
	by.Sger(rows, n, 1, y32, 1, x32, 1, a32, n)
	by.Sgemv(NoTrans, rows, n, 1, a32, n, x32, 1, 0, y32, 1)
	for i, y := range y32 {
		if y != float32(n*(i%3)) {
			t.Fatalf("row %d of ones times %d has the sum %v", i, i%3, y)
		}
	}
	for _, bad := range []func(by blas.Float64){
		func(by blas.Float64) { by.Dgemv('x', m, n, 1, a, n, x, 1, 0, y, 1) },
		func(by blas.Float64) { by.Dgemv(NoTrans, m, n, 1, a, n-1, x, 1, 0, y, 1) },
		func(by blas.Float64) { by.Dgemv(NoTrans, m, n, 1, a[1:], n, x, 1, 0, y, 1) },
		func(by blas.Float64) { by.Dgemv(NoTrans, m, n, 1, a, n, x[:n-1], 1, 0, y, 1) },
		func(by blas.Float64) { by.Dgemv(NoTrans, m, n, 1, a, n, x, 0, 0, y, 1) },
		func(by blas.Float64) { by.Dgemv(Trans, m, n, 1, a, n, x, 1, 0, y[:n], -2) },
		func(by blas.Float64) { by.Dger(m, n, 1, x[1:], 1, y, 1, a, n) },
		func(by blas.Float64) { by.Dsymv('x', n, 1, a, n, x, 1, 0, y, 1) },
		func(by blas.Float64) { by.Dsymv(blas.Upper, n, 1, a[:n*n-1], n, x, 1, 0, y, 1) },
		func(by blas.Float64) { by.Dsyr(blas.Lower, n, 1, x[:n-1], 1, a, n) },
		func(by blas.Float64) { by.Dsyr(blas.Lower, 3, 1, x[:2], 1, a, n) },
		func(by blas.Float64) { by.Dsyr2(blas.Lower, n, 1, x, 1, y[:n], -2, a, n) },
		func(by blas.Float64) { by.Dtrmv(blas.Lower, NoTrans, 'x', n, a, n, x, 1) },
		func(by blas.Float64) { by.Dtrsv(blas.Lower, Trans, blas.Unit, n, a, n-1, x[:1], 1) },
	} {
		said := func(by blas.Float64) (out any) {
			defer func() { out = recover() }()
			bad(by)
			return nil
		}
		if got, want := said(by), said(other); got == nil || got != want {
			t.Errorf("panicked with %v, gonum with %v", got, want)
		}
	}
}

// vectorRoutines are the routines of level 2 of one implementation.
type vectorRoutines[T gemm.Float] struct {
	gemv func(t blas.Transpose, m, n int, alpha T, a []T, lda int, x []T, incX int, beta T, y []T, incY int)
	ger  func(m, n int, alpha T, x []T, incX int, y []T, incY int, a []T, lda int)
	symv func(ul blas.Uplo, n int, alpha T, a []T, lda int, x []T, incX int, beta T, y []T, incY int)
	syr  func(ul blas.Uplo, n int, alpha T, x []T, incX int, a []T, lda int)
	syr2 func(ul blas.Uplo, n int, alpha T, x []T, incX int, y []T, incY int, a []T, lda int)
	trmv func(ul blas.Uplo, t blas.Transpose, d blas.Diag, n int, a []T, lda int, x []T, incX int)
	trsv func(ul blas.Uplo, t blas.Transpose, d blas.Diag, n int, a []T, lda int, x []T, incX int)
}

func doubleRoutines(b blas.Float64) vectorRoutines[float64] {
	return vectorRoutines[float64]{b.Dgemv, b.Dger, b.Dsymv, b.Dsyr, b.Dsyr2, b.Dtrmv, b.Dtrsv}
}

func singleRoutines(b blas.Float32) vectorRoutines[float32] {
	return vectorRoutines[float32]{b.Sgemv, b.Sger, b.Ssymv, b.Ssyr, b.Ssyr2, b.Strmv, b.Strsv}
}

// run calls the routine. In those with a triangle, A is n×n; x is in y if it is replaced.
func (r vectorRoutines[T]) run(v matrixVector[T]) {
	switch v.op {
	case gemv:
		r.gemv(v.tA, v.m, v.n, v.alpha, v.a, v.lda, v.x, v.incX, v.beta, v.y, v.incY)
	case ger:
		r.ger(v.m, v.n, v.alpha, v.y, v.incY, v.x, v.incX, v.a, v.lda)
	case symv:
		r.symv(v.ul, v.n, v.alpha, v.a, v.lda, v.x, v.incX, v.beta, v.y, v.incY)
	case syr:
		r.syr(v.ul, v.n, v.alpha, v.x, v.incX, v.a, v.lda)
	case syr2:
		r.syr2(v.ul, v.n, v.alpha, v.x, v.incX, v.y, v.incY, v.a, v.lda)
	case trmv:
		r.trmv(v.ul, v.tA, v.d, v.n, v.a, v.lda, v.y, v.incY)
	case trsv:
		r.trsv(v.ul, v.tA, v.d, v.n, v.a, v.lda, v.y, v.incY)
	}
}

// testAgainstGonum compares a routine with gonum's. What it must not read is NaN: the other triangle, a unit diagonal,
// the gaps between rows and elements, and y if β = 0. They must be as before afterwards.
func testAgainstGonum[T gemm.Float](t *testing.T, round int, op vectorRoutine, ours, gonums vectorRoutines[T],
	bound float64) {
	rng := rand.New(rand.NewPCG(uint64(round), uint64(op)))
	nan := T(math.NaN())
	vector := func(n, inc int) []T {
		out := make([]T, (n-1)*magnitude(inc)+1)
		for i := range out {
			if out[i] = nan; i%inc == 0 {
				out[i] = T(rng.NormFloat64())
			}
		}
		return out
	}
	for n := range 80 {
		switch { // the kernels in assembly get parts of these
		case n == 78:
			n = 400
		case n == 79 && op < symv:
			n = 2100
		}
		v := matrixVector[T]{op: op, ul: pick(rng, blas.Upper, blas.Lower), tA: NoTrans, d: blas.NonUnit, m: n + 1,
			n: n + 1, lda: n + 1 + rng.IntN(5), alpha: pick[T](rng, 1, 0.75, -2), beta: pick[T](rng, 0, 1, 0.5),
			incX: pick(rng, 1, 1, -1, 2, -3), incY: pick(rng, 1, 1, -1, 2, -3)}
		if op == gemv || op >= trmv {
			v.tA, v.d = pick(rng, NoTrans, Trans, ConjTrans), pick(rng, blas.NonUnit, blas.Unit)
		}
		if op < symv {
			v.m = pick(rng, n+1, 1, 7, 130)
		}
		if op == ger { // gonum's is wrong
			v.incX, v.incY = magnitude(v.incX), magnitude(v.incY)
		}
		rows, cols := ordered(v.tA, v.m, v.n)
		v.a, v.x, v.y = make([]T, (v.m-1)*v.lda+v.n), vector(cols, v.incX), vector(rows, v.incY)
		if v.beta == 0 && (op == gemv || op == symv) {
			for i := range v.y {
				v.y[i] = nan
			}
		}
		for i := range v.a {
			v.a[i] = nan
			r, c := i/v.lda, i%v.lda
			if c < v.n && (op < symv || c > r && v.ul == blas.Upper || c < r && v.ul == blas.Lower) {
				v.a[i] = T(rng.NormFloat64()) / T(v.n)
			} else if c == r && (op < trmv || v.d == blas.NonUnit) {
				v.a[i] = T(1 + rng.Float64())
			}
		}
		want := v
		want.a, want.x, want.y = slices.Clone(v.a), slices.Clone(v.x), slices.Clone(v.y)
		ours.run(v)
		gonums.run(want)
		for _, o := range [][2][]T{{v.a, want.a}, {v.x, want.x}, {v.y, want.y}} {
			for i, got := range o[0] {
				want := o[1][i]
				isNear := math.Abs(float64(got-want)) <= bound*(1+math.Abs(float64(want)))
				if !isNear && (got == got || want == want) {
					t.Fatalf("operation %d %c %c %c, %d×%d, lda %d, increments %d, %d, β=%v: element %d is %v, want %v",
						op, v.ul, v.tA, v.d, v.m, v.n, v.lda, v.incX, v.incY, v.beta, i, got, want)
				}
			}
		}
	}
}

func TestLevel2(t *testing.T) {
	// what workers share, also if it is small
	shared := vectorRoutines[float64]{gemv: func(tA blas.Transpose, m, n int, alpha float64, a []float64, lda int,
		x []float64, incX int, beta float64, y []float64, incY int) {
		double.shared(3, vector64{gemv, 0, tA, 0, m, n, lda, alpha, beta, a, x, y, incX, incY})
	}, ger: func(m, n int, alpha float64, x []float64, incX int, y []float64, incY int, a []float64, lda int) {
		double.shared(3, vector64{ger, 0, NoTrans, 0, m, n, lda, alpha, 0, a, y, x, incY, incX})
	}}
	rounds := 5
	if testing.Short() {
		rounds = 2
	}
	for op := gemv; op <= trsv; op++ {
		for round := range rounds {
			if op < symv {
				testAgainstGonum(t, round, op, shared, doubleRoutines(gonum.Implementation{}), 1e-13)
			}
			testAgainstGonum(t, round, op, doubleRoutines(impl), doubleRoutines(gonum.Implementation{}), 1e-13)
			testAgainstGonum(t, round, op, singleRoutines(impl), singleRoutines(gonum.Implementation{}), 1e-4)
		}
	}
}

// TestInstructionSets runs the tests of level 2 with the kernels of the other instruction sets.
func TestInstructionSets(t *testing.T) {
	gemmtest.InstructionSets(t, "^Test(Level[12]|Vector.*|.*Vectors|D(gemv|ger|symv|syr2?|trmv|trsv))$")
}

// BenchmarkVectors calls level 2 for matrices in L2, in L3 and in memory.
func BenchmarkVectors(b *testing.B) {
	for _, n := range []int{256, 1024, 2048, 4096} {
		a, x, y := make([]float64, n*n), make([]float64, n), make([]float64, n)
		for name, routine := range map[string]func(by realAndComplex){
			"gemv":  func(by realAndComplex) { by.Dgemv(NoTrans, n, n, 1, a, n, x, 1, 0, y, 1) },
			"gemvT": func(by realAndComplex) { by.Dgemv(Trans, n, n, 1, a, n, x, 1, 0, y, 1) },
			"ger":   func(by realAndComplex) { by.Dger(n, n, 1, x, 1, y, 1, a, n) },
		} {
			comparedWithGonum(b, fmt.Sprintf("%s/n=%d", name, n), routine)
		}
	}
}
