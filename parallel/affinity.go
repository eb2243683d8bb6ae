package parallel

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"gemm"
	"gemm/internal/cpu"
)

// Names of affinities: which processor each worker runs on, as OMP_PROC_BIND has it
// with threads as places (OpenMP 5.2, 10.1.3), as far as there are places. A place is a processor of the process's
// own mask, in the order of memory nodes, sockets and cores, threads of a core side by
// side.
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

// NewPinnedPool is NewPool with each worker on a processor of its own, while a loop
// runs: as far as there are processors; beyond, they are gone through again, where
// OpenMP puts neighbours on one. Affinity none pins nothing. The error is
// gemm.ErrUnavailable where the system does not pin threads.
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
// commas; empty where the system chooses them.
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
