package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"

	"gemm/internal/block"
)

// Pool lets loops run on several goroutines. The goroutines are the process's, kept
// from one loop to the next and shared by all pools: a pool itself is nothing but the
// state of one loop, runs one at a time, and needs no closing.
//
// The goroutine that calls Run is the first worker, so that a loop never waits for
// another one to begin, and the only one in a loop of one worker.
type Pool struct {
	workers int
	body    func(worker, i int)
	n       int
	next    atomic.Int64  // the first index that nobody has taken
	busy    atomic.Int64  // workers other than the caller that have not ended
	loop    uint64        // the number of this loop
	waiting atomic.Uint64 // the number of the loop whose caller sleeps; 0: none does
	done    chan struct{}
	failed  atomic.Pointer[failure]
}

// failure is a panic of a body.
type failure struct{ value any }

// NewPool returns a pool of the given number of workers, at least one.
func NewPool(workers int) *Pool {
	return &Pool{workers: max(1, workers), done: make(chan struct{}, 1)}
}

// Run calls body(worker, i) once for every i in [0, n) and returns when all calls
// have. Calls are taken in order, each by the next worker that is free, so that
// unequal ones even out; worker is below workers and below the pool's number. A panic
// in a body ends the loop early and is raised again by Run; the workers survive it.
func (p *Pool) Run(workers, n int, body func(worker, i int)) {
	workers = min(workers, p.workers, n)
	if workers <= 1 {
		for i := range n {
			body(0, i)
		}
		return
	}
	p.body, p.n = body, n
	p.loop++
	p.next.Store(0)
	p.busy.Store(int64(workers - 1))
	for w := 1; w < workers; w++ {
		hire().begin(p, w)
	}
	p.work(0)
	p.wait()
	p.body = nil
	if f := p.failed.Swap(nil); f != nil {
		panic(f.value)
	}
}

// wait returns when all workers have ended.
func (p *Pool) wait() {
	if watch(func() bool { return p.busy.Load() == 0 }) {
		return
	}
	p.waiting.Store(p.loop)
	if p.busy.Load() == 0 && p.waiting.CompareAndSwap(p.loop, 0) {
		return
	}
	<-p.done
}

// ended is called by each worker but the caller at its end.
func (p *Pool) ended(loop uint64) {
	if p.busy.Add(-1) == 0 && p.waiting.CompareAndSwap(loop, 0) {
		p.done <- struct{}{}
	}
}

// Loop returns the pool as the loops round a micro-kernel want it.
func (p *Pool) Loop() block.Loop { return block.Loop{Workers: p.workers, Run: p.Run} }

// work calls the body until no index is left.
func (p *Pool) work(worker int) {
	defer func() {
		if value := recover(); value != nil {
			p.failed.CompareAndSwap(nil, &failure{value})
			p.next.Store(int64(p.n))
		}
	}()
	for {
		i := int(p.next.Add(1)) - 1
		if i >= p.n {
			return
		}
		p.body(worker, i)
	}
}

// watch looks for what is about to happen, some milliseconds long, before its caller
// sleeps, and reports whether it has. That is longer than it is from one product of a
// series to the next. A sleeper is woken in some 10 µs at best, and on a virtual machine
// often onto the processor of who wakes it, where it waits for a slice of time. Between
// looks it lets other goroutines run.
func watch(happened func() bool) bool {
	const looks, turns = 500, 5000
	for range turns {
		for range looks {
			if happened() {
				return true
			}
		}
		runtime.Gosched()
	}
	return false
}

// hand is one of the process's goroutines that wait for work.
type hand struct {
	pool   *Pool
	loop   uint64 // the pool's
	worker int
	state  atomic.Int32
	wake   chan struct{}
}

// The states of a hand.
const (
	looking = iota // for work
	asleep         // until wake
	working
)

// idle holds the hands that have no work, the last to work on top: the one least
// likely to sleep.
var idle struct {
	sync.Mutex
	hands []*hand
}

// hire returns an idle hand, a new one where there is none.
func hire() *hand {
	idle.Lock()
	defer idle.Unlock()
	if last := len(idle.hands) - 1; last >= 0 {
		h := idle.hands[last]
		idle.hands = idle.hands[:last]
		return h
	}
	h := &hand{wake: make(chan struct{}, 1)}
	go h.live()
	return h
}

// begin sets h to work.
func (h *hand) begin(p *Pool, worker int) {
	h.pool, h.loop, h.worker = p, p.loop, worker
	if h.state.Swap(working) == asleep {
		h.wake <- struct{}{}
	}
}

// live works, and waits for work, for ever.
func (h *hand) live() {
	for {
		if !watch(func() bool { return h.state.Load() == working }) && h.state.CompareAndSwap(looking, asleep) {
			<-h.wake
		}
		p, loop := h.pool, h.loop
		p.work(h.worker)
		h.pool = nil
		h.state.Store(looking)
		idle.Lock()
		idle.hands = append(idle.hands, h)
		idle.Unlock()
		p.ended(loop)
	}
}
