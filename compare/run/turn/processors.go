package turn

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"time"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/internal/cpu"
	"gemm/internal/peak"
)

// newMultiplier returns the multiplier of the case under its artificial load.
func newMultiplier[T gemm.Element](c plan.Case) (gemm.Multiplier[T], error) {
	m, err := gemm.New[T](c.Variant, plan.WithoutConditions(c.Variant, c.Params))
	if err != nil || c.Load() == 0 {
		return m, err
	}
	return m.(record.Loadable[T]).Loaded(c.Load()), nil
}

// probeTime is the time to measure the rate of one processor.
const probeTime = time.Millisecond

// pinFastest pins this process, and the processes that it starts, to the n processors on which multiply-adds of the
// type run fastest at this moment, until release is called.
//
// The candidates of a turn have to run on the same processors. The processors of a virtual machine share cores with
// other machines, and one with a busy neighbour has two thirds of its speed, for seconds or minutes.
//
// The processors stay the same for the whole turn, even if some candidates use fewer of them: threads that were
// crowded on one processor do not spread at once. The second hardware thread of a core is chosen only after all
// cores have one, however fast it is while the first is idle.
func pinFastest(ctx context.Context, pipe string, n int) (release func()) {
	all := cpu.Places()
	if n >= len(all) {
		return func() {}
	}
	// If the system refuses to pin, its scheduler chooses.
	release = func() { _ = cpu.Pin(all) }
	rates := map[int]float64{}
	for _, i := range all {
		if cpu.Pin([]int{i}) != nil {
			return release
		}
		rates[i], _ = peak.FMA(ctx, pipe, 1, probeTime)
	}
	_ = cpu.Pin(fastest(all, cpu.Processors(), rates)[:n])
	return release
}

// running is GOMAXPROCS at the start of the process.
var running = runtime.GOMAXPROCS(0)

// onAllProcessors calls f, which is not timed, on all processors that the process had at its start. A case
// may use fewer, and a rank only its share, although the other ranks wait.
func onAllProcessors(f func()) {
	procs, here, all := runtime.GOMAXPROCS(running), cpu.Allowed(), cpu.Places()
	defer runtime.GOMAXPROCS(procs)
	if len(here) < len(all) && cpu.Pin(all) == nil {
		defer func() { _ = cpu.Pin(here) }()
	}
	f()
}

// fastest sorts processors by rate, the first hardware threads of all cores before the second ones.
func fastest(all []int, topology []cpu.Processor, rates map[int]float64) []int {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(i, j int) int { return cmp.Compare(rates[j], rates[i]) })
	core := map[int]int{} // core of a processor
	for _, p := range topology {
		core[p.ID] = p.Core
	}
	taken := map[int]int{} // number of processors of a core so far
	turn := map[int]int{}  // index of a processor within its core
	for _, i := range all {
		if c, ok := core[i]; ok {
			turn[i] = taken[c]
			taken[c]++
		}
	}
	slices.SortStableFunc(all, func(i, j int) int { return cmp.Compare(turn[i], turn[j]) })
	return all
}

// processors returns GOMAXPROCS for a case, if this process has all processors:
//
//	the condition gomaxprocs             its value
//	ranks                                the threads of a rank
//	GPU                                  all, for the checks
//	variants without threads             1
//	variants in a turn                   their threads, at most all
//	otherwise                            all
//
// If a case has more threads than that, its goroutines take turns by Go's scheduler. Threads of the
// operating system would wait for the ends of time slices.
func processors(c plan.Case, all int) int {
	if n, ok := c.Integer(record.LimitParam); ok && n > 0 {
		return n
	}
	switch {
	case c.Ranks() > 0:
		return c.Each()
	case c.OnDevice():
		return all
	case c.Variant.Location == gemm.InProcess && !c.Foreign() && !c.Variant.Has("threads"):
		return 1
	case c.Turn != "":
		return min(c.Threads(), all)
	}
	return all
}

// busy returns the number of processors that the threads of a case keep busy. For ranks, which may
// be on several hosts, it is the number of all their threads.
func busy(c plan.Case, all int) int {
	if c.Ranks() > 0 {
		return c.Threads()
	}
	return min(c.Threads(), processors(c, all), runtime.NumCPU())
}
