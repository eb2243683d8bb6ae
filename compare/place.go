package compare

import (
	"slices"
	"time"

	"gemm/internal/cpu"
	"gemm/internal/peak"
)

// places are the processors that contenders of one turn group run on. Contenders that
// the scheduler puts on different ones are not comparable: a virtual machine's
// processors share cores with those of others, and one whose neighbour is busy runs at
// two thirds of the speed, for seconds or minutes.
type places struct {
	all  []int         // that this process may run on
	sets map[int][]int // by number of processors
}

// probeTime is how long a processor is tried for its rate.
const probeTime = time.Millisecond

// newPlaces chooses, for each number of processors, those on which multiply-adds run
// fastest at this moment. Where there is no choice it chooses nothing.
func newPlaces(pipe string, counts []int) *places {
	p := &places{all: cpu.Allowed(), sets: map[int][]int{}}
	if len(p.all) < 2 {
		return p
	}
	defer p.release()
	rates := map[int]float64{}
	for _, i := range p.all {
		if cpu.Pin([]int{i}) != nil {
			return p
		}
		rates[i], _ = peak.FMA(pipe, 1, probeTime)
	}
	ranked := slices.Clone(p.all)
	slices.SortStableFunc(ranked, func(i, j int) int {
		switch {
		case rates[i] > rates[j]:
			return -1
		case rates[i] < rates[j]:
			return 1
		}
		return 0
	})
	for _, n := range counts {
		if n < len(ranked) {
			p.sets[n] = ranked[:n]
		}
	}
	return p
}

// take has this process, and what it starts, run on the processors chosen for n.
func (p *places) take(n int) {
	set, ok := p.sets[n]
	if !ok {
		set = p.all
	}
	if len(p.all) > 1 {
		_ = cpu.Pin(set) // a refusal leaves the choice to the scheduler
	}
}

// release lets this process run anywhere again.
func (p *places) release() {
	if len(p.all) > 1 {
		_ = cpu.Pin(p.all)
	}
}
