package block

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"gemm/gemmtest"
	"gemm/internal/cpu"
	"gemm/internal/kernel"
)

func TestInstructionSets(t *testing.T) { gemmtest.InstructionSets(t, ".") }

// goroutines is a Loop of three workers.
var goroutines = dealtTo(3)

// loops returns the loops that the products of a test run on. With the race detector, the loop on the
// caller alone is left out: it has no races.
func loops() map[string]Loop {
	all := map[string]Loop{"serial": Serial, "goroutines": goroutines}
	if gemmtest.Raced {
		delete(all, "serial")
	}
	return all
}

// dealtTo is the Loop of some workers.
type dealtTo int

func (d dealtTo) Workers() int { return int(d) }
func (dealtTo) Ready() bool    { return true }

// RunOwn is Run.
func (d dealtTo) RunOwn(workers, n int, body func(worker, lo, hi int)) { d.Run(workers, n, body) }

// Run deals chunks of three to goroutines.
func (dealtTo) Run(workers, n int, body func(worker, lo, hi int)) {
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

func testGemm[T kernel.Float](t *testing.T, blocking Blocking, loop Loop) {
	e := New(kernel.Best[T](), blocking, loop)
	for _, shape := range [][3]int{{0, 3, 3}, {3, 0, 3}, {3, 3, 0}, {1, 1, 1}, {2, 4, 8}, {3, 5, 7}, {4, 9, 13},
		{17, 23, 9}, {31, 16, 33}, {50, 110, 30}, {9, 150, 20}, {70, 20, 20}, {35, 49, 60}, {9, 33, 70}, {40, 1, 80},
		{10, 97, 120}} {
		m, n, k := shape[0], shape[1], shape[2]
		for trans := range 4 {
			a := matrix[T](m, k, max(m, k)+2, trans&1 != 0)
			b := matrix[T](k, n, max(k, n)+3, trans&2 != 0)
			for _, scalars := range [][2]T{{1, 0}, {1, 1}, {-2, 0.5}, {0, 2}, {0, 0}} {
				alpha, beta := scalars[0], scalars[1]
				c := matrix[T](m, n, n+5, false)
				want := matrix[T](m, n, n+5, false)
				for i := range m {
					for j := range n {
						var sum T
						for l := range k {
							sum += a.Data[i*a.Row+l*a.Col] * b.Data[l*b.Row+j*b.Col]
						}
						at := i*c.Row + j
						want.Data[at] = alpha*sum + beta*want.Data[at]
						if beta == 0 {
							c.Data[at] = T(math.NaN())
						}
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

func TestWorkspace(t *testing.T) {
	for _, shape := range [][3]int{{0, 1, 1}, {1, 1, 1}, {5, 6, 7}, {40, 50, 60}, {200, 3, 100}, {100, 200, 3}} {
		for _, direct := range []int{0, 1000} {
			e := New(kernel.Best[float64](), Blocking{32, 24, 40, direct, 50000}, goroutines)
			m, n, k := shape[0], shape[1], shape[2]
			a, b, c := make([]float64, m*k), make([]float64, k*n), make([]float64, m*n)
			if err := e.Gemm(t.Context(), m, n, k, 1, View[float64]{a, k, 1}, View[float64]{b, n, 1}, 0,
				View[float64]{c, n, 1}); err != nil {
				t.Fatal(err)
			}
			own := e.take()
			held := cap(own.a)
			for _, w := range own.workers {
				held += cap(w.b) + cap(w.x)
			}
			if want := e.Workspace(m, n, k); held != want {
				t.Errorf("%v: holds %d elements, Workspace says %d", shape, held, want)
			}
		}
	}
}

func TestAllocations(t *testing.T) {
	e := New(kernel.Best[float64](), Blocking{16, 16, 16, 0, 1}, Serial)
	const n = 40
	x := View[float64]{make([]float64, n*n), n, 1}
	c := make([]float64, n*n)
	ctx := t.Context()
	if allocs := testing.AllocsPerRun(10,
		func() { _ = e.Gemm(ctx, n, n, n, 1, x, x, 0, View[float64]{c, n, 1}) }); allocs != 0 {
		t.Errorf("%v allocations a product, want none", allocs)
	}
}

// countdown is a context that is cancelled after it has been looked at some times.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestCancelled(t *testing.T) {
	e := New(kernel.Best[float64](), Blocking{8, 8, 8, 0, 1}, Serial)
	const n = 40
	x := View[float64]{make([]float64, n*n), n, 1}
	c := make([]float64, n*n)
	gemm := func(left int) (looks int, err error) {
		ctx := &countdown{t.Context(), left}
		err = e.Gemm(ctx, n, n, n, 1, x, x, 0, View[float64]{c, n, 1})
		return left - ctx.left, err
	}
	looks, err := gemm(1 << 30)
	if err != nil || looks < n/8 {
		t.Fatalf("%d looks, %v", looks, err)
	}
	for left := range looks {
		more, err := gemm(left)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled after %d looks: got %v", left, err)
		}
		if more > left+10 {
			t.Errorf("cancelled after %d looks: went on for %d more", left, more-left)
		}
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

// TestParts checks that the parts of the first touch reach what a product uses: all of C, and the
// buffers that later hold packed blocks.
func TestParts(t *testing.T) {
	e := New(kernel.Best[float64](), Blocking{16, 8, 24, 0, 1}, Serial)
	own := e.take()
	e.give(own)
	packing, update, flops := e.Parts(50) // which take it
	if flops != 250000 {
		t.Errorf("%v operations", flops)
	}
	packing()
	update()
	if !slices.Contains(own.workers[0].b, 1) {
		t.Error("nothing is packed")
	}
	if allocs := testing.AllocsPerRun(5, func() { packing(); update() }); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func BenchmarkGemm(b *testing.B) {
	b.Run("f64", benchGemm[float64])
	b.Run("f32", benchGemm[float32])
}

func benchGemm[T kernel.Float](b *testing.B) {
	e := Host[T](Serial)
	for _, shape := range [][3]int{
		{2, 2, 2}, {4, 4, 4}, {8, 8, 8}, {16, 16, 16}, {32, 32, 32}, {48, 48, 48},
		{64, 64, 64}, {65, 65, 65}, {100, 100, 100}, {127, 127, 127}, {128, 128, 128}, {256, 256, 256}, {257, 257, 257},
		{512, 512, 512}, {1000, 1000, 1000}, {1024, 1024, 1024}, {2048, 2048, 2048}, {4096, 4096, 4096},
		{4096, 4096, 16}, {16, 4096, 4096}, {4096, 16, 4096}, {8192, 64, 64}, {64, 64, 8192}, {1, 4096, 4096},
	} {
		b.Run(fmt.Sprintf("%dx%dx%d", shape[0], shape[1], shape[2]), func(b *testing.B) {
			m, n, k := shape[0], shape[1], shape[2]
			x, y, c := filled[T](m*k), filled[T](k*n), filled[T](m*n)
			for b.Loop() {
				gemmtest.Must(b, e.Gemm(b.Context(), m, n, k, 1, View[T]{x, k, 1}, View[T]{y, n, 1}, 0, View[T]{c, n, 1}))
			}
			b.ReportMetric(float64(b.N)*2*float64(m)*float64(n)*float64(k)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

// filled returns n small numbers, on huge pages where the system gives them.
func filled[T kernel.Float](n int) []T {
	x := make([]T, n)
	cpu.HugePages(unsafe.Pointer(unsafe.SliceData(x)), uintptr(n)*unsafe.Sizeof(x[0]))
	for i := range x {
		x[i] = T(i%13) - 6
	}
	return x
}
