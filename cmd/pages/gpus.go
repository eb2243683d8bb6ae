package main

import (
	"cmp"
	"slices"
	"strings"

	"gemm/compare/record"
	"gemm/compare/report/analysis"
)

// onGPUs is a product on some GPUs, compared with a kernel on one of them.
type onGPUs struct {
	analysis.Scaled
	Kernel string // of each GPU
}

// By returns the variant that computes.
func (x onGPUs) By() string { return x.Last.Variant }

// On returns the number of GPUs, of which each rank has one.
func (x onGPUs) On() int { return max(1, x.Scaled.On()) }

// Efficiency returns the speed-up over the number of GPUs.
func (x onGPUs) Efficiency() float64 { return x.Ratio / float64(x.On()) }

// OnGPUs returns the square products that several GPUs computed, in one process or on ranks. For each type, size and
// kernel the list begins with one GPU, by the kernel and by libraries.
func (r *committed) OnGPUs() []onGPUs {
	var out []onGPUs
	kernel := func(x record.Record) string { return analysis.Value[string](x.Resolved, "local") }
	all := analysis.Pick(r.Records, func(x record.Record) bool {
		return analysis.ProblemOf(x).Cube() && x.Speed() && x.Median > 0
	})
	for _, rows := range analysis.GroupBy(all, func(x record.Record) string { return x.Type + x.Shape.Label() }) {
		for _, name := range analysis.Distinct(rows, kernel) {
			one, ok := analysis.Find(rows, func(x record.Record) bool { return x.Variant == name })
			if !ok {
				continue
			}
			var ladder []onGPUs
			for _, x := range rows {
				axis := analysis.OverGPUs
				if len(x.Ranks) > 0 {
					axis = analysis.OverRanks
				}
				library := strings.HasPrefix(x.Variant, "cuda/cublas") && x.Compute == one.Compute
				if library || x.Variant == name || kernel(x) == name && axis.Count(x) > 1 {
					s := analysis.Series{Axis: axis, Rows: []record.Record{one, x}}
					ladder = append(ladder, onGPUs{analysis.Scaled{Series: s, Last: x, Comparison: analysis.ComparePair(one, x)},
						name})
				}
			}
			slices.SortStableFunc(ladder, func(x, y onGPUs) int {
				return cmp.Or(cmp.Compare(len(x.Last.Ranks), len(y.Last.Ranks)), cmp.Compare(x.On(), y.On()))
			})
			out = append(out, ladder...)
		}
	}
	return out
}
