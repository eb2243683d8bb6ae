package lab

import (
	"slices"

	"gemm/compare"
	"gemm/compare/report/analysis"
)

// Chain is an iterated product next to one product of the same variant, size and parameters.
type Chain struct {
	Row   compare.Record
	Steps int
	One   compare.Record // without a variant if it was not measured
	// Each compares one product with a step of the chain: the ratio is below 1 if the steps take longer.
	Each analysis.Comparison
}

// stepsOf returns the steps of the iterated product of a row; 0: it is one product.
func stepsOf(r compare.Record) int {
	steps, _ := r.Params["chain"].(int)
	return steps
}

// step returns the row of a chain as if it were of one of its steps.
func step(r compare.Record, steps int) compare.Record {
	n := float64(steps)
	r.Median /= compare.Number(n)
	r.Samples = slices.Clone(r.Samples)
	for i := range r.Samples {
		r.Samples[i] /= n
	}
	if r.CI != nil {
		r.CI = &[2]float64{r.CI[0] / n, r.CI[1] / n}
	}
	return r
}

// Seconds returns the time of a step, and false if the chain was not timed.
func (c Chain) Seconds() (float64, bool) {
	return float64(c.Row.Median) / float64(c.Steps), c.Row.Speed()
}

// Lost returns what a step takes longer than one product, as a share of the product, and false if one was not timed.
func (c Chain) Lost() (float64, bool) { return 1/c.Each.Ratio - 1, c.Row.Speed() && c.One.Speed() }

// Chains returns the iterated products among the rows, in their order.
func Chains(rows []compare.Record) []Chain {
	var out []Chain
	for _, r := range rows {
		steps := stepsOf(r)
		if r.Experiment != compare.IteratedProduct || steps == 0 {
			continue
		}
		c := Chain{Row: r, Steps: steps}
		for _, o := range rows {
			if o.Experiment == compare.IteratedProduct && stepsOf(o) == 0 && o.Variant == r.Variant &&
				analysis.ProblemOf(o) == analysis.ProblemOf(r) && o.Host == r.Host &&
				analysis.Omit(o.Params, "chain").String() == analysis.Omit(r.Params, "chain").String() {
				c.One = o
			}
		}
		if c.Row.Speed() && c.One.Speed() {
			c.Each = analysis.Versus(c.One, step(r, steps))
		}
		out = append(out, c)
	}
	return out
}
