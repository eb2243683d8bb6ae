package parallel

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

	"gemm"
	"gemm/internal/block"
)

// Pool lets loops run on several goroutines, its hands. They are the process's, kept
// from one loop to the next and shared by all pools: a pool itself is nothing but the
// state of one loop, and needs no closing.
//
// The goroutine that begins a loop is one of its hands, so that its own part begins at
// once, and the only one in a loop of one worker. There are as many hands as workers, but
// no more than GOMAXPROCS when the pool was made: beyond that a hand does the parts of
// several workers, one after the other. A loop that begins while
// the pool has one running, in the body of that one for instance, has one worker, as
// nested loops have in libgomp by default; workers of its own are those of a pool of its
// own.
type Pool struct {
	// What seldom changes: all hands have these lines of a cache to read.
	workers int
	most    int   // hands
	places  []int // the processor of each worker; nil: the system chooses
	waiting atomic.Bool
	done    chan struct{} // a hand has ended while the caller was waiting
	failed  atomic.Pointer[Panic]
	_       [128]byte

	// The caller's.
	taken atomic.Bool
	hands []*hand // of the loop that runs, but the caller
	first *hand   // of the last loop's
	// Calls of Ready since a hand was woken for a short loop, and how many there are to be.
	alone, patience int
	_               [128]byte

	// Of a loop of Run, in its first element, or RunOwn: the first index of each share that
	// nobody has taken. They are side by side, so that a worker that goes through all shares
	// in the end has few lines of a cache to look at.
	next   []atomic.Int64
	_      [128]byte
	shared shared
}

// each is a loop of Run or RunOwn. Each hand has a copy of it, in the line of a cache that
// says that there is work: a line that another processor has written takes up to 170 ns to
// come, and the loop may be one of some microseconds.
type each struct {
	body func(worker, lo, hi int) // nil: a loop of For
	n    int
	own  bool // each worker has a share of the indices; otherwise all have one
	rest bool // there are more indices than those of the first chunks
}

// shares returns how many equal shares the indices are in.
func (l *each) shares(workers int) int {
	if l.own {
		return workers
	}
	return 1
}

// share returns the indices of a share.
func (l *each) share(share, workers int) (lo, hi int) {
	return blocks{l.n, l.shares(workers)}.Next(share, 0)
}

// chunk returns how many of the indices that are left of a share are taken at a time: half
// of what they are for each worker that it is for.
func (l *each) chunk(left, workers int) int {
	parts := 2 * workers / l.shares(workers)
	return (left + parts - 1) / parts
}

// first returns a worker's first chunk, which nobody else takes.
func (l *each) first(worker, workers int) (lo, hi int) {
	if !l.own {
		size := l.chunk(l.n, workers)
		return worker * size, (worker + 1) * size
	}
	lo, hi = l.share(worker, workers)
	return lo, lo + l.chunk(hi-lo, workers)
}

// shared is a loop of For.
type shared struct {
	shares   Shares
	body     func(worker, lo, hi int)
	ctx      context.Context // Err takes half the time of looking into Done
	timeline *gemm.Timeline
	stopped  atomic.Bool // by the context, or by a panic
}

// Panic is what kept a body from returning: its panic, or the end of its goroutine.
type Panic struct {
	Value any    // what was panicked with
	Stack []byte // of the worker
}

// Error implements error, in one line.
func (p *Panic) Error() string {
	return "parallel: the body of a loop panicked: " + strings.ReplaceAll(fmt.Sprint(p.Value), "\n", " ")
}

// Unwrap returns the value if it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// NewPool returns a pool of the given number of workers, at least one.
func NewPool(workers int) *Pool {
	p := &Pool{workers: max(1, workers), done: make(chan struct{}, 1)}
	p.most = min(p.workers, runtime.GOMAXPROCS(0))
	p.next = make([]atomic.Int64, p.workers)
	return p
}

// Workers returns the number of workers of a loop that is long enough.
func (p *Pool) Workers() int { return p.workers }

// For runs a loop of n indices that the schedule shares out among the workers: it
// calls body(worker, lo, hi) for chunks lo ≤ i < hi that hold every index of [0, n)
// once, and returns when all calls have. Calls with the same worker follow each other;
// calls with different ones, 0 ≤ worker < min(n, p.Workers()), may run at the same
// time.
//
// When ctx is cancelled no chunk is begun any more, and where one is left the error is
// ctx's. A panic in a body ends the loop in the same way; the error is then a *Panic.
// The workers survive both. Where ctx has a timeline the chunks are added to it.
func (p *Pool) For(ctx context.Context, n int, s Schedule, body func(worker, lo, hi int)) error {
	if n <= 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if !p.taken.CompareAndSwap(false, true) {
		return NewPool(1).For(ctx, n, s, body)
	}
	defer p.taken.Store(false)
	learner, learns := s.(*Auto)
	var begin time.Time
	if learns {
		begin = time.Now()
	}
	workers := min(p.workers, n)
	l := &p.shared
	l.shares, l.body, l.ctx, l.timeline = s.Share(n, workers), body, ctx, gemm.TimelineOf(ctx)
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

// runShares runs the chunks of one worker.
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

// Run calls body(worker, lo, hi) for chunks lo ≤ i < hi that hold every i in [0, n)
// once, and returns when all calls have; worker is below workers and below the pool's
// number. A chunk is half of an equal share of what is left: chunks are large at first, for
// what is shared within one, and small at the end, for an even finish where processors are
// not equally fast. A worker's first one is its own, so that it begins at once; the others
// are taken in order, each by who is free. It is the loop round a micro-kernel: where
// workers are not pinned it allocates nothing. A panic in a body ends it early and is
// raised again, as a *Panic.
func (p *Pool) Run(workers, n int, body func(worker, lo, hi int)) {
	p.run(workers, each{body: body, n: n})
}

// RunOwn is Run with a share for each worker, the same in every loop of n indices: a
// worker takes half of what is left of its own first, and half of what is left to others
// when that is done. In a series of loops over the same data each so finds in its caches
// what it left there.
func (p *Pool) RunOwn(workers, n int, body func(worker, lo, hi int)) {
	p.run(workers, each{body: body, n: n, own: true})
}

// run runs a loop.
func (p *Pool) run(workers int, l each) {
	workers = max(1, min(workers, p.workers, l.n))
	switch {
	case l.n <= 0:
		return
	case workers == 1 && p.places == nil || !p.taken.CompareAndSwap(false, true):
		l.body(0, 0, l.n)
		return
	}
	defer p.taken.Store(false)
	left := l.n
	for worker := range workers {
		lo, hi := l.first(worker, workers)
		left -= hi - lo
		if l.own {
			p.next[worker].Store(int64(hi))
		}
	}
	if !l.own {
		p.next[0].Store(int64(l.n - left))
	}
	l.rest = left > 0
	p.fork(workers, l)
	if failed := p.failure(); failed != nil {
		panic(failed)
	}
}

// runEach calls the body for a worker's first chunk and, as the last worker of its hand,
// until no index is left, of the worker's share first.
func (p *Pool) runEach(l *each, worker, workers int) {
	if p.failed.Load() != nil {
		return
	}
	lo, hi := l.first(worker, workers)
	l.body(worker, lo, hi)
	if !l.rest || worker+p.most < workers {
		return
	}
	shares := l.shares(workers)
	for i := range shares {
		share := (worker + i) % shares
		next := &p.next[share]
		_, end := l.share(share, workers)
		for {
			lo := next.Load()
			left := end - int(lo)
			if left <= 0 {
				break
			}
			hi := lo + int64(l.chunk(left, workers))
			if next.CompareAndSwap(lo, hi) {
				l.body(worker, int(lo), int(hi))
			}
		}
	}
}

// Loop returns the pool as the loops round a micro-kernel want it.
func (p *Pool) Loop() block.Loop {
	return block.Loop{Workers: p.workers, Run: p.Run, RunOwn: p.RunOwn, Ready: p.Ready}
}

// fork has each of the workers do its part of the loop, and returns when all have.
func (p *Pool) fork(workers int, l each) {
	if p.places != nil {
		defer p.pinCaller()()
	}
	_ = p.failure() // of a loop whose body has ended the caller's goroutine
	p.hire(min(workers, p.most))
	for i, h := range p.hands {
		h.begin(p, l, i+1, workers)
	}
	if len(p.hands) > 0 {
		p.first = p.hands[0]
		defer p.join(&l, workers) // also where the body ends the caller's goroutine
	}
	p.turns(&l, 0, workers)
}

// failure returns what has ended the loop early, and forgets it. It seldom writes: all
// hands have this line of a cache.
func (p *Pool) failure() *Panic {
	if p.failed.Load() == nil {
		return nil
	}
	return p.failed.Swap(nil)
}

// join waits for the hands and lets go of them. Parts that no hand has begun it does
// itself: where hands have no processor to run on, the caller so computes the loop alone.
func (p *Pool) join(l *each, workers int) {
	left := p.hands
	ended := func() bool {
		for len(left) > 0 && !left[0].busy() {
			left = left[1:]
		}
		return len(left) == 0
	}
	if !lookFor(ended) { // a hand that spins is about to begin
		for i, h := range p.hands {
			if h.takeBack() {
				p.turns(l, i+1, workers)
			}
		}
		p.wait(ended)
	}
	p.dismiss()
}

// turns does the parts of the workers that are one hand's: of the first and of every
// p.most-th behind it.
func (p *Pool) turns(l *each, first, workers int) {
	for worker := first; worker < workers; worker += p.most {
		if p.places != nil {
			pin(p.places[worker])
		}
		p.work(l, worker, workers)
	}
}

// work does a worker's part of a loop. What keeps the body from returning ends the loop.
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
		for share := range p.next { // nothing is left to take
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

// errGoexit stands for the panic that there was none of.
var errGoexit = errors.New("runtime.Goexit was called")

// wait returns when all hands have ended.
func (p *Pool) wait(ended func() bool) {
	if spin(ended, func() bool { return true }) {
		return
	}
	for {
		p.waiting.Store(true)
		if ended() && p.waiting.CompareAndSwap(true, false) {
			return
		}
		<-p.done // from whoever took back waiting, a hand of an earlier loop perhaps
	}
}

// ended is called by each hand at its end, when its state says so. It reports whether it
// has woken the caller.
func (p *Pool) ended() bool {
	if !p.waiting.Load() || !p.waiting.CompareAndSwap(true, false) {
		return false
	}
	p.done <- struct{}{}
	return true
}

// Ready reports whether it pays to share a loop of some microseconds: a worker that has
// to be woken begins only when such a loop is nearly over, and waking it takes time from
// the caller. It does where the first hand of the last loop still spins. Otherwise a loop
// is shared now and then all the same, since loops that follow each other closely find
// the hands of the one before: the second, then one in 4, in 8 and so on up to 64.
func (p *Pool) Ready() bool {
	if p.most < 2 || !p.taken.CompareAndSwap(false, true) {
		return false
	}
	defer p.taken.Store(false)
	if h := p.first; h != nil && h.state.Load() == spinning {
		p.alone, p.patience = 0, 0
		return true
	}
	if p.alone < p.patience {
		p.alone++
		return false
	}
	p.alone, p.patience = 0, min(2*p.patience+1, 63)
	return true
}
