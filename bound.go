package gemm

import "math"

// BoundKind says what an error is compared with.
type BoundKind string

const (
	// Componentwise: |Ĉ − C| ≤ β·|A||B| in every element.
	Componentwise BoundKind = "componentwise"
	// Normwise: max |Ĉ − C| ≤ β·max|A|·max|B|.
	Normwise BoundKind = "normwise"
	// Exact: Ĉ = C; β is 0 and the residual the number of wrong elements.
	Exact BoundKind = "exact"
)

// Bound limits the error of a variant's product Ĉ.
//
// Worst holds for every pair of operands. Random holds for operands whose
// rounding errors are independent with mean zero, as those of random matrices
// are, with a probability of a false alarm below 1e-9 a product; it is smaller
// by about the square root of k, and catches faults that a worst-case bound
// lets pass. u is the unit roundoff of the arithmetic.
type Bound struct {
	Kind   BoundKind
	Worst  func(s Shape, p Params, u float64) float64
	Random func(s Shape, p Params, u float64) float64
	// Largest limits the magnitude of every number that the algorithm computes on
	// the way, for max|A| = max|B| = 1. Integers up to q are multiplied without any
	// rounding where q²·Largest is at most 1/u.
	Largest func(s Shape, p Params) float64
}

// Gamma returns γ_k = k·u/(1 − k·u), the bound on the relative error of k
// roundings (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed.,
// Lemma 3.1); +Inf where k·u ≥ 1.
func Gamma(k, u float64) float64 {
	if k*u >= 1 {
		return math.Inf(1)
	}
	return k * u / (1 - k*u)
}

// Confidence returns the λ with which all of the given number of roundings stay
// within λ times their standard bound, but for a probability of 1e-9:
// 2·roundings·exp(−λ²/2) = 1e-9 (Higham and Mary, A New Approach to
// Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput. 41(5), 2019,
// Theorem 3.1, with the union over all elements).
func Confidence(roundings float64) float64 {
	return math.Sqrt(2 * math.Log(2e9*math.Max(roundings, 1)))
}

// Classical is the bound of every algorithm that sums the k products of an
// element in whatever order: |Ĉ − C| ≤ γ_k·|A||B| (Higham, section 3.5), and
// under the probabilistic model γ̃_k(λ) = exp(λ√k·u + k·u²/(1−u)) − 1 in place of
// γ_k (Higham and Mary 2019, Theorem 3.1). A fused multiply-add rounds less and
// satisfies the same bound.
var Classical = Bound{
	Kind: Componentwise,
	Worst: func(s Shape, _ Params, u float64) float64 {
		return Gamma(float64(s.K), u)
	},
	Random: func(s Shape, _ Params, u float64) float64 {
		mnk := float64(s.M) * float64(s.N) * float64(s.K)
		kf := float64(s.K)
		probable := math.Expm1(Confidence(mnk)*math.Sqrt(kf)*u + kf*u*u/(1-u))
		return math.Min(Gamma(kf, u), probable)
	},
	Largest: func(s Shape, _ Params) float64 { return float64(s.K) },
}
