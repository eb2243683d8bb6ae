// Package lab analyses what a well-known lab on a GPU measures: iterated products, and the occupancy of kernels.
package lab

import (
	"math"
	"slices"

	"gemm/compare/record"
	"gemm/compare/report/analysis"
)

// Chain is an iterated product next to one product of the same variant, size and parameters.
type Chain struct {
	analysis.Problem
	Row   record.Record
	Steps int
	One   record.Record // without a variant if it was not measured
	// Each compares one product with a step of the chain: the ratio is below 1 if the steps take longer.
	Each analysis.Comparison
}

// Variant is the row of a variant with its parameters, without the steps of the chain.
func (c Chain) Variant() record.Record {
	c.Row.Params = analysis.Omit(c.Row.Params, "chain")
	return c.Row
}

// Fate is the status of a row without a time.
func (c Chain) Fate() record.Status {
	if c.Row.Speed() {
		return ""
	}
	return c.Row.Status
}

// stepsOf returns the steps of the iterated product of a row; 0: it is one product.
func stepsOf(r record.Record) int {
	steps, _ := r.Params["chain"].(int)
	return steps
}

// step returns the row of a chain as if it were of one of its steps.
func step(r record.Record, steps int) record.Record {
	n := float64(steps)
	r.Median /= record.Number(n)
	r.Samples = slices.Clone(r.Samples)
	for i := range r.Samples {
		r.Samples[i] /= n
	}
	if r.CI != nil {
		r.CI = &[2]float64{r.CI[0] / n, r.CI[1] / n}
	}
	return r
}

// Seconds returns the time of a step, NaN if the chain was not timed.
func (c Chain) Seconds() float64 { return analysis.Known(c.Row, c.Row.Median) / float64(c.Steps) }

// Lost returns what a step takes longer than one product, as a share of the product, NaN if one was not timed.
func (c Chain) Lost() float64 {
	if !c.Row.Speed() || !c.One.Speed() {
		return math.NaN()
	}
	return 1/c.Each.Ratio - 1
}

// Chains returns the iterated products among the rows, in their order.
func Chains(rows []record.Record) []Chain {
	var out []Chain
	rows = analysis.Pick(rows, func(r record.Record) bool { return r.Experiment == record.IteratedProduct })
	for _, r := range rows {
		c := Chain{Problem: analysis.ProblemOf(r), Row: r, Steps: stepsOf(r)}
		if c.Steps == 0 {
			continue
		}
		c.One, _ = analysis.Find(rows, func(o record.Record) bool {
			return stepsOf(o) == 0 && o.Variant == r.Variant && analysis.ProblemOf(o) == c.Problem && o.Host == r.Host &&
				analysis.Omit(o.Params, "chain").String() == c.Variant().Params.String()
		})
		if r.Speed() && c.One.Speed() {
			c.Each = analysis.Versus(c.One, step(r, c.Steps))
		}
		out = append(out, c)
	}
	return out
}
