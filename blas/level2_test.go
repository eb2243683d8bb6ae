package blas

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// vectorCases are operations that workers share: ragged, narrow, and with all strides.
func vectorCases(f func(m, n, lda, incX, incY int, t blas.Transpose)) {
	for _, s := range [][2]int{{1, 1}, {3, 5}, {7, 130}, {130, 7}, {33, 300}, {200, 65}} {
		for _, inc := range [][2]int{{1, 1}, {2, -1}, {-3, 2}, {-1, -2}} {
			for _, t := range []blas.Transpose{NoTrans, Trans, ConjTrans} {
				f(s[0], s[1], s[1]+inc[0]+3, inc[0], inc[1], t)
			}
		}
	}
}

func magnitude(n int) int { return max(n, -n) }

// wantVectors computes v by two loops.
func wantVectors(v matrixVector[float64]) (a, y []float64) {
	a, y = slices.Clone(v.a), slices.Clone(v.y)
	rows, cols := ordered(v.tA, v.m, v.n)
	for i := range rows {
		yi := &elements(y, rows, v.incY, i, i+1)[0]
		sum := 0.0
		for j := range cols {
			xj := elements(v.x, cols, v.incX, j, j+1)[0]
			if v.ger {
				a[i*v.lda+j] += v.alpha * *yi * xj
			}
			if at := i*v.lda + j; v.tA == NoTrans {
				sum += v.a[at] * xj
			} else {
				sum += v.a[j*v.lda+i] * xj
			}
		}
		if !v.ger {
			*yi = v.alpha*sum + v.beta**yi
		}
	}
	return a, y
}

// TestSharedVectors compares what workers share with two loops.
func TestSharedVectors(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	vectorCases(func(m, n, lda, incX, incY int, tA blas.Transpose) {
		for _, ger := range []bool{false, true} {
			if ger && tA != NoTrans {
				continue
			}
			rows, cols := ordered(tA, m, n)
			v := matrixVector[float64]{ger: ger, tA: tA, m: m, n: n, lda: lda, alpha: 0.75, beta: -2, incX: incX,
				incY: incY, a: filled(rng, (m-1)*lda+n), x: filled(rng, (cols-1)*magnitude(incX)+1),
				y: filled(rng, (rows-1)*magnitude(incY)+1)}
			a, y := wantVectors(v)
			if !v.fits() {
				t.Fatalf("%+v does not fit", v)
			}
			doubleVectors.run(3, v)
			if !near(v.a, a) || !near(v.y, y) {
				t.Errorf("ger %v, %c, %d×%d, lda %d, strides %d, %d: the result is wrong", ger, tA, m, n, lda, incX,
					incY)
			}
		}
	})
}

// TestLargeVectors calls the routines with matrices that are divided, and bad arguments, which panic as gonum's do.
func TestLargeVectors(t *testing.T) {
	const m, n = 1100, 1000
	rng := rand.New(rand.NewPCG(8, 2))
	a, x, y := filled(rng, m*n), filled(rng, m), filled(rng, m)
	by, other := Implementation{Workers: 2}, gonum.Implementation{}
	if doubleVectors.share(by.Workers, m, n) < 2 {
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
