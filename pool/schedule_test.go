package pool

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gemm"
	"gemm/gemmtest"
	"gemm/internal/timeline"
)

// chunks returns the chunks of a loop as "worker:lo-hi". The workers take one chunk each, round robin.
func chunks(s Schedule, n, workers int) []string {
	shares := s.Share(n, workers)
	var out []string
	turns := make([]int, workers)
	for left := workers; left > 0; {
		left = 0
		for w := range workers {
			if turns[w] < 0 {
				continue
			}
			lo, hi := shares.Next(w, turns[w])
			if lo >= hi {
				turns[w] = -1
				continue
			}
			turns[w]++
			left++
			out = append(out, fmt.Sprintf("%d:%d-%d", w, lo, hi))
		}
	}
	return out
}

// runsAll checks that a loop of n indices runs all of them.
func runsAll(t *testing.T, p *Pool, n int, s Schedule) {
	t.Helper()
	var calls atomic.Int32
	err := p.For(t.Context(), n, s, func(_, lo, hi int) { calls.Add(int32(hi - lo)) })
	if got := int(calls.Load()); err != nil || got != n {
		t.Errorf("%T %v: %d indices, want %d; %v", s, s, got, n, err)
	}
}

// TestChunks compares the chunks of small loops with a table. Its entries for static and guided are
// what libgomp prints for the same loops.
func TestChunks(t *testing.T) {
	for _, test := range []struct {
		schedule   string
		chunk      int
		n, workers int
		want       string
	}{
		{"static", 0, 10, 4, "0:0-3 1:3-6 2:6-8 3:8-10"},
		{"static", 0, 8, 4, "0:0-2 1:2-4 2:4-6 3:6-8"},
		{"static", 0, 3, 4, "0:0-1 1:1-2 2:2-3"},
		{"static", 0, 1, 1, "0:0-1"},
		{"static", 1, 5, 2, "0:0-1 1:1-2 0:2-3 1:3-4 0:4-5"},
		{"static", 3, 10, 2, "0:0-3 1:3-6 0:6-9 1:9-10"},
		{"static", 16, 10, 2, "0:0-10"},
		{"dynamic", 0, 3, 2, "0:0-1 1:1-2 0:2-3"},
		{"dynamic", 4, 10, 2, "0:0-4 1:4-8 0:8-10"},
		{"default", 0, 3, 2, "0:0-1 1:1-2 0:2-3"},
		{"guided", 0, 16, 4, "0:0-4 1:4-7 2:7-10 3:10-12 0:12-13 1:13-14 2:14-15 3:15-16"},
		{"guided", 3, 20, 2, "0:0-10 1:10-15 0:15-18 1:18-20"},
		{"guided", 7, 6, 3, "0:0-6"},
	} {
		s, err := NewSchedule(test.schedule, test.chunk)
		gemmtest.Must(t, err)
		if got := strings.Join(chunks(s, test.n, test.workers), " "); got != test.want {
			t.Errorf("%s, chunk %d, %d indices, %d workers:\n got %s\nwant %s", test.schedule, test.chunk, test.n, test.workers,
				got, test.want)
		}
	}
}

func TestNewSchedule(t *testing.T) {
	if _, err := NewSchedule("dynamic", -1); err == nil || !strings.Contains(err.Error(), "-1") {
		t.Errorf("chunk -1: %v", err)
	}
	if _, err := NewSchedule("fair", 0); err == nil || !strings.Contains(err.Error(), "fair") {
		t.Errorf("schedule fair: %v", err)
	}
}

// TestFor checks, under every schedule, that every index is computed exactly once, that chunks are
// within the loop, and that no worker is in two calls at a time.
func TestFor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	rng := rand.New(rand.NewPCG(3, 4))
	loops := 300
	if testing.Short() {
		loops = 60 // no kernel runs in them
	}
	for range loops {
		workers, n, chunk := 1+rng.IntN(9), rng.IntN(200), rng.IntN(12)
		if rng.IntN(10) == 0 {
			chunk = math.MaxInt / 2
		}
		name := Schedules()[rng.IntN(len(Schedules()))]
		s, err := NewSchedule(name, chunk)
		gemmtest.Must(t, err)
		p := New(workers)
		for range 15 { // auto tries several
			counts := make([]atomic.Int32, n)
			inside := make([]atomic.Int32, workers)
			err := p.For(t.Context(), n, s, func(worker, lo, hi int) {
				if inside[worker].Add(1) != 1 {
					t.Errorf("worker %d is in two calls", worker)
				}
				if lo < 0 || lo >= hi || hi > n || worker >= min(workers, n) {
					t.Errorf("worker %d has %d ≤ i < %d", worker, lo, hi)
				}
				for i := lo; i < hi; i++ {
					counts[i].Add(1)
				}
				inside[worker].Add(-1)
			})
			gemmtest.Must(t, err)
			for i := range counts {
				if got := counts[i].Load(); got != 1 {
					t.Fatalf("%s, chunk %d, %d indices, %d workers: index %d was run %d times", name, chunk, n, workers, i, got)
				}
			}
		}
	}
}

// backwards is a schedule of a user's own: one index at a time, the last first.
type backwards struct{}

func (backwards) Share(n, _ int) Shares {
	b := &countdown{}
	b.left.Store(int64(n))
	return b
}

type countdown struct{ left atomic.Int64 }

func (c *countdown) Next(_, _ int) (lo, hi int) {
	i := int(c.left.Add(-1))
	return max(i, 0), i + 1
}

func TestOwnSchedule(t *testing.T) {
	var order []int
	gemmtest.Must(t, New(1).For(t.Context(), 5, backwards{}, func(_, lo, _ int) { order = append(order, lo) }))
	if want := []int{4, 3, 2, 1, 0}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
	runsAll(t, New(3), 100, backwards{})
}

// TestForNested has bodies run loops on their own pool.
func TestForNested(t *testing.T) {
	p := New(3)
	var total atomic.Int64
	err := p.For(t.Context(), 10, Dynamic(1), func(_, lo, hi int) {
		for range hi - lo {
			err := p.For(t.Context(), 7, Static(0), func(worker, lo, hi int) {
				if worker != 0 {
					t.Errorf("a nested loop has worker %d", worker)
				}
				total.Add(int64(hi - lo))
			})
			if err != nil {
				t.Error(err)
			}
			p.Run(3, 5, func(_, lo, hi int) { total.Add(int64(hi - lo)) })
		}
	})
	if err != nil || total.Load() != 10*(7+5) {
		t.Errorf("%d calls, want %d; %v", total.Load(), 10*(7+5), err)
	}
}

// TestForPanics checks that the panic of a body is the error, and that the pool still works.
func TestForPanics(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for _, name := range Schedules() {
		s, _ := NewSchedule(name, 0)
		p := New(3)
		for range 5 {
			err := p.For(t.Context(), 100, s, func(_, lo, hi int) {
				if lo <= 50 && 50 < hi {
					panic("in the body")
				}
			})
			var failed *Panic
			if !errors.As(err, &failed) || failed.Value != "in the body" || len(failed.Stack) == 0 ||
				strings.Contains(err.Error(), "\n") {
				t.Fatalf("%s: error %v", name, err)
			}
			runsAll(t, p, 10, s)
		}
	}
}

// TestForCancelled checks that no chunk begins after the context's end, and that the error is the
// context's only if a chunk is left.
func TestForCancelled(t *testing.T) {
	for _, workers := range []int{1, 3} {
		p := New(workers)
		ctx, cancel := context.WithCancel(t.Context())
		var calls atomic.Int32
		err := p.For(ctx, 1000, Dynamic(1), func(_, lo, _ int) {
			calls.Add(1)
			if lo == 10 {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		// Eleven chunks were taken, which other workers may not have begun yet.
		if got := int(calls.Load()); got < 12-workers || got > 1000-1 && workers == 1 {
			t.Errorf("%d calls", got)
		}
		if err := p.For(ctx, 10, Static(0), func(_, _, _ int) { t.Error("a chunk of a cancelled loop") }); !errors.Is(err,
			context.Canceled) {
			t.Errorf("a cancelled context: error %v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := New(1).For(ctx, 10, Dynamic(1), func(_, lo, _ int) {
		if lo == 9 {
			cancel()
		}
	})
	if err != nil {
		t.Errorf("cancelled in the last chunk: error %v", err)
	}
}

// TestAuto checks that auto chooses the fastest schedule, whatever the time of the first loop was.
func TestAuto(t *testing.T) {
	a := NewAuto(2)
	if name, _ := a.Chosen(); name != "" || !a.Decided() {
		t.Errorf("before the first loop: %q, decided %v", name, a.Decided())
	}
	// A worker of four has eight chunks of 25 among 800 indices.
	costs := map[string]time.Duration{"static 0": 4 * time.Millisecond, "dynamic 2": 3 * time.Millisecond,
		"dynamic 25": time.Millisecond, "guided 2": 2 * time.Millisecond}
	tried := map[string]int{}
	for loops := 0; loops == 0 || !a.Decided(); loops++ {
		if loops > 4*autoMost {
			t.Fatal("it chooses nothing")
		}
		a.Share(800, 4)
		name, chunk := a.Chosen()
		this := fmt.Sprint(name, " ", chunk)
		cost := costs[this]
		if loops == 2 {
			cost = 20 * time.Millisecond // one disturbed loop
		}
		tried[this]++
		a.took(cost)
	}
	if name, chunk := a.Chosen(); name != dynamic || chunk != 25 {
		t.Errorf("it has chosen %s, chunk %d", name, chunk)
	}
	if len(tried) != len(costs) {
		t.Errorf("it has tried %v", tried)
	}
	// A loop of another size has a new trial, and the old trial is kept.
	p := New(4)
	if err := p.For(t.Context(), 3, a, func(_, _, _ int) {}); err != nil || a.Decided() {
		t.Errorf("a first loop of another size is decided; %v", err)
	}
	if err := p.For(t.Context(), 800, a, func(_, _, _ int) {}); err != nil || !a.Decided() {
		t.Errorf("it has forgotten; %v", err)
	}
}

// TestTimeline checks that the chunks of a loop are in the timeline of its context.
func TestTimeline(t *testing.T) {
	var line timeline.Recorder
	gemmtest.Must(t, New(2).For(timeline.With(t.Context(), &line), 10, Static(2), func(_, _, _ int) {}))
	var got []string
	for _, s := range line.Spans() {
		got = append(got, fmt.Sprintf("%d:%d-%d", s.Worker, s.From, s.To))
	}
	if want := "0:0-2 0:4-6 0:8-10 1:2-4 1:6-8"; strings.Join(got, " ") != want {
		t.Errorf("spans %v, want %s", got, want)
	}
}

// TestForgiving has loops and schedules of values that make no sense run all the same.
func TestForgiving(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := New(2).For(cancelled, 0, Static(0), func(_, _, _ int) {}); err != nil {
		t.Errorf("an empty loop has the error %v", err)
	}
	for _, s := range []Schedule{Static(-1), Dynamic(-1), Dynamic(0), Guided(-1), new(Auto)} {
		runsAll(t, New(3), 10, s)
	}
	pinned, err := NewPinned(2, closeBy)
	if errors.Is(err, gemm.ErrUnavailable) {
		t.Skip(err)
	}
	var calls atomic.Int32
	pinned.Run(0, 5, func(_, lo, hi int) { calls.Add(int32(hi - lo)) })
	if got := calls.Load(); err != nil || got != 5 {
		t.Errorf("%d indices, want 5; %v", got, err)
	}
}

// TestGoexit has bodies end their goroutines, on a runner and on the caller's.
func TestGoexit(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	p := New(3)
	for _, at := range []int{0, 2} {
		ended := make(chan error, 1)
		go func() {
			err := errGoexit // of the caller's, which then does not return
			defer func() { ended <- err }()
			err = p.For(context.Background(), 3, Static(0), func(worker, _, _ int) {
				if worker == at {
					runtime.Goexit()
				}
			})
		}()
		if err := <-ended; !errors.Is(err, errGoexit) {
			t.Errorf("worker %d: error %v", at, err)
		}
		runsAll(t, p, 100, Dynamic(1))
	}
}
