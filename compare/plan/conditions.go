package plan

import (
	"fmt"
	"maps"
	"slices"

	"gemm"
	"gemm/compare/record"
	"gemm/compare/verify"
)

// conditions returns the conditions under which the variant can be measured.
func conditions(v gemm.Variant) []gemm.Param {
	var out []gemm.Param
	if onThreads(v) {
		out = append(out, gemm.Param{
			Name: record.LimitParam, Default: 0,
			Doc: "GOMAXPROCS while the row is measured; 0: the number of processors",
		})
	}
	if v.Can.Has(gemm.Loads) {
		out = append(out, gemm.Param{
			Name: record.LoadParam, Default: 0, Max: 1000,
			Doc: "artificial imbalance: the last index is computed this many times more often than the first",
		})
	}
	if v.Can.Has(gemm.Chains) || v.Location == gemm.InProcess && !v.Role.Outside() {
		out = append(out, gemm.Param{
			Name: record.ChainParam, Default: 0, Max: verify.MostSteps,
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
	if out[record.ChainParam] == 0 { // as in records before there were chains
		delete(out, record.ChainParam)
	}
	return out, err
}

// WithoutConditions returns p without the conditions of the variant.
func WithoutConditions(v gemm.Variant, p gemm.Params) gemm.Params {
	p = maps.Clone(p)
	for _, q := range conditions(v) {
		delete(p, q.Name)
	}
	return p
}

// Load returns the artificial load of the case; 0: there is none.
func (c Case) Load() int { return c.count(record.LoadParam) }

// Steps returns the steps of the iterated product of the case; 0: it is one product.
func (c Case) Steps() int { return c.count(record.ChainParam) }

// Products returns how many products the case times as one.
func (c Case) Products() float64 { return float64(max(1, c.Steps(), c.Batch)) }

// errChain is the error of an iterated product of operands that are not square, or that are stored in another way, or
// in half precision, in which the sums of its matrices have too few digits.
var errChain = fmt.Errorf("%w: an iterated product is of square matrices of f64, f32 or gf256, without transposes, "+
	"α and β", gemm.ErrParam)

// errBatch: a batch is requested with a condition that batches do not have.
var errBatch = fmt.Errorf("%w: a batch is no iterated product, and has no artificial load and no timeline",
	gemm.ErrParam)
