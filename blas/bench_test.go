package blas

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"

	"gemm"
	"gemm/gemmtest"
)

// order of the matrices of the benchmarks: go test -bench . ./blas -n 2048
var benchN = flag.Int("n", 512, "order of the matrices of the benchmarks of gonum's mat")

// inTurn runs a benchmark with gonum's own BLAS in use, and with this one.
func inTurn(b *testing.B, flops float64, run func()) {
	for _, by := range []struct {
		name string
		use  blas.Float64
	}{{"gonum", gonum.Implementation{}}, {"gemm", Implementation{}}} {
		b.Run(fmt.Sprintf("n=%d/by=%s", *benchN, by.name), func(b *testing.B) {
			blas64.Use(by.use)
			defer blas64.Use(gonum.Implementation{})
			run()
			for b.Loop() {
				run()
			}
			b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

// random returns an n×n matrix.
func random(n int) *mat.Dense {
	rng := rand.New(rand.NewPCG(1, 1))
	m := mat.NewDense(n, n, nil)
	for i := range m.RawMatrix().Data {
		m.RawMatrix().Data[i] = rng.Float64() - 0.5
	}
	return m
}

func cube(n int) float64 { return float64(n) * float64(n) * float64(n) }

func BenchmarkMul(b *testing.B) {
	x, y, z := random(*benchN), random(*benchN), mat.NewDense(*benchN, *benchN, nil)
	inTurn(b, 2*cube(*benchN), func() { z.Mul(x, y) })
}

func BenchmarkLU(b *testing.B) {
	x := random(*benchN)
	var lu mat.LU
	inTurn(b, 2*cube(*benchN)/3, func() { lu.Factorize(x) })
}

// BenchmarkGetrf is BenchmarkLU without the estimate of the condition number.
func BenchmarkGetrf(b *testing.B) {
	x, pivots := random(*benchN), make([]int, *benchN)
	lu := mat.NewDense(*benchN, *benchN, nil)
	inTurn(b, 2*cube(*benchN)/3, func() {
		lu.Copy(x)
		lapack64.Getrf(lu.RawMatrix(), pivots)
	})
}

func BenchmarkCholesky(b *testing.B) {
	s := mat.NewSymDense(*benchN, random(*benchN).RawMatrix().Data)
	for i := range *benchN {
		s.SetSym(i, i, float64(*benchN)) // dominates its row
	}
	var chol mat.Cholesky
	inTurn(b, cube(*benchN)/3, func() {
		if !chol.Factorize(s) {
			b.Fatal("the matrix is not positive definite")
		}
	})
}

func BenchmarkQR(b *testing.B) {
	x := random(*benchN)
	var qr mat.QR
	inTurn(b, 4*cube(*benchN)/3, func() { qr.Factorize(x) })
}

func BenchmarkSVD(b *testing.B) {
	x := random(*benchN)
	var svd mat.SVD
	inTurn(b, 4*cube(*benchN), func() {
		if !svd.Factorize(x, mat.SVDThin) {
			b.Fatal("the singular values were not found")
		}
	})
}

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
	if !precisionOf[T]().isFew(tB, m, n, k, alpha) || !lies(len(a), tA, m, k, lda) || !lies(len(b), tB, k, n, ldb) ||
		!lies(len(c), NoTrans, m, n, ldc) {
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

// BenchmarkSlender multiplies matrices with few columns, few rows, or both, on one worker.
func BenchmarkSlender(b *testing.B) {
	for _, shape := range [][3]int{{4096, 4096, 16}, {64, 64, 8192}, {16, 4096, 4096}, {1, 4096, 4096},
		{4096, 16, 4096}, {4096, 1, 4096}} {
		m, n, k := shape[0], shape[1], shape[2]
		benchSlender(b, fmt.Sprintf("type=f64/%d×%d×%d", m, n, k), m, n, k, Implementation{Workers: 1}.Dgemm)
		benchSlender(b, fmt.Sprintf("type=f32/%d×%d×%d", m, n, k), m, n, k, Implementation{Workers: 1}.Sgemm)
	}
}

func benchSlender[T gemm.Float](b *testing.B, name string, m, n, k int, run routine[T]) {
	x, y, z := make([]T, m*k), make([]T, k*n), make([]T, m*n)
	for i := range x { // memory that was never written is one page
		x[i] = T(i%7) - 3
	}
	for i := range y {
		y[i] = T(i%5) - 2
	}
	call := func() { run(NoTrans, NoTrans, m, n, k, 1, x, k, y, n, 0, z, n) }
	call() // touches C
	b.Run(name, func(b *testing.B) {
		for b.Loop() {
			call()
		}
		b.ReportMetric(2*float64(m)*float64(n)*float64(k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
	})
}

// BenchmarkRoutines calls routines for small matrices, and a row times a transposed matrix.
func BenchmarkRoutines(b *testing.B) {
	for _, n := range []int{2, 4, 8, 12, 16} {
		x, y, z := random(n).RawMatrix().Data, random(n).RawMatrix().Data, make([]float64, n*n)
		for i := range n {
			x[i*n+i] += float64(n) // the triangle has an inverse
		}
		for name, routine := range map[string]func(by blas.Float64){
			"gemmNT": func(by blas.Float64) { by.Dgemm(blas.NoTrans, blas.Trans, n, n, n, 1, x, n, y, n, 0, z, n) },
			"syrk":   func(by blas.Float64) { by.Dsyrk(blas.Lower, blas.NoTrans, n, n, 1, x, n, 0, z, n) },
			"trsm": func(by blas.Float64) {
				copy(z, y)
				by.Dtrsm(blas.Left, blas.Lower, blas.NoTrans, blas.NonUnit, n, n, 1, x, n, z, n)
			},
		} {
			comparedWithGonum(b, fmt.Sprintf("%s/n=%d", name, n), routine)
		}
	}
	const n, k = 1024, 1024
	row, matrix, product := make([]float64, k), random(n).RawMatrix().Data, make([]float64, n)
	comparedWithGonum(b, "row", func(by blas.Float64) {
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
		for _, by := range []struct {
			name string
			blas blas.Complex128
		}{{"gonum", gonum.Implementation{}}, {"gemm", Implementation{}}} {
			b.Run(fmt.Sprintf("n=%d/by=%s", n, by.name), func(b *testing.B) {
				for b.Loop() {
					by.blas.Zgemm(NoTrans, NoTrans, n, n, n, 1, x, n, x, n, 0, y, n)
				}
			})
		}
	}
}

// comparedWithGonum runs a benchmark of a routine of gonum's own BLAS, and of this one.
func comparedWithGonum(b *testing.B, name string, routine func(by blas.Float64)) {
	for _, by := range []struct {
		name string
		blas blas.Float64
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
