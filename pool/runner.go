package pool

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gemm/internal/cpu"
)

// How long a goroutine spins before it parks. Longer times would delay other threads on the processor.
const (
	// spinFor is the time after a loop. Products of a series follow each other faster.
	spinFor = 50 * time.Microsecond
	// spinInLoop is the most time in a loop that others are still executing. The last calls of a
	// micro-kernel differ by less.
	spinInLoop = 200 * time.Microsecond
)

// polls is the number of polls between two readings of the clock, some microseconds. One reading
// takes as long as a hundred polls.
const polls = 1000

// poll calls happened, for some microseconds at most, until it returns true. It reports whether it did.
func poll(happened func() bool) bool {
	for range polls {
		if happened() {
			return true
		}
	}
	return false
}

// spin polls for spinFor and, while running reports true, for up to spinInLoop more. Between
// polls it yields the processor to other threads that wait for it.
func spin(happened, running func() bool) bool {
	for begin, quiet := (time.Time{}), (time.Time{}); ; cpu.Yield() {
		if poll(happened) {
			return true
		}
		now := time.Now()
		if begin.IsZero() {
			begin, quiet = now, now
		}
		if now.Sub(begin) < spinInLoop && running() {
			quiet = now
		}
		if now.Sub(quiet) >= spinFor {
			return false
		}
	}
}

// runner is a goroutine of the process that executes workers. It polls its state. The caller of a
// loop writes the work next to the state, in the same cache line, and then changes the state.
//
//	from               to        by
//	spinning, parked   called    begin, which wakes the runner if it is parked
//	called             working   the runner
//	called             spinning  takeBack, called by the caller of the loop
//	working            spinning  the runner, which has finished
//	spinning           parked    the runner, after spinFor
//	spinning, parked   ended     the runner, after idleFor without a loop
type runner struct {
	state atomic.Int32
	pool  *Pool
	each  each
	// The first worker that it executes, and the number of workers of the loop.
	worker, workers int

	place int // the processor that it is pinned to, or anywhere
	waker waker
	_     [64]byte // no two runners poll the same cache line, nor the same pair of lines
}

// The states of a runner.
const (
	spinning = iota // polls for work
	parked          // waits for a wake-up
	called          // has work that it has not begun
	working         // executes its work
	ended           // has returned, or is about to
)

// begin gives the runner work, and wakes it if it is parked.
func (r *runner) begin(p *Pool, l each, worker, workers int) {
	r.pool, r.each, r.worker, r.workers = p, l, worker, workers
	if r.state.Swap(called) == parked {
		r.waker.wake(&r.state)
	}
}

func (r *runner) busy() bool {
	state := r.state.Load()
	return state == called || state == working
}

// takeBack takes the work from the runner unless it has begun, and reports whether it did. If the
// runner was parked, it wakes, finds no work and spins.
func (r *runner) takeBack() bool {
	if r.state.Load() != called || !r.state.CompareAndSwap(called, spinning) {
		return false
	}
	r.pool, r.each = nil, each{}
	return true
}

// serve is the runner's goroutine: it waits for work and executes it, until it is ended.
func (r *runner) serve() {
	if r.place != anywhere {
		runtime.LockOSThread()
	}
	var last *Pool // of its last loop
	wanted := func() bool { return r.state.Load() >= called }
	running := func() bool { return last != nil && last.inLoop.Load() }
	for woke := false; ; {
		// A runner that has woken the caller parks at once, to free a processor for it.
		if (woke || !spin(wanted, running)) && !r.park(idleFor) {
			return
		}
		woke = false
		if r.state.CompareAndSwap(called, working) {
			last = r.pool
			woke = r.execute()
		}
	}
}

// park waits for a loop. If none comes within the limit, or if enough other runners are parked, it ends the
// runner and returns false.
func (r *runner) park(limit time.Duration) bool {
	defer idle.parked.Add(-1)
	if int(idle.parked.Add(1)) > 2*runtime.GOMAXPROCS(0) && r.end() {
		return false
	}
	if !r.state.CompareAndSwap(spinning, parked) {
		return true
	}
	for r.state.Load() == parked {
		r.waker.wait(&r.state, limit)
		if r.state.Load() == parked && r.end() {
			return false
		}
	}
	return true
}

// end ends the runner if it is idle, and reports whether it did.
func (r *runner) end() bool {
	idle.Lock()
	defer idle.Unlock()
	there := idleAt(r.place)
	i := slices.Index(*there, r)
	if i < 0 {
		return false
	}
	*there = slices.Delete(*there, i, i+1)
	r.state.Store(ended)
	return true
}

// execute runs the runner's workers, and reports whether it has woken the caller. If a body ends
// the goroutine, as testing.T.FailNow does, a new goroutine takes its place.
func (r *runner) execute() (woken bool) {
	p := r.pool
	returned := false
	defer func() {
		r.pool, r.each = nil, each{}
		r.state.Store(spinning)
		if !returned {
			go r.serve()
		}
		woken = p.ended()
	}()
	p.turns(&r.each, r.worker, r.workers)
	returned = true
	return
}

// idle holds the runners without work, by place. They are stacks: the one that worked last is on
// top, since it is the least likely to be parked.
var idle struct {
	sync.Mutex
	runners map[int]*[]*runner
	parked  atomic.Int32 // number of runners that are parked, each of which keeps a thread
}

// idleFor is the time that a parked runner is kept.
const idleFor = 5 * time.Second

// idleAt returns the stack of idle runners of a place.
func idleAt(place int) *[]*runner {
	there, ok := idle.runners[place]
	if !ok {
		if idle.runners == nil {
			idle.runners = map[int]*[]*runner{}
		}
		there = new([]*runner)
		idle.runners[place] = there
	}
	return there
}

// acquire takes runners for a loop from the idle ones, and starts new ones if there are too few.
// The caller is one of the given number.
func (p *Pool) acquire(runners int) {
	if runners < 2 {
		return
	}
	idle.Lock()
	defer idle.Unlock()
	there := idleAt(anywhere)
	for w := 1; w < runners; w++ {
		if p.places != nil {
			there = idleAt(p.places[w])
		}
		if last := len(*there) - 1; last >= 0 {
			p.runners = append(p.runners, (*there)[last])
			*there = (*there)[:last]
			continue
		}
		r := &runner{place: p.place(w), waker: newWaker()}
		p.runners = append(p.runners, r)
		go r.serve()
	}
}

// release makes the runners idle, in the order that gives each the same worker in the next loop.
// The caller does this for all of them. If each did it for itself, 16 runners that finish at the
// same time would wait some 20 µs for the lock.
func (p *Pool) release() {
	idle.Lock()
	defer idle.Unlock()
	there := idleAt(anywhere)
	for _, r := range slices.Backward(p.runners) {
		if r.place != anywhere {
			there = idleAt(r.place)
		}
		*there = append(*there, r)
	}
	clear(p.runners)
	p.runners = p.runners[:0]
}
