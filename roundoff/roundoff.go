// Package roundoff has the bounds on many roundings that error bounds are made of.
package roundoff

import "math"

// Gamma returns γ_k = k·u/(1 − k·u), the bound on the relative error of k roundings (Higham,
// Accuracy and Stability of Numerical Algorithms, 2nd ed., Lemma 3.1). It is +Inf if k·u ≥ 1.
func Gamma(k, u float64) float64 {
	if k*u >= 1 {
		return math.Inf(1)
	}
	return k * u / (1 - k*u)
}

// Confidence returns the λ for which all of the given roundings stay within λ times their standard
// bound, with a probability of at least 1 − 1e-9: 2·roundings·exp(−λ²/2) = 1e-9. The source is Higham
// and Mary, A New Approach to Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput. 41(5),
// 2019, Theorem 3.1, with the union over all elements.
func Confidence(roundings float64) float64 {
	return math.Sqrt(2 * math.Log(2e9*math.Max(roundings, 1)))
}
