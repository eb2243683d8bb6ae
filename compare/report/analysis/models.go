package analysis

import (
	"cmp"
	"math"
	"slices"

	"gemm"
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

// Cutoff returns the cut-off of a row of the sweep, 0 if it has none.
func Cutoff(r compare.Record) int {
	n, _ := r.Params["cutoff"].(int)
	return n
}

// ErrorRatio returns the ratio of the error of r to that of base, for one case. Residuals of one
// kind are compared directly. A normwise residual is relative to max|A|·max|B|, a componentwise one
// to |A||B|, a Euclidean one to norms. For the operands of measurements, with magnitudes uniform in [½, 1), |A||B| is
// 9/16·k times max|A|·max|B|, and the norms are 7/12·k.
func ErrorRatio(r, base compare.Record) float64 {
	scale := 1.0
	switch {
	case r.BoundKind == base.BoundKind:
	case base.BoundKind != gemm.Componentwise:
		return float64(compare.None())
	case r.BoundKind == gemm.Normwise:
		scale = 9.0 / 16 * float64(r.K)
	case r.BoundKind == gemm.Euclidean:
		scale = (9.0 / 16) / (7.0 / 12)
	}
	return float64(r.Residual) / scale / float64(base.Residual)
}

// Digits is the number of decimal digits that a row's error leaves, NaN if it is not
// known or there is none.
func Digits(r compare.Record) float64 {
	if !r.Speed() || !(r.Residual > 0) {
		return math.NaN()
	}
	return -math.Log10(float64(r.Residual))
}

// DigitsLost is what b has fewer of than a.
func DigitsLost(a, b compare.Record) float64 { return Digits(a) - Digits(b) }
