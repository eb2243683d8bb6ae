package pool

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gemm/gemmtest"
)

// runs are the loops of a pool that give all chunks but the first to free workers.
var runs = map[string]func(p *Pool, workers, n int, body func(worker, lo, hi int)){
	"Run": (*Pool).Run, "RunOwn": (*Pool).RunOwn,
}

// TestRun checks that every index is computed exactly once, and that no worker is in two calls at a
// time.
func TestRun(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for name, run := range runs {
		for _, workers := range []int{1, 2, 3, 16} {
			p := New(workers)
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

// TestRunOwn checks that each worker begins with its own share, and that the others steal the chunks that
// a late worker has not begun.
func TestRunOwn(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	p := New(3)
	for round := range 20 {
		var begun sync.WaitGroup
		begun.Add(3)
		var rest atomic.Int32 // indices that the other workers have computed
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
	New(4).Run(4, 20, func(_, lo, hi int) {
		inner := New(3)
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
	p := New(3)
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
	p := New(4)
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
// park, and loops in which none parks.
func TestRunSleeps(t *testing.T) {
	if workers := 3; runtime.GOMAXPROCS(0) < workers {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(workers))
	}
	const long = 20 * time.Millisecond // much longer than a runner spins
	pool := New(3)
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
		gemmtest.Must(t, err)
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
			p := New(workers)
			body := func(_, _, _ int) {}
			for b.Loop() {
				p.Run(workers, workers, body)
			}
		})
	}
}
