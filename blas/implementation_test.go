package blas

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/gemmtest"
)

// testNonFinite puts a NaN or an Inf into operands without zeros and expects them
// to go where the arithmetic takes them, and nowhere else.
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
			for _, data := range [][]T{x.a, x.b} {
				for i := range data {
					if data[i] == 0 {
						data[i] = 3
					}
				}
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

// TestSolveNaN puts a NaN into the right-hand side of a triangular system: it is in
// those unknowns that depend on it and in no other.
func TestSolveNaN(t *testing.T) {
	const n, k = 70, 40
	for _, ul := range []blas.Uplo{blas.Upper, blas.Lower} {
		for row := 0; row < n; row += 5 {
			column := row * 7 % k
			a, x := make([]float64, n*n), make([]float64, n*k)
			for i := range a {
				a[i] = 1
			}
			for i := range n {
				for j := range k {
					// The product of a triangle of ones with a matrix of ones.
					x[i*k+j] = float64(i + 1)
					if ul == blas.Upper {
						x[i*k+j] = float64(n - i)
					}
				}
			}
			x[row*k+column] = math.NaN()
			impl.Dtrsm(blas.Left, ul, blas.NoTrans, blas.NonUnit, n, k, 1, a, n, x, k)
			for i := range n {
				for j := range k {
					depends := j == column && (i == row || (i > row) == (ul == blas.Lower))
					if got := x[i*k+j]; depends != math.IsNaN(got) || !depends && got != 1 {
						t.Fatalf("%c, NaN in (%d, %d): X(%d, %d) is %v", ul, row, column, i, j, got)
					}
				}
			}
		}
	}
}

// TestZerosAreNotSkipped multiplies zeros by NaN, in products of every size.
func TestZerosAreNotSkipped(t *testing.T) {
	for _, n := range []int{1, 2, 8, 31, 64, 100} {
		a, b, c := make([]float64, n*n), make([]float64, n*n), make([]float64, n*n)
		b[0] = math.NaN()
		impl.Dgemm(blas.NoTrans, blas.NoTrans, n, n, n, 1, a, n, b, n, 0, c, n)
		for i := range n {
			for j := range n {
				if nan := math.IsNaN(c[i*n+j]); nan != (j == 0) {
					t.Fatalf("n=%d: C(%d, %d) is %v where B(0, 0) is NaN and all else 0", n, i, j, c[i*n+j])
				}
			}
		}
	}
}

// TestConcurrent solves and multiplies from several goroutines at a time.
func TestConcurrent(t *testing.T) {
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(8, uint64(g)))
			for i := range 12 {
				got, want := expected(rng, names[i%len(names)], draw[float64](rng, 90, 80, 70))
				doubles(impl).run(names[i%len(names)], got)
				if where := differ(got, want); where != "" {
					t.Errorf("%s %v: %s", names[i%len(names)], got, where)
					return
				}
			}
		})
	}
	group.Wait()
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
		w := double.borrow(0)
		if w.workers != workers {
			t.Errorf("GOMAXPROCS is %d, the workspace has %d workers", workers, w.workers)
		}
		w.giveBack()
	}
}

func TestAllocations(t *testing.T) {
	if gemmtest.Raced {
		t.Skip("the race detector makes sync.Pool forget")
	}
	rng := rand.New(rand.NewPCG(9, 10))
	for _, n := range []int{4, 100} {
		for _, name := range names {
			x, _ := expected(rng, name, draw[float64](rng, n, n, n))
			r := doubles(impl)
			if allocations := testing.AllocsPerRun(20, func() { r.run(name, x) }); allocations != 0 {
				t.Errorf("%s n=%d: %v allocations, want none", name, n, allocations)
			}
		}
	}
}
