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
	Lo, Hi  float64 // 95 % interval of the ratio; NaN where a row has none of its median
	P       float64 // two-sided, of Mann and Whitney's test; NaN without samples
	Outcome outcome
}

// contrast compares the times of two rows.
//
// The interval combines those of the two medians: on the logarithmic scale, where
// the ratio is a difference, the distances from each estimate to the ends of its
// interval add as the sides of a right angle (Zou and Donner, Construction of
// confidence limits about effect measures: a general approach, Statistics in
// Medicine 27, 2008). It assumes no distribution beyond what those of the medians
// do, which is none, and needs both of them.
//
// Whether the rows differ is decided by Mann and Whitney's rank test (On a test
// of whether one of two random variables is stochastically larger than the
// other, 1947), which compares all samples and not the medians alone.
func contrast(a, b compare.Record) comparison {
	c := comparison{
		Ratio: float64(a.Median) / float64(b.Median),
		Lo:    math.NaN(), Hi: math.NaN(), P: math.NaN(),
	}
	if a.CI != nil && b.CI != nil {
		down := math.Hypot(math.Log(float64(a.Median)/a.CI[0]), math.Log(b.CI[1]/float64(b.Median)))
		up := math.Hypot(math.Log(a.CI[1]/float64(a.Median)), math.Log(float64(b.Median)/b.CI[0]))
		c.Lo, c.Hi = c.Ratio*math.Exp(-down), c.Ratio*math.Exp(up)
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
