package gemm

import (
	"math"

	"gemm/roundoff"
)

// BoundKind says what an error is compared with.
type BoundKind string

const (
	// Componentwise: |Ĉ − C| ≤ β·|A||B| in every element.
	Componentwise BoundKind = "componentwise"
	// Normwise: max |Ĉ − C| ≤ β·max|A|·max|B|.
	Normwise BoundKind = "normwise"
	// Euclidean: max |Ĉ − C| ≤ β·max‖aᵢ‖₂·max‖bⱼ‖₂, over the rows of A and the columns of B. Results are checked so,
	// too, if the variant's own bound proves nothing.
	Euclidean BoundKind = "euclidean"
	// Exact: Ĉ = C; β is 0 and the residual the number of wrong elements.
	Exact BoundKind = "exact"
)

// Bound limits the error of a variant's product Ĉ.
//
// Worst holds for every pair of operands. Random holds for operands whose rounding errors are independent with mean
// zero, such as random matrices; the probability that a correct product exceeds it is below 1e-9. It is smaller than
// Worst by a factor of about √k, and so finds faults that a worst-case bound misses. u is the unit roundoff of the
// arithmetic, SumRoundoff of the type; the rounding of C to half precision is added by Type.Rounded.
type Bound struct {
	Kind   BoundKind
	Worst  func(s Shape, p Params, u float64) float64
	Random func(s Shape, p Params, u float64) float64
	// Largest limits the magnitude of every number that the algorithm computes on the way, for max|A| = max|B| = 1.
	// Integers up to q are multiplied without any rounding where q²·Largest is at most 1/u.
	Largest func(s Shape, p Params) float64
	// LeastShare is the least magnitude of an element but 0 for which the bound holds, relative to the largest of its
	// matrix; 0: it holds for all elements.
	LeastShare float64
}

// Rounded returns the bound on an element of type t of a product whose sums have the bound. For half precision there
// is one more rounding, of the sum: u·|Ĉ| is at most u·(1 + bound)·|A||B|.
func (t Type) Rounded(bound float64) float64 {
	if !t.IsHalf() {
		return bound
	}
	return t.UnitRoundoff + (1+t.UnitRoundoff)*bound
}

// Classical is the bound of every algorithm that sums the k products of an element, in any order.
// In the worst case |Ĉ − C| ≤ γ_k·|A||B| (Higham, section 3.5). Under the probabilistic model γ_k
// is replaced by γ̃_k(λ) = exp(λ√k·u + k·u²/(1−u)) − 1 (Higham and Mary 2019, Theorem 3.1). A fused
// multiply-add rounds less often, so the bounds hold for it too.
var Classical = Bound{
	Kind: Componentwise,
	Worst: func(s Shape, _ Params, u float64) float64 {
		return roundoff.Gamma(float64(s.K), u)
	},
	Random: func(s Shape, _ Params, u float64) float64 {
		mnk := float64(s.M) * float64(s.N) * float64(s.K)
		kf := float64(s.K)
		probable := math.Expm1(roundoff.Confidence(mnk)*math.Sqrt(kf)*u + kf*u*u/(1-u))
		return math.Min(roundoff.Gamma(kf, u), probable)
	},
	Largest: func(s Shape, _ Params) float64 { return float64(s.K) },
}
