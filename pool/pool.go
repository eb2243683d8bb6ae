// Package pool runs loops on several goroutines, as OpenMP runs them on threads.
//
// # Schedules
//
// Pool.For runs a loop of n indices on p workers under a Schedule. The schedules of this package give
// out the same chunks as libgomp, the OpenMP library of gcc:
//
//	static       one contiguous block per worker: ⌊n/p⌋ + 1 indices for the first n mod p
//	             workers, ⌊n/p⌋ for the others
//	static, c    chunks of c, round robin: worker w has the chunks w, w + p, w + 2p, …
//	dynamic, c   the next c indices for a free worker, by one atomic addition; default c = 1
//	guided, c    the next max(c, ⌈left/p⌉) indices for a free worker
//	default      the default of libgomp: dynamic, 1
//	auto         the best of static, dynamic and guided by a short measurement; in libgomp auto
//	             is static
//
// If all indices take the same time and processors are equally fast, static is best: it decides
// nothing at run time. Otherwise dynamic and guided balance the load, for one atomic operation per
// chunk. Your own schedule implements Share and Next.
package pool

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"gemm/internal/timeline"
)

// Pool runs loops on several goroutines. A pool is the state of one loop; it holds no goroutines, and needs no closing.
//
// Two numbers describe a loop. A worker is an index: the schedule gives each worker its chunks, and the body gets
// the index. A runner is a goroutine that executes workers. The process keeps its runners from one loop to the
// next, for all pools. The goroutine that starts the loop is a runner too, so a loop of one worker needs no other. A
// loop has at most GOMAXPROCS runners (the value when New was called). With more workers, a runner executes several,
// one after the other:
//
//	workers  0      1      2      3      4      5        of a pool with GOMAXPROCS = 4
//	runner   caller 1      2      3      caller 1
//
// This is the course of one loop:
//
//	caller     write the loop into each runner ─ execute worker 0 ─ take back ─ wait ─ return
//	runner 1     spin ─ see it ─ execute worker 1 ──────────────────┘ spin …
//	runner 2     park ─ wake ─ execute worker 2 ─────────────────────────┘ spin … park
//
// The caller takes back what no runner has begun, and executes it itself. So a loop does not
// wait for a runner that has no processor to run on.
//
// If a loop starts while the pool is in another loop, for instance in its body, the new loop has one worker. A nested
// parallel region in libgomp has one thread by default too. For more workers, use another pool.
type Pool struct {
	// Every runner reads these cache lines; they are seldom written.
	workers int
	width   int   // most runners of a loop, with the caller
	places  []int // the processor of each worker; nil: the system chooses
	waiting atomic.Bool
	done    chan struct{} // a runner has finished while the caller was parked
	failed  atomic.Pointer[Panic]
	_       [128]byte

	// Only the caller uses these.
	inLoop    atomic.Bool
	runners   []*runner // of the loop in progress, without the caller
	lastFirst *runner   // the first runner of the last loop
	declined  int       // calls of Ready that were declined since the last that was not
	decline   int       // calls of Ready to decline before the next that is not
	_         [128]byte

	// next holds the first index of each share that no runner has taken. A loop of RunOwn has a
	// share per worker, a loop of Run has one. The elements are contiguous: at the end of a loop a
	// runner reads all shares, and so few cache lines.
	next   []atomic.Int64
	_      [128]byte
	shared shared
}

// shared describes a loop of For.
type shared struct {
	shares   Shares
	body     func(worker, lo, hi int)
	ctx      context.Context // polled by Err, which takes half the time of a select on Done
	timeline *timeline.Recorder
	stopped  atomic.Bool // the context was cancelled, or a body panicked
}

// Panic says why a body did not return: it panicked, or it ended its goroutine.
type Panic struct {
	Value any    // what was panicked with
	Stack []byte // of the goroutine
}

// Error implements error, in one line.
func (p *Panic) Error() string {
	return "pool: the body of a loop panicked: " + strings.ReplaceAll(fmt.Sprint(p.Value), "\n", " ")
}

// Unwrap returns the value if it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// New returns a pool of the given number of workers, at least one.
func New(workers int) *Pool {
	p := &Pool{workers: max(1, workers), done: make(chan struct{}, 1)}
	p.width = min(p.workers, runtime.GOMAXPROCS(0))
	p.next = make([]atomic.Int64, p.workers)
	return p
}

// Workers returns the number of workers of a loop with at least as many indices.
func (p *Pool) Workers() int { return p.workers }

// For runs a loop over [0, n), which the schedule divides among the workers. It calls body(worker, lo, hi) for chunks
// lo ≤ i < hi that together hold every index once, and returns when all calls have returned. Calls for the same worker
// follow each other. Calls for different workers, 0 ≤ worker < min(n, p.Workers()), may run at the same time.
//
// If ctx is cancelled, no further chunk begins, and For returns the error of ctx unless all
// chunks had begun. If a body panics, no further chunk begins either, and the error is a *Panic.
// The pool can be used after both. If ctx has a timeline, For adds the chunks to it.
func (p *Pool) For(ctx context.Context, n int, s Schedule, body func(worker, lo, hi int)) error {
	if n <= 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if !p.inLoop.CompareAndSwap(false, true) {
		return New(1).For(ctx, n, s, body)
	}
	defer p.inLoop.Store(false)
	learner, learns := s.(*Auto)
	var begin time.Time
	if learns {
		begin = time.Now()
	}
	workers := min(p.workers, n)
	l := &p.shared
	l.shares, l.body, l.ctx, l.timeline = s.Share(n, workers), body, ctx, timeline.Of(ctx)
	l.stopped.Store(false)
	p.fork(workers, each{})
	stopped := l.stopped.Load()
	l.shares, l.body, l.ctx, l.timeline = nil, nil, nil, nil
	if failed := p.failure(); failed != nil {
		return failed
	}
	if stopped {
		return ctx.Err()
	}
	if learns {
		learner.took(time.Since(begin))
	}
	return nil
}

func (p *Pool) runShares(worker int) {
	l := &p.shared
	for turn := 0; !l.stopped.Load(); turn++ {
		lo, hi := l.shares.Next(worker, turn)
		if lo >= hi {
			return
		}
		if l.ctx.Err() != nil {
			l.stopped.Store(true)
			return
		}
		if l.timeline == nil {
			l.body(worker, lo, hi)
			continue
		}
		begin := time.Now()
		l.body(worker, lo, hi)
		l.timeline.Add(worker, lo, hi, begin)
	}
}

// fork starts the runners, executes the caller's workers, and returns when all workers are done.
func (p *Pool) fork(workers int, l each) {
	if p.places != nil {
		defer p.pinCaller()()
	}
	_ = p.failure() // left by a loop whose body ended the caller's goroutine
	p.acquire(min(workers, p.width))
	for i, r := range p.runners {
		r.begin(p, l, i+1, workers)
	}
	if len(p.runners) > 0 {
		p.lastFirst = p.runners[0]
		defer p.join(&l, workers) // also if the body ends the caller's goroutine
	}
	p.turns(&l, 0, workers)
}

// failure returns what ended the loop early, and clears it. It writes only if there is something
// to clear: every runner reads this cache line.
func (p *Pool) failure() *Panic {
	if p.failed.Load() == nil {
		return nil
	}
	return p.failed.Swap(nil)
}

// join waits for the runners and releases them. First it takes back the workers that no runner
// has begun, and executes them: if runners get no processor, the caller computes the loop alone.
func (p *Pool) join(l *each, workers int) {
	left := p.runners
	ended := func() bool {
		for len(left) > 0 && !left[0].busy() {
			left = left[1:]
		}
		return len(left) == 0
	}
	if !poll(ended) { // time for a spinning runner to begin
		for i, r := range p.runners {
			if r.takeBack() {
				p.turns(l, i+1, workers)
			}
		}
		p.wait(ended)
	}
	p.release()
}

// turns executes the workers of one runner: the first, and every p.width-th after it.
func (p *Pool) turns(l *each, first, workers int) {
	for worker := first; worker < workers; worker += p.width {
		if p.places != nil {
			pin(p.places[worker])
		}
		p.work(l, worker, workers)
	}
}

// work executes one worker. If the body does not return, it ends the loop.
func (p *Pool) work(l *each, worker, workers int) {
	returned := false
	defer func() {
		if returned {
			return
		}
		value := recover()
		if value == nil {
			value = errGoexit
		}
		p.failed.CompareAndSwap(nil, &Panic{value, debug.Stack()})
		for share := range p.next { // leaves nothing to take
			p.next[share].Store(math.MaxInt64)
		}
		p.shared.stopped.Store(true)
	}()
	if l.body != nil {
		p.runEach(l, worker, workers)
	} else {
		p.runShares(worker)
	}
	returned = true
}

// errGoexit is the value of a Panic for a body that ended its goroutine without a panic.
var errGoexit = errors.New("runtime.Goexit was called")

// wait returns when all runners have finished. It spins, then parks.
func (p *Pool) wait(ended func() bool) {
	if spin(ended, func() bool { return true }) {
		return
	}
	for {
		p.waiting.Store(true)
		if ended() && p.waiting.CompareAndSwap(true, false) {
			return
		}
		<-p.done // sent by the runner that cleared waiting, perhaps one of an earlier loop
	}
}

// ended is called by a runner that has finished, after it has changed its state. It wakes the
// caller if that is parked, and reports whether it did.
func (p *Pool) ended() bool {
	if !p.waiting.Load() || !p.waiting.CompareAndSwap(true, false) {
		return false
	}
	p.done <- struct{}{}
	return true
}

// Ready reports whether a loop of some microseconds should be parallel. To wake a parked runner
// costs the caller time, and the runner begins when such a loop is nearly over.
//
// The answer is yes if the first runner of the last loop still spins. Otherwise it is mostly no,
// but not always: after one parallel loop, the runners spin, and a series of loops can stay
// parallel. So the answer is yes for the second such call, and then for one in 4, 8, … 64.
func (p *Pool) Ready() bool {
	if p.width < 2 || !p.inLoop.CompareAndSwap(false, true) {
		return false
	}
	defer p.inLoop.Store(false)
	if r := p.lastFirst; r != nil && r.state.Load() == spinning {
		p.declined, p.decline = 0, 0
		return true
	}
	if p.declined < p.decline {
		p.declined++
		return false
	}
	p.declined, p.decline = 0, min(2*p.decline+1, 63)
	return true
}
