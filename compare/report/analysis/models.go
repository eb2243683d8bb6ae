package analysis

import (
	"cmp"
	"math"
	"slices"

	"gemm/compare"
)

// Predictions returns the predicted ratios of operations, accesses and traffic of two rows; NaN if a model
// is missing.
func Predictions(before, after compare.Record) [4]float64 {
	nan := math.NaN()
	if before.Predicted == nil || after.Predicted == nil {
		return [4]float64{nan, nan, nan, nan}
	}
	ratio := func(a, b float64) float64 {
		if !(a > 0) || !(b > 0) {
			return nan
		}
		return a / b
	}
	p, q := before.Predicted, after.Predicted
	return [4]float64{ratio(p.Flops, q.Flops), ratio(p.Accesses, q.Accesses), ratio(p.L1Traffic, q.L1Traffic),
		ratio(p.L2Traffic, q.L2Traffic)}
}

// Standing is a row under the roofline of its host (Williams, Waterman and Patterson,
// Roofline: an insightful visual performance model, 2009).
type Standing struct {
	compare.Record
	Intensity float64 // executed operations a byte of predicted traffic
	Rate      float64 // executed operations a second, in 10⁹
	Limit     float64 // the smaller of peak and intensity times bandwidth; NaN if one is not known
	Memory    bool    // the bandwidth is the smaller
}

// Roof places a variant's row at its largest case, cubes preferred, under the
// roofline. It has no place without a prediction of operations and traffic.
func (v *View) Roof(rows []compare.Record, variant string) (Standing, bool) {
	var own []compare.Record
	for _, r := range rows {
		if r.Variant == variant && r.Predicted != nil && r.Predicted.Flops > 0 && r.Predicted.Traffic > 0 {
			own = append(own, r)
		}
	}
	if len(own) == 0 {
		return Standing{}, false
	}
	rank := func(r compare.Record) int {
		if ProblemOf(r).Cube() {
			return 1
		}
		return 0
	}
	r := Standing{Record: slices.MaxFunc(own, func(x, y compare.Record) int {
		return cmp.Or(cmp.Compare(rank(x), rank(y)), ProblemOf(x).Compare(ProblemOf(y)),
			-cmp.Compare(len(x.Params), len(y.Params)))
	}), Limit: math.NaN()}
	r.Intensity = r.Predicted.Flops / r.Predicted.Traffic
	r.Rate = r.Predicted.Flops / float64(r.Median) / 1e9
	peak, ok := v.Ceiling(r.Type, max(r.Threads, 1))
	triad, too := v.Bandwidth(max(r.Threads, 1))
	if ok && too {
		slope := r.Intensity * float64(triad.GBps)
		r.Memory = slope < float64(peak.Gflops)
		r.Limit = math.Min(slope, float64(peak.Gflops))
	}
	return r, true
}

// Class marks a row of a table by its status.
func Class(r compare.Record) string {
	switch {
	case r.Status == compare.Wrong, r.Status == compare.Suspect:
		return "wrong"
	case !r.Speed():
		return "muted"
	}
	return ""
}
