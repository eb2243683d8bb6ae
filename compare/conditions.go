package compare

import (
	"maps"
	"slices"

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
