package parallel

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"gemm"
	"gemm/internal/gemmtest"
)

func TestVariants(t *testing.T) {
	for _, v := range Variants() {
		for _, threads := range []int{1, 2, 3, 8} {
			t.Run(fmt.Sprintf("%s/threads=%d", v.Name, threads), func(t *testing.T) {
				t.Parallel()
				gemmtest.Run(t, v, gemm.Params{"threads": threads})
			})
		}
	}
}

func FuzzVariants(f *testing.F) { gemmtest.Fuzz(f, Variants()) }

// TestRun wants every index exactly once, and no worker in two calls at a time.
func TestRun(t *testing.T) {
	for _, workers := range []int{1, 2, 3, 16} {
		p := NewPool(workers)
		for _, n := range []int{0, 1, 2, 15, 1000} {
			for _, fewer := range []int{1, 2, workers, workers + 1} {
				counts := make([]atomic.Int32, n)
				inside := make([]atomic.Int32, workers)
				p.Run(fewer, n, func(worker, i int) {
					if worker >= min(fewer, workers) {
						t.Errorf("worker %d of %d", worker, min(fewer, workers))
					}
					if inside[worker].Add(1) != 1 {
						t.Errorf("worker %d is in two calls", worker)
					}
					counts[i].Add(1)
					inside[worker].Add(-1)
				})
				for i := range counts {
					if got := counts[i].Load(); got != 1 {
						t.Fatalf("%d workers: index %d of %d was run %d times", fewer, i, n, got)
					}
				}
			}
		}
	}
}

// TestRunAtOnce has several pools run loops at the same time, each within a loop of
// another one.
func TestRunAtOnce(t *testing.T) {
	var total atomic.Int64
	NewPool(4).Run(4, 20, func(_, _ int) {
		inner := NewPool(3)
		for range 20 {
			inner.Run(3, 10, func(_, _ int) { total.Add(1) })
		}
	})
	if got := total.Load(); got != 20*20*10 {
		t.Errorf("%d calls, want %d", got, 20*20*10)
	}
}

// TestRunPanics wants the panic of a body at the caller, and a pool that still works.
func TestRunPanics(t *testing.T) {
	p := NewPool(3)
	for round := range 5 {
		func() {
			defer func() {
				if got := recover(); got != "in the body" {
					t.Errorf("recovered %v", got)
				}
			}()
			p.Run(3, 100, func(_, i int) {
				if i == 50 {
					panic("in the body")
				}
			})
			t.Error("no panic")
		}()
		var calls atomic.Int32
		p.Run(3, 10, func(_, _ int) { calls.Add(1) })
		if got := calls.Load(); got != 10 {
			t.Errorf("round %d: %d calls after the panic, want 10", round, got)
		}
	}
}

func TestHandsAreKept(t *testing.T) {
	p := NewPool(4)
	loop := func() { p.Run(4, 100, func(_, _ int) { runtime.Gosched() }) }
	loop()
	before := runtime.NumGoroutine()
	for range 200 {
		loop()
	}
	if after := runtime.NumGoroutine(); after > before+4 {
		t.Errorf("%d goroutines, %d before", after, before)
	}
	if allocs := testing.AllocsPerRun(100, loop); allocs > 1 {
		t.Errorf("%v allocations a loop", allocs)
	}
}

// BenchmarkRun measures an empty loop: the cost of sharing work.
func BenchmarkRun(b *testing.B) {
	for _, workers := range []int{1, 2, 4} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			p := NewPool(workers)
			body := func(_, _ int) {}
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
