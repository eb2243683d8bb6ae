package pool

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"gemm"
	"gemm/internal/cpu"
)

// The affinities say which processor each worker runs on. They follow OMP_PROC_BIND with threads as
// places (OpenMP 5.2, 10.1.3). A place is a processor that this process may use. Places are sorted by
// NUMA node, socket and core; the hardware threads of a core are adjacent.
const (
	// none: the system chooses.
	none = "none"
	// closeBy: worker w runs on place w mod p of p places.
	closeBy = "close"
	// spread: the workers are distributed evenly over all places.
	spread = "spread"
)

// Affinities returns the names that NewPinned knows.
func Affinities() []string { return []string{none, closeBy, spread} }

// NewPinned is New with workers that are pinned during a loop, each to its own processor. With more workers than
// processors, the processors are assigned again from the first on; OpenMP would put neighbouring workers on one
// processor. The affinity none pins nothing. The error is gemm.ErrUnavailable if the system cannot pin threads.
func NewPinned(workers int, affinity string) (*Pool, error) {
	p := New(workers)
	if affinity == none {
		return p, nil
	}
	if !slices.Contains(Affinities(), affinity) {
		return nil, fmt.Errorf("pool: affinity %q is none of %v", affinity, Affinities())
	}
	processors := cpu.Places()
	if len(processors) == 0 {
		return nil, gemm.Unavailablef("this system pins no threads to processors").
			WithRemedy("use affinity none")
	}
	p.places = places(processors, p.workers, affinity)
	release := p.pinCaller()
	defer release()
	for _, place := range p.places[:min(p.workers, len(processors))] {
		if err := cpu.PinThread([]int{place}); err != nil {
			return nil, gemm.Unavailablef("%w", err).
				WithRemedy("use affinity none")
		}
	}
	return p, nil
}

func places(processors []int, workers int, affinity string) []int {
	out := make([]int, workers)
	for w := range out {
		if affinity == closeBy || workers > len(processors) {
			out[w] = processors[w%len(processors)]
		} else {
			out[w] = processors[w*len(processors)/workers]
		}
	}
	return out
}

// anywhere is the place of a worker whose processor the system chooses.
const anywhere = -1

func (p *Pool) place(worker int) int {
	if p.places == nil {
		return anywhere
	}
	return p.places[worker]
}

// Placement returns the processors of workers 0, 1, …, separated by commas. It is empty if the system chooses them.
func (p *Pool) Placement() string {
	var parts []string
	for _, processor := range p.places {
		parts = append(parts, strconv.Itoa(processor))
	}
	return strings.Join(parts, ",")
}

// pin pins the calling thread to one processor. NewPinned has checked that this works. If the
// process may no longer use the processor, the system chooses another.
func pin(processor int) { _ = cpu.PinThread([]int{processor}) }

// pinCaller locks the calling goroutine to its thread, so that the thread can be pinned. release undoes both. If the
// thread cannot be unpinned, the goroutine stays locked to it, so the thread ends with the goroutine and runs no other.
func (p *Pool) pinCaller() (release func()) {
	runtime.LockOSThread()
	before := cpu.Allowed()
	return func() {
		if cpu.PinThread(before) == nil || cpu.PinThread(cpu.Places()) == nil {
			runtime.UnlockOSThread()
		}
	}
}
