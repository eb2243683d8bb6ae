package coursework

import (
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
	Each    analysis.Comparison
	Failure record.Status // of a row without a time; else empty
	Seconds float64       // the time of a step, NaN if the chain was not timed
}

// Variant is the row of a variant with its parameters, without the steps of the chain.
func (c Chain) Variant() record.Record {
	c.Row.Params = analysis.Omit(c.Row.Params, "chain")
	return c.Row
}

// stepsOf returns the steps of the iterated product of a row; 0: it is one product.
func stepsOf(r record.Record) int { return analysis.Value[int](r.Params, "chain") }

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
		c.Seconds = analysis.Known(r, r.Median) / float64(c.Steps)
		if r.Speed() && c.One.Speed() {
			c.Each = analysis.Versus(c.One, step(r, c.Steps))
		}
		if !r.Speed() {
			c.Failure = r.Status
		}
		out = append(out, c)
	}
	return out
}
