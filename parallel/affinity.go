package parallel

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"gemm"
	"gemm/internal/cpu"
)

// The affinities say which processor each worker runs on. They follow OMP_PROC_BIND with threads as
// places (OpenMP 5.2, 10.1.3). A place is a processor that this process may use. Places are sorted by
// NUMA node, socket and core; the hardware threads of a core are adjacent.
const (
	// none leaves that to the system.
	none = "none"
	// closeBy puts neighbours on neighbouring places.
	closeBy = "close"
	// spread puts them as far from one another as there are places.
	spread = "spread"
)

// Affinities returns the names that NewPinnedPool knows.
func Affinities() []string { return []string{none, closeBy, spread} }

// NewPinnedPool is NewPool with workers that are pinned during a loop, each to its own processor.
// With more workers than processors, the processors are assigned again from the first on; OpenMP
// would put neighbouring workers on one processor. The affinity none pins nothing. The error is
// gemm.ErrUnavailable if the system cannot pin threads.
func NewPinnedPool(workers int, affinity string) (*Pool, error) {
	p := NewPool(workers)
	switch affinity {
	case none:
		return p, nil
	case closeBy, spread:
	default:
		return nil, fmt.Errorf("parallel: affinity %q is none of %v", affinity, Affinities())
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

// places returns the processor of each worker.
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

// anywhere is the place of a worker that no processor is chosen for.
const anywhere = -1

// place returns the processor of a worker.
func (p *Pool) place(worker int) int {
	if p.places == nil {
		return anywhere
	}
	return p.places[worker]
}

// Placement returns the processors of the workers, in their order and separated by
// commas; empty if the system chooses them.
func (p *Pool) Placement() string {
	var parts []string
	for _, processor := range p.places {
		parts = append(parts, strconv.Itoa(processor))
	}
	return strings.Join(parts, ",")
}

// pin has the calling thread run on one processor. That was tried when the pool was
// made; if the processor is no longer the process's, the system chooses another.
func pin(processor int) { _ = cpu.PinThread([]int{processor}) }

// pinCaller lets the calling goroutine be pinned until release is called. A thread that
// cannot be set free then is not left to other goroutines: it ends with this one.
func (p *Pool) pinCaller() (release func()) {
	runtime.LockOSThread()
	before := cpu.Allowed()
	return func() {
		if cpu.PinThread(before) == nil || cpu.PinThread(cpu.Places()) == nil {
			runtime.UnlockOSThread()
		}
	}
}
