package compare

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"time"

	"gemm/internal/cpu"
	"gemm/internal/peak"
)

// probeTime is how long a processor is tried for its rate.
const probeTime = time.Millisecond

// gather has this process, and what it starts, run on those n processors on which
// multiply-adds of the type run fastest at this moment, until release is called. It is
// for contenders of one turn group: what the scheduler puts on different processors is
// not comparable, since those of a virtual machine share cores with others', and one
// whose neighbour is busy runs at two thirds of the speed, for seconds or minutes.
//
// The processors stay the same for the whole group, also where some contenders use
// fewer of them: threads that were crowded on one do not spread at once. A second thread
// of a core is chosen when all cores have one, however fast it is while the other idles.
func gather(ctx context.Context, typ string, n int) (release func()) {
	all := cpu.Places()
	if n >= len(all) {
		return func() {}
	}
	// Where the system refuses, the choice is the scheduler's.
	release = func() { _ = cpu.Pin(all) }
	rates := map[int]float64{}
	for _, i := range all {
		if cpu.Pin([]int{i}) != nil {
			return release
		}
		rates[i], _ = peak.FMA(ctx, typ, 1, probeTime)
	}
	_ = cpu.Pin(fastest(all, cpu.Topology(), rates)[:n])
	return release
}

// running is how many processors Go used when the process began.
var running = runtime.GOMAXPROCS(0)

// everywhere calls f, which nobody times, on all processors that the process began with: a
// case may have been given fewer, and a rank its share, though the others wait.
func everywhere(f func()) {
	procs, here, all := runtime.GOMAXPROCS(running), cpu.Allowed(), cpu.Places()
	defer runtime.GOMAXPROCS(procs)
	if len(here) < len(all) && cpu.Pin(all) == nil {
		defer func() { _ = cpu.Pin(here) }()
	}
	f()
}

// fastest orders processors by rate, the first of each core before the second.
func fastest(all []int, topology []cpu.Processor, rates map[int]float64) []int {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(i, j int) int { return cmp.Compare(rates[j], rates[i]) })
	core := map[int]int{} // by processor
	for _, p := range topology {
		core[p.ID] = p.Core + 1
	}
	taken := map[int]int{} // processors of a core
	turn := map[int]int{}  // of a processor within its core
	for _, i := range all {
		if core[i] > 0 {
			turn[i] = taken[core[i]]
			taken[core[i]]++
		}
	}
	slices.SortStableFunc(all, func(i, j int) int { return cmp.Compare(turn[i], turn[j]) })
	return all
}
