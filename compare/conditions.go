package compare

import (
	"cmp"
	"context"
	"maps"
	"runtime"
	"slices"
	"time"

	"gemm/internal/cpu"
	"gemm/internal/peak"

	"gemm"
)

// The conditions of a measurement are parameters of the experiment: they say how a product is
// measured, not how it is computed. A record has them among the parameters of its variant.
const (
	// processorLimit is what GOMAXPROCS is while the row is measured.
	processorLimit = "gomaxprocs"
	// artificialLoad is an imbalance between the parts of a loop.
	artificialLoad = "load"
)

// conditions returns the conditions under which the variant can be measured.
func conditions(v gemm.Variant) []gemm.Param {
	var out []gemm.Param
	if onThreads(v) {
		out = append(out, gemm.Param{
			Name: processorLimit, Default: 0,
			Doc: "GOMAXPROCS while the row is measured; 0: the number of processors",
		})
	}
	if v.Can.Has(gemm.Loads) {
		out = append(out, gemm.Param{
			Name: artificialLoad, Default: 0, Max: 1000,
			Doc: "artificial imbalance: the last index is computed this many times more often than the first",
		})
	}
	return out
}

// params returns the parameters of the variant and its conditions.
func params(v gemm.Variant) []gemm.Param { return slices.Concat(v.Params, conditions(v)) }

// resolve returns the parameters of the variant and its conditions with defaults for those that
// are not in p.
func resolve(v gemm.Variant, p gemm.Params) (gemm.Params, error) {
	v.Params = params(v)
	return v.Resolve(p)
}

// own returns p without the conditions of the variant.
func own(v gemm.Variant, p gemm.Params) gemm.Params {
	p = maps.Clone(p)
	for _, q := range conditions(v) {
		delete(p, q.Name)
	}
	return p
}

// load returns the artificial load of the case; 0: there is none.
func (c Case) load() int {
	load, _ := c.integer(artificialLoad)
	return load
}

// newMultiplier returns the multiplier of the case under its artificial load.
func newMultiplier[T gemm.Element](c Case) (gemm.Multiplier[T], error) {
	m, err := gemm.New[T](c.Variant, own(c.Variant, c.Params))
	if err != nil || c.load() == 0 {
		return m, err
	}
	return m.(gemm.Loadable[T]).Loaded(c.load()), nil
}

// overloaded returns the model under an artificial load. The parts are computed once to 1+load
// times, which is 1 + load/2 times on average.
func overloaded(m gemm.Model, load int) gemm.Model {
	if load == 0 {
		return m
	}
	factor := 1 + float64(load)/2
	m.Flops *= factor
	m.Accesses *= factor
	if traffic := m.Traffic; traffic != nil {
		m.Traffic = func(cache, line float64) float64 { return factor * traffic(cache, line) }
	}
	return m
}

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

// processors returns the number of processors that a case may use, as GOMAXPROCS has
// it, of those that this process has: as many as the case says where it says so; the
// threads of a rank; all where a GPU computes, for the checks; one
// for the serial family, gonum's variant too; and as many as threads where it is
// compared with others. Threads beyond the processors take turns on them as goroutines
// do, not as the threads of a system that waits for the end of time slices.
func processors(c Case, all int) int {
	if n, ok := c.integer(processorLimit); ok && n > 0 {
		return n
	}
	switch {
	case c.Ranks() > 0:
		return c.each()
	case c.OnDevice():
		return all
	case c.Variant.Location == gemm.InProcess && c.Variant.Role != gemm.Library && !c.Variant.Has("threads"):
		return 1
	case c.Turn != "":
		return min(c.Threads(), all)
	}
	return all
}

// busy returns the number of processors that the threads of a case can keep busy: of
// ranks, which may be on several hosts, as many as they ask for.
func busy(c Case, all int) int {
	if c.Ranks() > 0 {
		return c.Threads()
	}
	return min(c.Threads(), processors(c, all), runtime.NumCPU())
}
