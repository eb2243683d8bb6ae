package parallel

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"gemm"
	"gemm/compare/optional"
	"gemm/gf256"
	"gemm/internal/gemmtest"
)

// nonFinite says what the variants do with NaN and Inf that do not propagate them.
var nonFinite = map[string]gemmtest.NonFinite{"parallel/strassen": gemmtest.Spreads}

// TestThreadsAreLimited checks that more workers than fit in memory are an error.
func TestThreadsAreLimited(t *testing.T) {
	for _, v := range Variants() {
		for _, threads := range []int{0, mostThreads + 1, math.MaxInt} {
			if _, err := gemm.New[float64](v, gemm.Params{"threads": threads}); !errors.Is(err, gemm.ErrParam) {
				t.Errorf("%s with %d threads: got %v, want %v", v.Name, threads, err, gemm.ErrParam)
			}
		}
	}
}

// TestUnalignedAdd adds to a float64 at a multiple of 4 bytes, as 32-bit systems have it.
func TestUnalignedAdd(t *testing.T) {
	var sum *float64
	if unsafe.Alignof(*sum) == 8 {
		t.Skip("this system aligns to 8 bytes")
	}
	words := make([]uint32, 4)
	sum = (*float64)(unsafe.Pointer(&words[1]))
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for range 1000 {
				atomicAdd(sum, 2)
			}
		})
	}
	all.Wait()
	if *sum != 6000 {
		t.Errorf("the sum is %v, want 6000", *sum)
	}
}

func TestVariants(t *testing.T) {
	counts := []int{1, 3}
	if gemmtest.Raced {
		counts = counts[1:] // one thread has none to race with
	}
	for _, v := range Variants() {
		for _, threads := range counts {
			t.Run(fmt.Sprintf("%s/threads=%d", v.Name, threads), func(t *testing.T) {
				gemmtest.Suite{NonFinite: nonFinite[v.Name]}.Run(t, v, gemm.Params{"threads": threads})
			})
		}
	}
}

// TestLocalTypes checks that a local variant without the type is an error.
func TestLocalTypes(t *testing.T) {
	for _, v := range []gemm.Variant{rowsVariant(), tilesVariant()} {
		if m, err := gemm.New[gf256.Elem](v, gemm.Params{"local": "serial/hinted"}); m != nil ||
			!errors.Is(err, gemm.ErrType) {
			t.Errorf("%s: %v, %v", v.Name, m, err)
		}
		gemmtest.Run(t, v, gemm.Params{"threads": 2, "local": "serial/blocked", "schedule": guided, "chunk": 3})
		gemmtest.Run(t, v, gemm.Params{"threads": 2, "local": "serial/packed", "schedule": auto})
	}
}

// TestLoads runs the suite under an artificial load.
func TestLoads(t *testing.T) {
	for _, v := range []gemm.Variant{rowsVariant(), tilesVariant()} {
		v.F32, v.F64, v.GF256 = loaded(v.F32), loaded(v.F64), loaded(v.GF256)
		gemmtest.Run(t, v, gemm.Params{"threads": 2, "schedule": guided, "chunk": 3})
	}
}

// loaded returns the constructor of multipliers under an artificial load.
func loaded[T gemm.Element](f func(gemm.Params) (gemm.Multiplier[T], error)) func(gemm.Params) (gemm.Multiplier[T], error) {
	return func(p gemm.Params) (gemm.Multiplier[T], error) {
		m, err := f(p)
		if err != nil {
			return nil, err
		}
		return m.(optional.Loadable[T]).Loaded(2), nil
	}
}

// TestCutoffs runs the suite with products that are halved several times.
func TestCutoffs(t *testing.T) {
	for _, cutoff := range []int{2, 7} {
		t.Run(fmt.Sprint(cutoff), func(t *testing.T) {
			gemmtest.Suite{NonFinite: gemmtest.Spreads}.Run(t, strassenVariant(), gemm.Params{"threads": 3, "cutoff": cutoff})
		})
	}
}

// TestRan checks which variant is said to compute products below and above the cutoff.
func TestRan(t *testing.T) {
	p := gemm.Params{"cutoff": 64}
	below, above := strassenVariant().Ran(gemm.Cube(64), p), strassenVariant().Ran(gemm.Cube(65), p)
	if below != packedVariant().Name || above != "" {
		t.Errorf("%q at the cutoff and %q above it", below, above)
	}
}

// TestPackedFieldShares compares products in GF(2⁸) by several workers with the product of one:
// parities of long shards, and matrices of many rows and few columns.
func TestPackedFieldShares(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, shape := range [][3]int{{4, 150_001, 10}, {50, 20_000, 20}, {900, 100, 120}} {
		m, n, k := shape[0], shape[1], shape[2]
		a, b := gemm.NewMatrix[gf256.Elem](m, k), gemm.NewMatrix[gf256.Elem](k, n)
		for _, x := range [][]gf256.Elem{a.Data, b.Data} {
			for i := range x {
				x[i] = gf256.New(uint8(rng.Uint32()))
			}
		}
		var want gemm.Matrix[gf256.Elem]
		for _, threads := range []int{1, 2, 5} {
			x, err := gemm.New[gf256.Elem](packedVariant(), gemm.Params{"threads": threads})
			if err != nil {
				t.Fatal(err)
			}
			c := gemm.NewMatrix[gf256.Elem](m, n)
			if err := x.Multiply(t.Context(), c, a, b); err != nil {
				t.Fatal(err)
			}
			if threads == 1 {
				want = c
			}
			if !slices.Equal(c.Data, want.Data) {
				t.Errorf("%v: %d threads differ from one", shape, threads)
			}
		}
	}
}

// TestStrassenShares compares products that are large enough for several workers with the product
// of one, bit for bit.
func TestStrassenShares(t *testing.T) {
	const m, n, k = 410, 395, 421
	rng := rand.New(rand.NewPCG(1, 2))
	a, b := gemm.NewMatrix[float64](m, k), gemm.NewMatrix[float64](k, n)
	for _, x := range [][]float64{a.Data, b.Data} {
		for i := range x {
			x[i] = 2*rng.Float64() - 1
		}
	}
	var want gemm.Matrix[float64]
	for _, threads := range []int{1, 2, 5} {
		x, err := gemm.New[float64](strassenVariant(), gemm.Params{"threads": threads, "cutoff": 60})
		if err != nil {
			t.Fatal(err)
		}
		c := gemm.NewMatrix[float64](m, n)
		if err := x.Multiply(t.Context(), c, a, b); err != nil {
			t.Fatal(err)
		}
		if threads == 1 {
			want = c
		} else if !slices.Equal(c.Data, want.Data) {
			t.Errorf("%d threads have another result than one", threads)
		}
	}
}

func FuzzVariants(f *testing.F) { gemmtest.Fuzz(f, Variants()) }

// runs are the loops of a pool whose chunks, but for the first, go to who is free.
var runs = map[string]func(p *Pool, workers, n int, body func(worker, lo, hi int)){
	"Run": (*Pool).Run, "RunOwn": (*Pool).RunOwn,
}

// TestRun checks that every index is computed exactly once, and that no worker is in two calls at a
// time.
func TestRun(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for name, run := range runs {
		for _, workers := range []int{1, 2, 3, 16} {
			p := NewPool(workers)
			for _, n := range []int{0, 1, 2, 15, 1000} {
				for _, fewer := range []int{1, 2, workers, workers + 1} {
					counts := make([]atomic.Int32, n)
					inside := make([]atomic.Int32, workers)
					run(p, fewer, n, func(worker, lo, hi int) {
						if worker >= min(fewer, workers) {
							t.Errorf("%s: worker %d of %d", name, worker, min(fewer, workers))
						}
						if inside[worker].Add(1) != 1 {
							t.Errorf("%s: worker %d is in two calls", name, worker)
						}
						for i := lo; i < hi; i++ {
							counts[i].Add(1)
						}
						inside[worker].Add(-1)
					})
					for i := range counts {
						if got := counts[i].Load(); got != 1 {
							t.Fatalf("%s: %d workers: index %d of %d was run %d times", name, fewer, i, n, got)
						}
					}
				}
			}
		}
	}
}

// TestRunOwn checks that each worker begins with its own share, and that the others take over what
// a late worker has not begun.
func TestRunOwn(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	p := NewPool(3)
	for round := range 20 {
		var begun sync.WaitGroup
		begun.Add(3)
		var rest atomic.Int32 // indices that others than the late worker have computed
		done := make(chan struct{})
		var first [3]string
		p.RunOwn(3, 26, func(worker, lo, hi int) {
			if first[worker] == "" {
				first[worker] = fmt.Sprintf("%d:%d", lo, hi)
				begun.Done()
				begun.Wait()
				if worker == 1 {
					<-done
					return
				}
			}
			if rest.Add(int32(hi-lo)) == 26-5 {
				close(done)
			}
		})
		if want := [3]string{"0:5", "9:14", "18:22"}; first != want {
			t.Fatalf("round %d: workers begin with %v, want %v", round, first, want)
		}
	}
}

// TestRunAtOnce has several pools run loops at the same time, each within a loop of
// another one.
func TestRunAtOnce(t *testing.T) {
	var total atomic.Int64
	NewPool(4).Run(4, 20, func(_, lo, hi int) {
		inner := NewPool(3)
		for range 20 * (hi - lo) {
			inner.Run(3, 10, func(_, lo, hi int) { total.Add(int64(hi - lo)) })
		}
	})
	if got := total.Load(); got != 20*20*10 {
		t.Errorf("%d calls, want %d", got, 20*20*10)
	}
}

// TestRunPanics checks that the caller gets the panic of a body, and that the pool still works.
func TestRunPanics(t *testing.T) {
	p := NewPool(3)
	for name, run := range runs {
		for round := range 5 {
			func() {
				defer func() {
					if got, ok := recover().(*Panic); !ok || got.Value != "in the body" {
						t.Errorf("%s: recovered %v", name, got)
					}
				}()
				run(p, 3, 100, func(_, lo, hi int) {
					if lo <= 50 && 50 < hi {
						panic("in the body")
					}
				})
				t.Errorf("%s: no panic", name)
			}()
			var calls atomic.Int32
			run(p, 3, 10, func(_, lo, hi int) { calls.Add(int32(hi - lo)) })
			if got := calls.Load(); got != 10 {
				t.Errorf("%s, round %d: %d calls after the panic, want 10", name, round, got)
			}
		}
	}
}

// TestRunPanicEnds has a runner that is all workers panic as the first of them.
func TestRunPanicEnds(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	p := NewPool(4)
	for name, run := range runs {
		calls := 0
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			run(p, 4, 100, func(int, int, int) {
				calls++
				panic("in the body")
			})
		}()
		if calls != 1 {
			t.Errorf("%s: %d calls, want the one that panicked", name, calls)
		}
	}
}

// TestRunSleeps alternates between loops in which the caller and the workers wait long enough to
// park, and loops in which nobody parks.
func TestRunSleeps(t *testing.T) {
	if workers := 3; runtime.GOMAXPROCS(0) < workers {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(workers))
	}
	const long = 20 * time.Millisecond // much longer than one looks
	pool := NewPool(3)
	for loop := range 40 {
		var calls [3]atomic.Int32
		err := pool.For(t.Context(), 3, Static(0), func(_, lo, hi int) {
			for i := lo; i < hi; i++ {
				calls[i].Add(1)
				if (i+loop)%4 == 0 {
					time.Sleep(long)
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range calls {
			if n := calls[i].Load(); n != 1 {
				t.Fatalf("loop %d: index %d was computed %d times", loop, i, n)
			}
		}
		if loop%8 == 0 {
			time.Sleep(long)
		}
	}
}

// BenchmarkRun measures an empty loop: the cost of sharing work.
func BenchmarkRun(b *testing.B) {
	for _, workers := range []int{1, 2, 4} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			p := NewPool(workers)
			body := func(_, _, _ int) {}
			for b.Loop() {
				p.Run(workers, workers, body)
			}
		})
	}
}

// BenchmarkPacked measures products on one and on two workers.
func BenchmarkPacked(b *testing.B) {
	for _, n := range []int{64, 96, 128, 192, 256, 512, 1024, 2048} {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("n=%d/threads=%d", n, threads), func(b *testing.B) {
				m, err := gemm.New[float64](packedVariant(), gemm.Params{"threads": threads})
				if err != nil {
					b.Fatal(err)
				}
				x, y, c := gemm.NewMatrix[float64](n, n), gemm.NewMatrix[float64](n, n), gemm.NewMatrix[float64](n, n)
				b.ReportAllocs()
				for b.Loop() {
					if err := m.Multiply(b.Context(), c, x, y); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(2*float64(n)*float64(n)*float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}
