package pool

import (
	"fmt"
	"sync/atomic"
)

// Schedule says how a loop is divided among workers. The schedules of this package follow libgomp
// (gcc 14, libgomp/iter.c and loop.c). You can implement others.
type Schedule interface {
	// Share begins a loop of n > 0 indices on the given number of workers.
	Share(n, workers int) Shares
}

// Shares are the chunks of one loop. Together the chunks hold every index of [0, n) exactly once.
type Shares interface {
	// Next returns the next chunk of a worker, lo ≤ i < hi. The chunk is empty if none is left for the
	// worker. turn is the number of chunks that the worker has had. Workers call Next at the same time.
	Next(worker, turn int) (lo, hi int)
}

// Names of schedules, as NewSchedule takes them.
const (
	static  = "static"
	dynamic = "dynamic"
	guided  = "guided"
	// standard is the schedule of libgomp for schedule(runtime) if OMP_SCHEDULE is not set: dynamic
	// with chunk 1 (libgomp/env.c).
	standard = "default"
	auto     = "auto"
)

// Schedules returns the names that NewSchedule knows.
func Schedules() []string { return []string{standard, static, dynamic, guided, auto} }

// NewSchedule returns the schedule with a name. chunk is the size of its chunks in indices; for guided
// and auto it is the least size. Chunk 0 is one block per worker for static, and 1 for the others.
func NewSchedule(name string, chunk int) (Schedule, error) {
	if chunk < 0 {
		return nil, fmt.Errorf("pool: the chunk is %d, must be 0 or more", chunk)
	}
	switch name {
	case static:
		return Static(chunk), nil
	case dynamic, standard:
		return Dynamic(max(1, chunk)), nil
	case guided:
		return Guided(max(1, chunk)), nil
	case auto:
		return NewAuto(max(1, chunk)), nil
	}
	return nil, fmt.Errorf("pool: schedule %q is none of %v", name, Schedules())
}

// Static divides a loop before it runs. Static(0) gives each of p workers one contiguous block:
// ⌊n/p⌋ + 1 indices for the first n mod p workers, ⌊n/p⌋ for the others. Static(c) assigns chunks of
// c round robin: worker w has the chunks w, w + p, w + 2p, …
type Static int

// Share implements Schedule.
func (s Static) Share(n, workers int) Shares {
	if s <= 0 {
		return staticBlocks{n, workers}
	}
	return staticChunks{n, workers, int(s), chunksOf(n, int(s))}
}

type staticBlocks struct{ n, workers int }

func (b staticBlocks) Next(worker, turn int) (lo, hi int) {
	if turn > 0 {
		return 0, 0
	}
	size, more := b.n/b.workers, b.n%b.workers
	lo = worker*size + min(worker, more)
	hi = lo + size
	if worker < more {
		hi++
	}
	return lo, hi
}

// chunksOf returns the number of chunks of n > 0 indices.
func chunksOf(n, chunk int) int { return (n-1)/chunk + 1 }

type staticChunks struct{ n, workers, chunk, chunks int }

func (d staticChunks) Next(worker, turn int) (lo, hi int) {
	i := turn*d.workers + worker
	if i >= d.chunks {
		return 0, 0
	}
	lo = i * d.chunk
	return lo, lo + min(d.chunk, d.n-lo)
}

// Dynamic gives a free worker the next chunk of the given size, at least one index.
type Dynamic int

// Share implements Schedule.
func (s Dynamic) Share(n, _ int) Shares {
	chunk := max(1, int(s))
	return &dynamicChunks{n: n, chunk: chunk, chunks: chunksOf(n, chunk)}
}

// dynamicChunks are the shares of Dynamic: a counter. A worker takes a chunk by one atomic addition.
type dynamicChunks struct {
	n, chunk, chunks int
	_                [64]byte     // keeps next out of the cache line of the fields that are only read
	next             atomic.Int64 // the first chunk that no worker has taken
	_                [56]byte
}

func (g *dynamicChunks) Next(_, _ int) (lo, hi int) {
	i := int(g.next.Add(1)) - 1
	if i >= g.chunks {
		return 0, 0
	}
	lo = i * g.chunk
	return lo, lo + min(g.chunk, g.n-lo)
}

// Guided gives a free worker an equal part of what is left, ⌈left/p⌉ indices, but at least the given number while there
// are as many. Large chunks at first need few decisions; small ones at the end balance the load (Polychronopoulos and
// Kuck, Guided Self-Scheduling, IEEE Transactions on Computers C-36(12), 1987).
type Guided int

// Share implements Schedule.
func (s Guided) Share(n, workers int) Shares {
	return &guidedChunks{n: n, workers: workers, least: int(s)}
}

type guidedChunks struct {
	n, workers, least int
	_                 [64]byte
	next              atomic.Int64 // the first index that no worker has taken
	_                 [56]byte
}

func (g *guidedChunks) Next(_, _ int) (lo, hi int) {
	for {
		lo = int(g.next.Load())
		left := g.n - lo
		if left <= 0 {
			return 0, 0
		}
		hi = lo + min(max(g.least, (left+g.workers-1)/g.workers), left)
		if g.next.CompareAndSwap(int64(lo), int64(hi)) {
			return lo, hi
		}
	}
}
