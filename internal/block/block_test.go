package block

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"

	"gemm/gemmtest"
	"gemm/gf256"
	"gemm/internal/cpu"
	"gemm/internal/kernel"
)

func TestInstructionSets(t *testing.T) { gemmtest.InstructionSets(t, ".") }

// goroutines is a Loop of three workers.
var goroutines = roundRobin(3)

// loops returns the loops that the products of a test run on. With the race detector, the loop on the
// caller alone is left out: it has no races.
func loops() map[string]Loop {
	all := map[string]Loop{"serial": Serial, "goroutines": goroutines}
	if gemmtest.Raced {
		delete(all, "serial")
	}
	return all
}

// roundRobin is the Loop of some workers.
type roundRobin int

func (d roundRobin) Workers() int { return int(d) }
func (roundRobin) Ready() bool    { return true }

// RunOwn is Run.
func (d roundRobin) RunOwn(workers, n int, body func(worker, lo, hi int)) { d.Run(workers, n, body) }

// Run gives chunks of three to goroutines, round robin.
func (roundRobin) Run(workers, n int, body func(worker, lo, hi int)) {
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for lo := 3 * w; lo < n; lo += 3 * workers {
				body(w, lo, min(lo+3, n))
			}
		})
	}
	group.Wait()
}

// matrix returns a rows×cols matrix of small integers with the given stride, and
// its view.
func matrix[T kernel.Float](rows, cols, stride int, transposed bool) View[T] {
	v := View[T]{make([]T, max(0, (rows-1)*stride+cols)), stride, 1}
	if transposed {
		v = View[T]{make([]T, max(0, (cols-1)*stride+rows)), 1, stride}
	}
	for i := range v.Data {
		v.Data[i] = T(math.NaN()) // between the rows
	}
	for i := range rows {
		for l := range cols {
			v.Data[i*v.Row+l*v.Col] = T((3*i+5*l)%11 - 5)
		}
	}
	return v
}

// naive returns the m×n elements of a product.
func naive[T kernel.Float](m, n, k int, a, b View[T]) []T {
	c := make([]T, m*n)
	for at := range c {
		for l := range k {
			c[at] += a.Data[at/n*a.Row+l*a.Col] * b.Data[l*b.Row+at%n*b.Col]
		}
	}
	return c
}

func testGemm[T kernel.Float](t *testing.T, blocking Blocking, loop Loop) {
	e := New(kernel.Best[T](), blocking, loop)
	for _, shape := range [][3]int{{0, 3, 3}, {3, 0, 3}, {3, 3, 0}, {1, 1, 1}, {2, 4, 8}, {3, 5, 7}, {4, 9, 13},
		{17, 23, 9}, {31, 16, 33}, {50, 110, 30}, {9, 150, 20}, {70, 20, 20}, {35, 49, 60}, {9, 33, 70}, {40, 1, 80},
		{10, 97, 120}} {
		m, n, k := shape[0], shape[1], shape[2]
		for trans := range 4 {
			a := matrix[T](m, k, max(m, k)+2, trans&1 != 0)
			b := matrix[T](k, n, max(k, n)+3, trans&2 != 0)
			product := naive(m, n, k, a, b)
			for _, scalars := range [][2]T{{1, 0}, {1, 1}, {-2, 0.5}, {0, 2}, {0, 0}} {
				alpha, beta := scalars[0], scalars[1]
				c := matrix[T](m, n, n+5, false)
				want := matrix[T](m, n, n+5, false)
				for i, sum := range product {
					at := i/n*c.Row + i%n
					want.Data[at] = alpha*sum + beta*want.Data[at]
					if beta == 0 {
						c.Data[at] = T(math.NaN())
					}
				}
				gemmtest.Must(t, e.Gemm(t.Context(), m, n, k, alpha, a, b, beta, c))
				for i, x := range c.Data {
					if !(x == want.Data[i]) && !(math.IsNaN(float64(x)) && math.IsNaN(float64(want.Data[i]))) {
						t.Fatalf("%v trans=%d α=%v β=%v: element %d is %v, want %v", shape, trans, alpha, beta, i, x, want.Data[i])
					}
				}
			}
		}
	}
}

func TestGemm(t *testing.T) {
	for name, loop := range loops() {
		for _, blocking := range []Blocking{{1, 1, 1, 0, 1}, {2, 3, 4, 0, 1}, {5, 7, 9, 0, 1}, {40, 7, 60, 0, 1},
			{64, 64, 64, 0, 1}, {64, 64, 64, 1 << 20, 1}} {
			t.Run(fmt.Sprintf("%s/%v/f32", name, blocking), func(t *testing.T) { testGemm[float32](t, blocking, loop) })
			t.Run(fmt.Sprintf("%s/%v/f64", name, blocking), func(t *testing.T) { testGemm[float64](t, blocking, loop) })
		}
	}
}

// TestWorkspace compares the buffers that products hold with what Workspace and SumWorkspace say.
func TestWorkspace(t *testing.T) {
	for _, shape := range [][3]int{{0, 1, 1}, {1, 1, 1}, {5, 6, 7}, {40, 50, 60}, {200, 3, 100}, {100, 200, 3}} {
		m, n, k := shape[0], shape[1], shape[2]
		check := func(e *Engine[float64], want int, err error) {
			gemmtest.Must(t, err)
			own := e.take()
			held := cap(own.a) + cap(own.product)
			for _, w := range own.workers {
				held += cap(w.b) + cap(w.x)
			}
			if held != want {
				t.Errorf("%v: holds %d elements, want %d", shape, held, want)
			}
		}
		for _, direct := range []int{0, 1000} {
			e := New(kernel.Best[float64](), Blocking{32, 24, 40, direct, 50000}, goroutines)
			a, b, c := make([]float64, m*k), make([]float64, k*n), make([]float64, m*n)
			check(e, e.Workspace(m, n, k), e.Gemm(t.Context(), m, n, k, 1, View[float64]{a, k, 1}, View[float64]{b, n, 1},
				0, View[float64]{c, n, 1}))
		}
		if m > 0 {
			e := New(kernel.Best[float64](), Blocking{32, 24, 40, 0, 50000}, goroutines)
			check(e, e.SumWorkspace(m, n, k), e.Sum(t.Context(), m, n, k, terms[float64](2, m, k),
				terms[float64](2, k, n), terms[float64](2, m, n), false))
		}
	}
}

// products returns products of every engine, with small blocks.
func products() map[string]func(ctx context.Context) error {
	const n = 40
	e, field := New(kernel.Best[float64](), Blocking{8, 8, 8, 0, 1}, Serial), NewField(kernel.BestField(), narrow, Serial)
	x, c := View[float64]{make([]float64, n*n), n, 1}, View[float64]{make([]float64, n*n), n, 1}
	two, three, sums := terms[float64](2, n, n), terms[float64](3, n, n), terms[float64](2, n, n)
	y, z := make([]gf256.Elem, 100*n*n), make([]gf256.Elem, 100*n*n)
	return map[string]func(ctx context.Context) error{
		"Gemm":  func(ctx context.Context) error { return e.Gemm(ctx, n, n, n, 1, x, x, 0, c) },
		"Sum":   func(ctx context.Context) error { return e.Sum(ctx, n, n, n, two, three, sums, false) },
		"Field": func(ctx context.Context) error { return field.Multiply(ctx, 5, 100*n, n-10, y, n, y, 100*n, z, 100*n) },
	}
}

// TestAllocations: an engine allocates nothing after its first product.
func TestAllocations(t *testing.T) {
	for name, product := range products() {
		var err error
		ctx := t.Context()
		if allocs := testing.AllocsPerRun(5, func() { err = errors.Join(err, product(ctx)) }); allocs != 0 || err != nil {
			t.Errorf("%s: %v allocations a product, error %v", name, allocs, err)
		}
	}
}

// TestCancelled cancels products at each of their checks.
func TestCancelled(t *testing.T) {
	for name, product := range products() {
		t.Run(name, func(t *testing.T) {
			ctx := gemmtest.NewCountdown(t.Context(), 1<<30)
			gemmtest.Must(t, product(ctx))
			checks := 1<<30 - ctx.Left()
			if checks < 5 {
				t.Errorf("%d checks", checks)
			}
			gemmtest.CancelAt(t, checks, 12, product)
		})
	}
}

func TestFit(t *testing.T) {
	tests := []struct {
		caches       Caches
		size, mr, nr int
		want         Blocking
	}{
		{DefaultCaches, 8, 2, 4, Blocking{256, 512, 32, 80 * 80 * 80, 128 * 128 * 128}},
		{DefaultCaches, 4, 8, 48, Blocking{1560, 168, 192, 80 * 80 * 80, 128 * 128 * 128}},
		{Caches{32 << 10, 512 << 10, 16 << 20}, 8, 4, 12, Blocking{1536, 512, 60, 80 * 80 * 80, 128 * 128 * 128}},
		{Caches{32 << 10, 1 << 20, 16 << 20}, 8, 8, 24, Blocking{3072, 256, 240, 80 * 80 * 80, 128 * 128 * 128}},
		{Caches{48 << 10, 2 << 20, 32 << 20}, 8, 8, 24, Blocking{2048, 384, 336, 80 * 80 * 80, 128 * 128 * 128}},
		{Caches{}, 8, 2, 4, Blocking{8, 64, 16, 80 * 80 * 80, 128 * 128 * 128}},
	}
	for _, test := range tests {
		if got := Fit(test.caches, test.size, test.mr, test.nr); got != test.want {
			t.Errorf("Fit(%v, %d, %d, %d) is %v, want %v", test.caches, test.size, test.mr, test.nr, got, test.want)
		}
	}
}

func TestCaches(t *testing.T) {
	tests := map[string]struct {
		levels []cpu.Cache
		want   Caches
	}{
		"unknown": {nil, DefaultCaches},
		"shared": {
			[]cpu.Cache{{Level: 1, Bytes: 48 << 10, Shared: 2}, {Level: 2, Bytes: 2 << 20},
				{Level: 3, Bytes: 32 << 20, Shared: 16}},
			Caches{24 << 10, 2 << 20, 2 << 20},
		},
		"no L3": {[]cpu.Cache{{Level: 1, Bytes: 64 << 10}, {Level: 2, Bytes: 1 << 20}}, Caches{64 << 10, 1 << 20, 2 << 20}},
	}
	for name, test := range tests {
		if got := cachesOf(test.levels); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestPieces(t *testing.T) {
	for n := 1; n < 60; n++ {
		for most := 1; most < 20; most++ {
			for _, step := range []int{1, 2, 3} {
				size := pieces(n, most, step)
				if size < 1 || size > (most+step-1)/step*step {
					t.Errorf("pieces(%d, %d, %d) is %d", n, most, step, size)
				}
				if count := (n + most - 1) / most; (n+size-1)/size > count {
					t.Errorf("pieces(%d, %d, %d) is %d: more than %d pieces", n, most, step, size, count)
				}
			}
		}
	}
}
