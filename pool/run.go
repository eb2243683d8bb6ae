package pool

// Run is the loop around a micro-kernel. It calls body(worker, lo, hi) for chunks lo ≤ i < hi.
// Together the chunks hold every i in [0, n) once. Run returns when all calls have returned. The
// workers are 0 ≤ worker < min(workers, p.Workers(), n).
//
// The first chunk of each worker is fixed, so that the worker begins at once. Free workers take the other chunks in
// order. A chunk is half of an equal part of what is left. The first chunks are large, since a body reuses data within
// a chunk. The last are small, so that workers on processors of unequal speed finish together.
//
// Run allocates nothing unless workers are pinned. If a body panics, Run ends early and panics with a *Panic.
func (p *Pool) Run(workers, n int, body func(worker, lo, hi int)) {
	p.run(workers, each{body: body, n: n})
}

// RunOwn is Run with a share of the indices for each worker. The share is the same in every loop of n indices. A worker
// first takes chunks of its own share, each half of what is left of the share. Then it takes chunks of the shares of
// other workers. So in a series of loops over the same data, each worker finds its data in its caches.
func (p *Pool) RunOwn(workers, n int, body func(worker, lo, hi int)) {
	p.run(workers, each{body: body, n: n, own: true})
}

// run executes a loop of Run or RunOwn.
func (p *Pool) run(workers int, l each) {
	workers = max(1, min(workers, p.workers, l.n))
	switch {
	case l.n <= 0:
		return
	case workers == 1 && p.places == nil || !p.inLoop.CompareAndSwap(false, true):
		l.body(0, 0, l.n)
		return
	}
	defer p.inLoop.Store(false)
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

// runEach executes the first chunk of a worker. The last worker of a runner then takes chunks until
// no index is left, from its own share first and then from the others.
func (p *Pool) runEach(l *each, worker, workers int) {
	if p.failed.Load() != nil {
		return
	}
	lo, hi := l.first(worker, workers)
	l.body(worker, lo, hi)
	if !l.rest || worker+p.width < workers {
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

// each describes a loop of Run or RunOwn. Every runner has a copy, in the cache line that it polls for work. To fetch a
// line that another processor has written takes up to 170 ns, and a loop may take only some microseconds.
type each struct {
	body func(worker, lo, hi int) // nil: a loop of For
	n    int
	own  bool // each worker has its own share of the indices; otherwise there is one share
	rest bool // the first chunks do not cover all indices
}

// shares returns the number of equal shares that the indices are divided into.
func (l *each) shares(workers int) int {
	if l.own {
		return workers
	}
	return 1
}

// share returns the range of indices of one share.
func (l *each) share(share, workers int) (lo, hi int) {
	return staticBlocks{l.n, l.shares(workers)}.Next(share, 0)
}

// chunk returns the size of the next chunk of a share. An equal part would be the indices that are
// left, divided by the number of workers of the share. A chunk is half of an equal part.
func (l *each) chunk(left, workers int) int {
	parts := 2 * workers / l.shares(workers)
	return (left + parts - 1) / parts
}

// first returns a worker's first chunk, which is reserved for it.
func (l *each) first(worker, workers int) (lo, hi int) {
	if !l.own {
		size := l.chunk(l.n, workers)
		return worker * size, (worker + 1) * size
	}
	lo, hi = l.share(worker, workers)
	return lo, lo + l.chunk(hi-lo, workers)
}
