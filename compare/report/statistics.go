package report

import (
	"math"

	"github.com/aclements/go-moremath/stats"

	"gemm/compare"
)

// significance is the probability of error below which two rows are called different.
const significance = 0.01

// outcome is what a comparison of two rows says.
type outcome int

const (
	tooFew  outcome = iota // no samples could be told apart with p < significance: there are too few
	level                  // not distinguishable
	quicker                // the second row takes less time
	slower                 // the second row takes more time
)

// comparison is a row held against another.
type comparison struct {
	Ratio   float64 // the first row's median over the second's: above 1 where the second is faster
	Lo, Hi  float64 // interval of the ratio, of at least 95 %; NaN where there are too few samples
	P       float64 // two-sided, of Mann and Whitney's test; NaN without samples
	Outcome outcome
}

// contrast compares the times of two rows.
//
// The interval is exact and assumes no distribution: order statistics bound each
// median at the level √0.95, the two samples are independent, so that both
// bounds hold at once with at least 0.95, and then the ratio of the medians lies
// between the quotients of opposite ends. It needs seven samples a row.
//
// Whether the rows differ is decided by Mann and Whitney's rank test (On a test
// of whether one of two random variables is stochastically larger than the
// other, 1947), which compares all samples and not the medians alone.
func contrast(a, b compare.Record) comparison {
	c := comparison{
		Ratio: float64(a.Median) / float64(b.Median),
		Lo:    math.NaN(), Hi: math.NaN(), P: math.NaN(),
	}
	aLo, aHi := medianBounds(a.Samples)
	bLo, bHi := medianBounds(b.Samples)
	if lo, hi := aLo/bHi, aHi/bLo; lo > 0 && !math.IsInf(hi, 0) {
		c.Lo, c.Hi = lo, hi
	}
	if len(a.Samples) == 0 || len(b.Samples) == 0 {
		return c
	}
	c.P = rankTest(a.Samples, b.Samples)
	switch {
	case !(2/combinations(len(a.Samples)+len(b.Samples), len(a.Samples)) < significance):
		c.Outcome = tooFew
	case c.P < significance && c.Ratio > 1:
		c.Outcome = quicker
	case c.P < significance && c.Ratio < 1:
		c.Outcome = slower
	default:
		c.Outcome = level
	}
	return c
}

// medianBounds returns the order statistics that enclose the median at the level
// √0.95; infinite or NaN where there are fewer than seven samples.
func medianBounds(samples []float64) (lo, hi float64) {
	if len(samples) == 0 {
		return math.NaN(), math.NaN()
	}
	_, lo, hi = stats.QuantileCI(len(samples), 0.5, math.Sqrt(0.95)).SampleCI(stats.Sample{Xs: samples})
	return lo, hi
}

// rankTest returns the two-sided p value of Mann and Whitney's test, 1 where all
// samples are equal.
func rankTest(a, b []float64) float64 {
	result, err := stats.MannWhitneyUTest(a, b, stats.LocationDiffers)
	if err != nil {
		return 1
	}
	return math.Min(result.P, 1)
}

// combinations returns the number of ways to choose k of n: the number of equally
// likely rankings under the hypothesis that the rows do not differ, of which the
// two extreme ones are the most that a rank test can see.
func combinations(n, k int) float64 {
	c := 1.0
	for i := 1; i <= min(k, n-k); i++ {
		c *= float64(n-i+1) / float64(i)
	}
	return c
}
