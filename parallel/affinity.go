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
// with threads as places (OpenMP 5.2, 10.1.3). A place is a processor of the process's
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
// runs: as far as there are processors; beyond, they are gone through again. Affinity
// none pins nothing. The error is gemm.ErrUnavailable where the system pins no threads.
func NewPinnedPool(workers int, affinity string) (*Pool, error) {
	p := NewPool(workers)
	if affinity == none {
		return p, nil
	}
	processors := cpu.Places()
	if len(processors) == 0 {
		return nil, fmt.Errorf("%w: this system pins no threads to processors: use affinity none", gemm.ErrUnavailable)
	}
	var err error
	p.places, err = places(processors, p.workers, affinity)
	return p, err
}

// places returns the processor of each worker.
func places(processors []int, workers int, affinity string) ([]int, error) {
	out := make([]int, workers)
	for w := range out {
		switch {
		case affinity != closeBy && affinity != spread:
			return nil, fmt.Errorf("parallel: affinity %q is none of %v", affinity, Affinities())
		case affinity == closeBy || workers > len(processors):
			out[w] = processors[w%len(processors)]
		default:
			out[w] = processors[w*len(processors)/workers]
		}
	}
	return out, nil
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

// pin has the calling thread run on one processor. It has been one of the process's
// own; if it no longer is, the system chooses.
func pin(processor int) { _ = cpu.PinThread([]int{processor}) }

// pinCaller puts the calling goroutine on the processor of the first worker until
// release is called.
func (p *Pool) pinCaller() (release func()) {
	runtime.LockOSThread()
	before := cpu.Allowed()
	return func() {
		_ = cpu.PinThread(before)
		runtime.UnlockOSThread()
	}
}
