package compare

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"time"

	"gemm/internal/cpu"
	"gemm/internal/peak"

	"gemm"
	"gemm/compare/optional"
	"gemm/compare/verify"
)

// The conditions of a measurement are parameters of the experiment: they say how a product is
// measured, not how it is computed. In a record they are among the parameters of the variant.
const (
	// processorLimit is the value of GOMAXPROCS during the row.
	processorLimit = "gomaxprocs"
	// artificialLoad is an imbalance between the parts of a loop, see optional.Loadable.
	artificialLoad = "load"
	// iterations is the number of steps of an iterated product, see verify.Chain.
	iterations = "chain"
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
	if v.Can.Has(gemm.Chains) || v.Location == gemm.InProcess && !v.Role.Outside() {
		out = append(out, gemm.Param{
			Name: iterations, Default: 0, Max: verify.MostSteps,
			Doc: "steps of an iterated product, timed as a whole; 0: one product",
		})
	}
	return out
}

// params returns the parameters of the variant and its conditions.
func params(v gemm.Variant) []gemm.Param { return slices.Concat(v.Params, conditions(v)) }

// resolve completes p, parameters of the variant and its conditions, by the defaults.
func resolve(v gemm.Variant, p gemm.Params) (gemm.Params, error) {
	v.Params = params(v)
	out, err := v.Resolve(p)
	if out[iterations] == 0 { // as in records before there were chains
		delete(out, iterations)
	}
	return out, err
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

// chain returns the steps of the iterated product of the case; 0: it is one product.
func (c Case) chain() int {
	steps, _ := c.integer(iterations)
	return steps
}

// products returns how many products the case times as one.
func (c Case) products() float64 { return float64(max(1, c.chain(), c.Batch)) }

// errChain is the error of an iterated product of operands that are not square, or that are stored in another way, or
// in half precision, in which the sums of its matrices have too few digits.
var errChain = fmt.Errorf("%w: an iterated product is of square matrices of f64, f32 or gf256, without transposes, "+
	"α and β", gemm.ErrParam)

// errBatch is the error of a batch that is asked for with something that batches do not have.
var errBatch = fmt.Errorf("%w: a batch is no iterated product, and has no artificial load and no timeline",
	gemm.ErrParam)

// newMultiplier returns the multiplier of the case under its artificial load.
func newMultiplier[T gemm.Element](c Case) (gemm.Multiplier[T], error) {
	m, err := gemm.New[T](c.Variant, own(c.Variant, c.Params))
	if err != nil || c.load() == 0 {
		return m, err
	}
	return m.(optional.Loadable[T]).Loaded(c.load()), nil
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

// iterated returns the model of an iterated product of n×n matrices. An addition reads two matrices and writes one.
func iterated(m gemm.Model, steps, n int) gemm.Model {
	if steps == 0 {
		return m
	}
	times, elements := float64(steps), float64(n)*float64(n)
	m.Flops, m.Accesses = times*(m.Flops+elements), times*(m.Accesses+3*elements)
	if traffic := m.Traffic; traffic != nil {
		m.Traffic = func(cache, line float64) float64 { return times * (traffic(cache, line) + 3*elements) }
	}
	return m
}

// several returns the model of a batch; 0 products are one. All have one workspace.
func several(m gemm.Model, batch int) gemm.Model {
	if batch < 2 {
		return m
	}
	times := float64(batch)
	m.Flops, m.Accesses = times*m.Flops, times*m.Accesses
	if traffic := m.Traffic; traffic != nil {
		m.Traffic = func(cache, line float64) float64 { return times * traffic(cache, line) }
	}
	return m
}

// probeTime is the time to measure the rate of one processor.
const probeTime = time.Millisecond

// pinFastest pins this process, and the processes that it starts, to the n processors on which
// multiply-adds of the type run fastest at this moment, until release is called.
//
// The contenders of a turn have to run on the same processors. The processors of a virtual machine
// share cores with other machines, and one with a busy neighbour has two thirds of its speed, for
// seconds or minutes.
//
// The processors stay the same for the whole turn, even if some contenders use fewer of them:
// threads that were crowded on one processor do not spread at once. The second hardware thread of a
// core is chosen only after all cores have one, however fast it is while the first is idle.
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
	_ = cpu.Pin(fastest(all, cpu.Topology(), rates)[:n])
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
	core := map[int]int{} // core of a processor, plus 1
	for _, p := range topology {
		core[p.ID] = p.Core + 1
	}
	taken := map[int]int{} // number of processors of a core so far
	turn := map[int]int{}  // index of a processor within its core
	for _, i := range all {
		if core[i] > 0 {
			turn[i] = taken[core[i]]
			taken[core[i]]++
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
func processors(c Case, all int) int {
	if n, ok := c.integer(processorLimit); ok && n > 0 {
		return n
	}
	switch {
	case c.Ranks() > 0:
		return c.each()
	case c.OnDevice():
		return all
	case c.Variant.Location == gemm.InProcess && !c.foreign() && !c.Variant.Has("threads"):
		return 1
	case c.Turn != "":
		return min(c.Threads(), all)
	}
	return all
}

// busy returns the number of processors that the threads of a case keep busy. For ranks, which may
// be on several hosts, it is the number of all their threads.
func busy(c Case, all int) int {
	if c.Ranks() > 0 {
		return c.Threads()
	}
	return min(c.Threads(), processors(c, all), runtime.NumCPU())
}
