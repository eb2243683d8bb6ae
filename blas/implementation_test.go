package blas

import (
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/gemmtest"
	fp16 "gemm/half"
)

// testNonFinite puts a NaN or an Inf into operands and expects them to go where the arithmetic takes them, also
// where they meet zeros, and nowhere else.
func testNonFinite[T gemm.Float](t *testing.T, r routines[T]) {
	rng := rand.New(rand.NewPCG(6, 7))
	inf, nan := T(math.Inf(1)), T(math.NaN())
	for _, name := range []string{"gemm", "symm", "syrk", "syr2k", "trmm"} {
		for range 25 {
			x := draw[T](rng, pick(rng, 5, corner, 50, 70), pick(rng, 5, corner, 50, 70), pick(rng, 3, 40))
			x.alpha = 1
			x, _ = prepared(rng, name, x)
			to := x.b
			if name == "syrk" {
				to = x.a
			}
			to[rng.IntN(len(to))] = pick(rng, nan, inf, -inf)
			want := reference(name, x)
			r.run(name, x)
			for _, o := range [][2][]T{{x.a, want.a}, {x.b, want.b}, {x.c, want.c}} {
				for i, got := range o[0] {
					if want := o[1][i]; !(got == want || got != got && want != want) {
						t.Fatalf("%s %v: element %d is %v, want %v", name, x, i, got, want)
					}
				}
			}
		}
	}
}

func TestNonFinite(t *testing.T) {
	t.Run("f64", func(t *testing.T) { testNonFinite(t, doubles(impl)) })
	t.Run("f32", func(t *testing.T) { testNonFinite(t, singles(impl)) })
}

// TestWorkers calls routines with other numbers of goroutines that can run at once:
// large products are shared out to that many.
func TestWorkers(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	for _, workers := range []int{1, 3, 2} {
		runtime.GOMAXPROCS(workers)
		rng := rand.New(rand.NewPCG(11, uint64(workers)))
		check(t, doubles(impl), rng, "gemm", 150, 250, 200)
		check(t, singles(impl), rng, "syrk", 0, 250, 200)
		check(t, doubles(impl), rng, "trsm", 250, 150, 0)
		w := double.acquire(0)
		if w.workers != workers {
			t.Errorf("GOMAXPROCS is %d, the workspace has %d workers", workers, w.workers)
		}
		w.release()
	}
}

// TestAllocations checks that the second call of a routine, function or plan allocates nothing.
func TestAllocations(t *testing.T) {
	if gemmtest.Raced {
		t.Skip("the race detector makes sync.Pool forget")
	}
	none := func(name string, n int, call func()) {
		t.Helper()
		if got := testing.AllocsPerRun(20, call); got != 0 {
			t.Errorf("%s, n=%d: %v allocations", name, n, got)
		}
	}
	rng := rand.New(rand.NewPCG(9, 10))
	for _, n := range []int{4, 100} {
		for _, name := range names {
			x, _ := expected(rng, name, draw[float64](rng, n, n, n))
			none(name, n, func() { doubles(impl).run(name, x) })
		}
	}
	for _, name := range complexNames {
		x, r := complexCalls(rng, name)[0], complexDoubles(impl)
		none("complex "+name, x.n, func() { r.run(name, x) })
	}
	const order = 800
	x, y, z := make([]float64, order*order), make([]float64, order), filledComplex(rng, 40*40)
	none("gemv", order, func() { impl.Dgemv(NoTrans, order, order, 1, x, order, x, 1, 0, y, 1) })
	none("symv", order/2, func() { impl.Dsymv(blas.Upper, order/2, 1, x, order, x, 2, 1, y, -2) })
	none("zgemm", 40, func() { impl.Zgemm(NoTrans, NoTrans, 40, 40, 40, 1, z, 40, z, 40, 0, z, 40) })
	for _, n := range []int{2, 12, 64, 300} {
		a, c := gemm.NewMatrix[float32](n, n), gemm.NewMatrix[float32](n, n)
		h, x := gemm.NewMatrix[fp16.BF16](n, n), gemm.NewMatrix[fp16.BF16](n, n)
		z, y := gemm.NewMatrix[complex64](n, n), gemm.NewMatrix[complex64](n, n)
		none("Multiply", n, func() {
			gemmtest.Must(t, errors.Join(Multiply(c, a, a), Gemm(NoTrans, Trans, 2, a, a, 1, c),
				Multiply(x, h, h), Multiply(y, z, z)))
		})
		for _, workers := range []int{1, 2} {
			p, err := NewPlan(Problem[float32]{M: n, N: n, K: n, Alpha: 1, Workers: workers})
			gemmtest.Must(t, err)
			const count = 5
			x, c := make([]float32, count*n*n), make([]float32, count*n*n)
			var as, cs [][]float32
			for i := range count {
				as, cs = append(as, x[i*n*n:]), append(cs, c[i*n*n:])
			}
			none("Plan", n, func() {
				gemmtest.Must(t, errors.Join(p.Multiply(x, x, c), p.Batch(as, as, cs),
					p.BatchStrided(count, x, n*n, x, n*n, c, n*n)))
			})
		}
	}
}

// TestConcurrent calls one Implementation from many goroutines, with several numbers of workers.
func TestConcurrent(t *testing.T) {
	const n, order = 40, 800
	a, x, y := filledComplex(rand.New(rand.NewPCG(3, 4)), n*n), make([]float64, order*order), make([]float64, order)
	for i := range y {
		x[i*order+i], y[i] = 1, float64(i)
	}
	for _, workers := range []int{-1, 1, 3} {
		impl := Implementation{Workers: workers}
		want := make([]complex128, n*n)
		impl.Zgemm(NoTrans, NoTrans, n, n, n, 1, a, n, a, n, 0, want, n)
		var group sync.WaitGroup
		for g := range 16 {
			group.Go(func() {
				rng := rand.New(rand.NewPCG(12, uint64(g)))
				name := names[g%len(names)]
				got, after := expected(rng, name, draw[float64](rng, 90, 110, 70))
				doubles(impl).run(name, got)
				if where := differ(got, after); where != "" {
					t.Errorf("%d workers: %s %v: %s", workers, name, got, where)
				}
				c, z := make([]complex128, n*n), make([]float64, order)
				impl.Zgemm(NoTrans, NoTrans, n, n, n, 1, a, n, a, n, 0, c, n)
				impl.Dgemv(Trans, order, order, 1, x, order, y, 1, 0, z, 1)
				if !slices.Equal(c, want) || !slices.Equal(z, y) {
					t.Errorf("%d workers: a product differs from the one before", workers)
				}
			})
		}
		group.Wait()
	}
}
