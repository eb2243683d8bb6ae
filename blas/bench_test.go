package blas

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"gemm"
	"gemm/gemmtest"
)

// BenchmarkSmall measures the parts of a call for small matrices: a call that does nothing, one that checks its
// arguments, the kernel, and all of it; and other ways to the same product.
func BenchmarkSmall(b *testing.B) {
	for _, n := range []int{2, 3, 4, 5, 6, 8, 12, 16} {
		benchSmall(b, fmt.Sprintf("type=f64/n=%d", n), n, &double, Implementation{Workers: 1}.Dgemm)
		benchSmall(b, fmt.Sprintf("type=f32/n=%d", n), n, &single, Implementation{Workers: 1}.Sgemm)
	}
}

type routine[T gemm.Float] func(tA, tB blas.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T,
	c []T, ldc int)

// empty has the arguments of a routine.
//
//go:noinline
func empty[T gemm.Float](_, _ blas.Transpose, _, _, _ int, _ T, _ []T, _ int, _ []T, _ int, _ T, _ []T, _ int) {
}

// checks checks the arguments of a routine.
//
//go:noinline
func checks[T gemm.Float](tA, tB blas.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, _ T, c []T,
	ldc int) {
	if !precisionOf[T]().isFew(tB, m, n, k, alpha) || !fitsFew(len(a), tA, m, k, lda) ||
		!fitsFew(len(b), tB, k, n, ldb) ||
		!fitsFew(len(c), NoTrans, m, n, ldc) {
		panic("blas: these are not few")
	}
}

func benchSmall[T gemm.Float](b *testing.B, name string, n int, p *precision[T], all routine[T]) {
	x, y := make([]T, n*n), make([]T, n*n)
	matrix := gemm.Matrix[T]{Rows: n, Cols: n, Stride: n, Data: x}
	to := gemm.Matrix[T]{Rows: n, Cols: n, Stride: n, Data: y}
	plan, err := NewPlan(Problem[T]{M: n, N: n, K: n, Alpha: 1, Workers: 1})
	gemmtest.Must(b, err)
	for _, part := range []struct {
		name string
		run  func()
	}{
		{"empty", func() { empty(NoTrans, NoTrans, n, n, n, 1, x, n, x, n, 0, y, n) }},
		{"checks", func() { checks(NoTrans, NoTrans, n, n, n, 1, x, n, x, n, 0, y, n) }},
		{"kernel", func() { p.kernel.Small(n, n, n, &x[0], n, 1, &x[0], n, &y[0], n, 1, 0) }},
		{"NN", func() { all(NoTrans, NoTrans, n, n, n, 1, x, n, x, n, 0, y, n) }},
		{"TN", func() { all(Trans, NoTrans, n, n, n, 1, x, n, x, n, 0, y, n) }},
		{"NT", func() { all(NoTrans, Trans, n, n, n, 1, x, n, x, n, 0, y, n) }},
		{"Multiply", func() { _ = Multiply(to, matrix, matrix) }},
		{"Plan", func() { _ = plan.Multiply(x, x, y) }},
	} {
		b.Run(name+"/part="+part.name, func(b *testing.B) {
			for b.Loop() {
				part.run()
			}
		})
	}
}

// BenchmarkRoutines calls routines for small matrices, and a row times a transposed matrix.
func BenchmarkRoutines(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{2, 4, 8, 12, 16} {
		x, y, z := filled(rng, n*n), filled(rng, n*n), make([]float64, n*n)
		for i := range n {
			x[i*n+i] += float64(n) // the triangle has an inverse
		}
		for name, routine := range map[string]func(by realAndComplex){
			"gemmNT": func(by realAndComplex) { by.Dgemm(blas.NoTrans, blas.Trans, n, n, n, 1, x, n, y, n, 0, z, n) },
			"syrk":   func(by realAndComplex) { by.Dsyrk(blas.Lower, blas.NoTrans, n, n, 1, x, n, 0, z, n) },
			"trsm": func(by realAndComplex) {
				copy(z, y)
				by.Dtrsm(blas.Left, blas.Lower, blas.NoTrans, blas.NonUnit, n, n, 1, x, n, z, n)
			},
		} {
			comparedWithGonum(b, fmt.Sprintf("%s/n=%d", name, n), routine)
		}
	}
	const n, k = 1024, 1024
	row, matrix, product := make([]float64, k), filled(rng, n*k), make([]float64, n)
	comparedWithGonum(b, "row", func(by realAndComplex) {
		by.Dgemm(blas.NoTrans, blas.Trans, 1, n, k, 1, row, k, matrix, k, 0, product, n)
	})
}

// BenchmarkComplex multiplies complex matrices.
func BenchmarkComplex(b *testing.B) {
	for _, n := range []int{4, 8, 12, 16, 64, 512} {
		x, y := make([]complex128, n*n), make([]complex128, n*n)
		for i := range x {
			x[i] = complex(float64(i%5), float64(i%3))
		}
		comparedWithGonum(b, fmt.Sprintf("n=%d", n), func(by realAndComplex) {
			by.Zgemm(NoTrans, NoTrans, n, n, n, 1, x, n, x, n, 0, y, n)
		})
	}
}

// realAndComplex has the routines of two types.
type realAndComplex interface {
	blas.Float64
	blas.Complex128
}

// comparedWithGonum runs a benchmark of a routine of gonum's own BLAS, and of this one.
func comparedWithGonum(b *testing.B, name string, routine func(by realAndComplex)) {
	for _, by := range []struct {
		name string
		blas realAndComplex
	}{{"gonum", gonum.Implementation{}}, {"gemm", Implementation{}}} {
		b.Run(name+"/by="+by.name, func(b *testing.B) {
			for b.Loop() {
				routine(by.blas)
			}
		})
	}
}

// BenchmarkBatch multiplies many small matrices: by a call each, by a plan, and by a batch on one worker.
func BenchmarkBatch(b *testing.B) {
	const count = 1000
	for _, n := range []int{2, 3, 4, 8, 16} {
		x, c := make([]float64, count*n*n), make([]float64, count*n*n)
		for i := range x {
			x[i] = float64(i%7) - 3
		}
		p, err := NewPlan(Problem[float64]{M: n, N: n, K: n, Alpha: 1, Workers: 1})
		gemmtest.Must(b, err)
		impl := Implementation{Workers: 1}
		for _, by := range []struct {
			name string
			run  func() error
		}{
			{"call", func() error {
				for i := 0; i < len(x); i += n * n {
					impl.Dgemm(NoTrans, NoTrans, n, n, n, 1, x[i:], n, x[i:], n, 0, c[i:], n)
				}
				return nil
			}},
			{"plan", func() error {
				for i := 0; i < len(x); i += n * n {
					if err := p.Multiply(x[i:], x[i:], c[i:]); err != nil {
						return err
					}
				}
				return nil
			}},
			{"batch", func() error { return p.BatchStrided(count, x, n*n, x, n*n, c, n*n) }},
		} {
			b.Run(fmt.Sprintf("n=%d/by=%s", n, by.name), func(b *testing.B) {
				for b.Loop() {
					gemmtest.Must(b, by.run())
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/count, "ns/product")
			})
		}
	}
}
