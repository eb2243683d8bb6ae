package pool

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

func TestRunnersAreKept(t *testing.T) {
	p := New(4)
	loop := func() { p.Run(4, 100, func(_, _, _ int) { runtime.Gosched() }) }
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

// stalled puts a runner that never begins on top of the idle ones, and returns it with a
// function that takes it away again.
func stalled(state int32) (h *runner, gone func()) {
	h = &runner{place: anywhere, waker: newWaker()}
	h.state.Store(state)
	idle.Lock()
	defer idle.Unlock()
	there := idleAt(anywhere)
	*there = append(*there, h)
	return h, func() {
		idle.Lock()
		defer idle.Unlock()
		*there = slices.DeleteFunc(*there, func(other *runner) bool { return other == h })
	}
}

// TestTakeBack checks that the caller computes what a runner has not begun, under each loop.
func TestTakeBack(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for _, state := range []int32{spinning, parked} {
		for name, run := range map[string]func(p *Pool, n int, body func(worker, lo, hi int)){
			"Run":    func(p *Pool, n int, body func(worker, lo, hi int)) { p.Run(3, n, body) },
			"RunOwn": func(p *Pool, n int, body func(worker, lo, hi int)) { p.RunOwn(3, n, body) },
			"For": func(p *Pool, n int, body func(worker, lo, hi int)) {
				if err := p.For(t.Context(), n, Static(0), body); err != nil {
					t.Error(err)
				}
			},
		} {
			h, gone := stalled(state)
			counts := make([]atomic.Int32, 100)
			run(New(3), len(counts), func(_, lo, hi int) {
				for i := lo; i < hi; i++ {
					counts[i].Add(1)
				}
			})
			for i := range counts {
				if n := counts[i].Load(); n != 1 {
					t.Fatalf("%s: index %d was run %d times", name, i, n)
				}
			}
			if h.pool != nil || h.state.Load() != spinning {
				t.Errorf("%s: the runner still has work, in state %d", name, h.state.Load())
			}
			gone()
		}
	}
}

// TestTakeBackPanics checks that the panic of the caller's own part is returned, and that nothing
// runs after it.
func TestTakeBackPanics(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	_, gone := stalled(spinning)
	defer gone()
	var calls atomic.Int32
	err := New(2).For(t.Context(), 2, Static(0), func(_, _, _ int) {
		calls.Add(1)
		panic("in the body")
	})
	if failed := new(Panic); !errors.As(err, &failed) || calls.Load() != 1 {
		t.Errorf("error %v after %d calls", err, calls.Load())
	}
}

// TestReady checks that short loops are shared while the first runner spins, and otherwise more and
// more rarely.
func TestReady(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	h, gone := stalled(parked)
	defer gone()
	p := New(2)
	sharedLoops := func(times int) (loops string) {
		for i := range times {
			if p.Ready() {
				loops += fmt.Sprint(" ", i)
			}
		}
		return loops
	}
	if got, want := sharedLoops(300), " 0 2 6 14 30 62 126 190 254"; got != want {
		t.Errorf("shared loops%s, want%s", got, want)
	}
	p.lastFirst = h
	h.state.Store(spinning)
	if got, want := sharedLoops(4), " 0 1 2 3"; got != want {
		t.Errorf("while a runner spins: shared loops%s, want%s", got, want)
	}
	h.state.Store(parked)
	if got, want := sharedLoops(4), " 0 2"; got != want {
		t.Errorf("when it has parked: shared loops%s, want%s", got, want)
	}
	if runtime.GOMAXPROCS(1); New(2).Ready() {
		t.Error("one processor is ready for two workers")
	}
}

// TestPark checks when a runner that waits for a loop ends.
func TestPark(t *testing.T) {
	h, gone := stalled(spinning)
	defer gone()
	if h.park(time.Nanosecond) || h.state.Load() != ended {
		t.Errorf("without a loop it is in state %d", h.state.Load())
	}
	h, gone = stalled(spinning)
	defer gone()
	most := int32(2 * runtime.GOMAXPROCS(0))
	idle.parked.Add(most)
	if h.park(time.Hour) || h.state.Load() != ended {
		t.Errorf("after %d others it is in state %d", most, h.state.Load())
	}
	idle.parked.Add(-most)
	h, gone = stalled(spinning)
	gone() // a loop has acquired it
	woken := make(chan bool)
	go func() { woken <- h.park(time.Nanosecond) }()
	for h.state.Load() != parked {
		runtime.Gosched()
	}
	h.begin(nil, each{}, 1, 2)
	if !<-woken || h.state.Load() != called {
		t.Errorf("called by a loop, it is in state %d", h.state.Load())
	}
}

// TestDescriptors checks that runners open no files.
func TestDescriptors(t *testing.T) {
	count := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("this system does not list descriptors: ", err)
		}
		return len(entries)
	}
	const workers = 40 // more than other tests have
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(workers))
	time.AfterFunc(time.Hour, func() {}).Stop() // Go's own have been opened
	before := count()
	New(workers).Run(workers, workers, func(int, int, int) {})
	if after := count(); after != before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

// TestWaker wakes before and after the runner waits.
func TestWaker(t *testing.T) {
	var state atomic.Int32
	b := newWaker()
	b.wake(&state)
	b.wait(&state, time.Hour)
	state.Store(parked)
	woken := make(chan struct{})
	go func() {
		for state.Load() == parked {
			b.wait(&state, time.Hour)
		}
		close(woken)
	}()
	runtime.Gosched()
	state.Store(called)
	b.wake(&state)
	<-woken
	b.wait(&state, time.Nanosecond)
}
