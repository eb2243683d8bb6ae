package serial

import (
	"math"

	"gemm"
)

// bound returns the bound on the error of the recursion. It is normwise: for an element of C, compared with
// max|A|·max|B|. There is no componentwise bound, since the differences of the schemes cancel (Higham,
// 2nd ed., section 23.2.2).
//
// Worst follows the rounding errors through the recursion, to all orders, beginning with k·γ_k of the
// leaf. Its first-order part is
//
//	F = first(first(…(k₀²)…))
//
// for a leaf of k₀ terms. A peeled term adds its product and one rounding of an element of C, which is at
// most k. The peeled rows and columns of C are classical products.
//
// Random: to first order, the error of an element is Σ w_i·δ_i over all roundings δ_i, with Σ|w_i| ≤ F.
// Every |w_i| is at most W, the largest weight, so Σ w_i² ≤ W·F. If the δ_i are independent with mean
// zero and |δ_i| ≤ u, Hoeffding's inequality gives |Σ w_i·δ_i| ≤ λ·u·√(W·F), except with a probability
// of 2·exp(−λ²/2) per element. The higher orders of Worst are added.
func (s scheme) bound() gemm.Bound {
	grown := func(shape gemm.Shape, p gemm.Params, u float64) growth {
		return s.growth(shape.M, shape.N, shape.K, p.Int("cutoff"), u)
	}
	return gemm.Bound{
		Kind:  gemm.Normwise,
		Worst: func(shape gemm.Shape, p gemm.Params, u float64) float64 { return grown(shape, p, u).worst },
		Random: func(shape gemm.Shape, p gemm.Params, u float64) float64 {
			g := grown(shape, p, u)
			lambda := gemm.Confidence(float64(shape.M) * float64(shape.N))
			higher := max(0, g.worst-u*g.first)
			return math.Min(g.worst, lambda*u*math.Sqrt(g.weight*g.first)+higher)
		},
		// A rounding enters with the weight of the number that is rounded.
		Largest: func(shape gemm.Shape, p gemm.Params) float64 { return grown(shape, p, 0).weight },
	}
}

// growth is how the errors of a product have grown, for max|A| = max|B| = 1.
type growth struct {
	worst  float64 // bound on |Ĉ − C|
	first  float64 // its first-order part, over u
	weight float64 // bound on the weight of one rounding
}

// growth returns the growth of errors in an m×n×k product.
func (s scheme) growth(m, n, k, cutoff int, u float64) growth {
	terms := float64(k)
	classical := growth{worst: terms * gemm.Gamma(terms, u), first: terms * terms, weight: terms}
	if !divides(m, n, k, cutoff) {
		return classical
	}
	g := s.grown(s.growth(m/2, n/2, k/2, cutoff, u), float64(k/2), u)
	if k%2 != 0 {
		g = growth{(g.worst+u)*(1+u) + terms*u, g.first + 1 + terms, max(g.weight, terms)}
	}
	if m%2 != 0 || n%2 != 0 {
		g = growth{max(g.worst, classical.worst), max(g.first, classical.first), max(g.weight, terms)}
	}
	return g
}

// rounding returns (1+u)^times − 1, the relative error of the given number of roundings.
func rounding(times, u float64) float64 { return math.Expm1(times * math.Log1p(u)) }

// strassenGrown returns the growth of errors in a level of strassen, whose products have k terms and the growth g.
// For max|A| = max|B| = 1 and the error ε of a product:
//
//	M₁, M₆, M₇  at most 4k, with an error of 4ε, and 8k·u for the two sums
//	M₂ to M₅    at most 2k; 2ε + 2k·u
//	M₇ + M₁     six products of quarters do not cancel: 6k·u for its own rounding
//	+ M₄ − M₅   four, then two: 4k·u + 2k·u
//
// In all 12ε + 32k·u for C₁₁, and as much for C₂₂, the largest. Higham's recurrence is F(2k) = 12·F(k) + 25·2k.
func strassenGrown(g growth, k, u float64) growth {
	four := 4*math.Pow(1+u, 2)*g.worst + 4*k*rounding(2, u)
	two := 2*(1+u)*g.worst + 2*k*u
	c := 2*four*(1+u) + 6*k*u
	c = (c+two)*(1+u) + 4*k*u
	return growth{worst: (c+two)*(1+u) + 2*k*u, first: 12*g.first + 32*k, weight: max(4*g.weight, 6*k)}
}

// winogradGrown is strassenGrown for winograd:
//
//	P₁, P₂   at most k, with the error ε of a product
//	P₃, P₄   at most 4k; 4ε, and 9k·u for T₄ or for S₄, of whose four terms one
//	         is rounded once, one twice and two three times
//	P₅, P₇   at most 4k; 4ε + 8k·u
//	P₆       at most 9k; 9ε, and 30k·u for S₂ and T₂, of whose terms one is rounded once and two twice
//	U₂       10k·u for its own rounding: 10ε + 40k·u in all
//	U₃, U₄   14k·u for their own: 14ε + 62k·u
//	C₁₂, C₂₁ 18k·u for their own: 18ε + 89k·u, the largest
//
// A weight: P₆ is a product of operands up to 3. The last sums are at most 18k on the way. An element of S₁ or T₁
// is at most 2, and enters three products with factors of 6 in all. Higham's recurrence is
// F(2k) = 18·F(k) + 48·2k, with 96k in place of 89k.
func winogradGrown(g growth, k, u float64) growth {
	e, once, twice, thrice := g.worst, rounding(1, u), rounding(2, u), rounding(3, u)
	p3 := 4*math.Pow(1+u, 3)*e + k*(once+twice+2*thrice)
	p7 := 4*math.Pow(1+u, 2)*e + 4*k*twice
	p6 := 9*math.Pow(1+u, 4)*e + k*(once+2*twice)*(6+once+2*twice) // (3+δ)² − 3²
	u2 := (e+p6)*(1+u) + 10*k*u
	u3 := (u2+p7)*(1+u) + 14*k*u
	return growth{worst: (u3+p3)*(1+u) + 18*k*u, first: 18*g.first + 89*k, weight: max(9*g.weight, 18*k, 12)}
}
