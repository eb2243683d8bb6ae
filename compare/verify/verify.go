// Package verify checks results of matrix products. It knows which error a result may have, checks
// whether the error is larger, and draws operands for which a wrong element shows.
package verify

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/gf256"
	"gemm/half"
)

// Operation is the product that a result is checked against:
// C = α·op(A)·op(B) + β·C₀, with op(A) m×k, op(B) k×n and C₀ m×n.
type Operation[T gemm.Element] struct {
	TransA, TransB blas.Transpose
	Alpha, Beta    float64
	A, B           gemm.Matrix[T]
	C0             gemm.Matrix[T] // read only where Beta is not 0
}

// Limit is the error that a result may have: a bound of the kind given, without its operands. See gemm.Bound.
type Limit struct {
	Kind  gemm.BoundKind
	Bound float64
}

// Verdict is the outcome of a check.
type Verdict struct {
	Limit
	Residual float64 // the largest error found, normalised as Limit.Kind says
	Reason   string  // why it is not OK; empty if it is
	// Weak: the limit is so wide that an element that is lost would pass.
	Weak bool
	// Vacuous: the limit is no smaller than any element, so that zeros would pass: it proves nothing.
	Vacuous bool
	// Note says what the check accepted or could not decide; empty if there is nothing to say.
	Note string
}

// exceeds says that the residual is above the bound, and where.
func (v Verdict) exceeds(at string) string {
	return fmt.Sprintf("residual %.3g exceeds the %s bound %.3g: %s", v.Residual, v.Kind, v.Bound, at)
}

// OK reports whether the result is within its limit. A residual of NaN is not.
func (v Verdict) OK() bool { return v.Residual <= v.Bound }

// Verifier checks results of one operation.
//
// In half precision a limit is u + (1+u)·γ, with γ for the sums in f32, and an error is compared with
// u·|C| + (1+u)·γ·|A||B|. A limit of 0 is for integers whose sums are exact: C is then the sum, rounded once.
//
// A small product is compared element by element with a reference in twice the working precision. For a large product
// the reference is computed for some rows, among them rows at the edges of tiles. In addition every element enters a
// probe: C·x is compared with A·(B·x), both in twice the working precision, where x has random signs on a block of w
// columns (after Freivalds, Probabilistic machines can use less running time, 1977). If every error obeys |ΔC_ij| ≤
// d_ij, Hoeffding's inequality gives
//
//	|Σ_j ΔC_ij·x_j| ≤ λ·√(Σ_j d_ij²) ≤ λ·β·Σ_l |a_il|·‖b_l‖₂
//
// with a probability of at least 1 − 1e-9 for all probes together; of the other kinds the last term is λ·β·√w times
// their norm. This limit is √w times the limit of one element; the worst case would be w times it. w is chosen so that
// one lost element exceeds the limit of its probe four times, but not so small that the probes take much longer than
// the rows; see floatVerifier.width.
//
// All processors share the work. The result is the same on any number of processors.
type Verifier[T gemm.Element] interface {
	// Check compares c (m×n) with the operation's result.
	Check(c gemm.Matrix[T], limit Limit) Verdict
	// Finite reports whether all operands are: with NaN or Inf among them a
	// result cannot be verified, and Check says so.
	Finite() bool
	// Assures reports whether the limit is smaller than some element of the result: a check
	// with a wider one proves nothing.
	Assures(limit Limit) bool
}

// Unproven is the message for a product of k terms in the type that cannot be verified, because the
// limit is too large. It says what to choose instead.
func (l Limit) Unproven(typ string, k int) string {
	text := fmt.Sprintf("not verified: the only proven bound, %.2g (%s) for k = %d in %s, is larger than the result",
		l.Bound, l.Kind, k, typ)
	if typ == "f32" || gemm.TypeNamed(typ).IsHalf() {
		return text + ": choose f64, or a variant with a smaller bound"
	}
	return text + ": where it does not cancel, choose a variant with a smaller bound"
}

// New prepares the check of results of op. seed draws the probes.
func New[T gemm.Element](op Operation[T], seed uint64) Verifier[T] {
	var v any
	switch op := any(op).(type) {
	case Operation[float32]:
		v = newFloatVerifier(op, seed)
	case Operation[float64]:
		v = newFloatVerifier(op, seed)
	case Operation[half.F16]:
		v = newFloatVerifier(op, seed)
	case Operation[half.BF16]:
		v = newFloatVerifier(op, seed)
	case Operation[gf256.Elem]:
		v = newFieldVerifier(op, seed)
	}
	return v.(Verifier[T])
}

// LimitOf returns the limit of v's results for the operation's shape: the random
// bound for the operands that measuring draws, the worst-case one otherwise.
func LimitOf[T gemm.Element](v gemm.Variant, s gemm.Shape, p gemm.Params, alpha, beta float64, random bool) Limit {
	typ := gemm.TypeOf[T]()
	if typ.IsField() {
		return Limit{Kind: gemm.Exact}
	}
	kind, bound := v.Limit(typ, s, p, alpha == 1 && beta == 0, random)
	return Limit{Kind: kind, Bound: bound}
}

// Independent is the limit of a check that knows nothing of how a product in T is computed: half of the digits of its
// sums, √u, relative to norms that no element exceeds. It is chosen, not derived: sums that lose more are of no use.
// Winograd's algorithm down to 1×1 has lost 1e-4 in f32 at n = 512, of 2.4e-4; a classical product loses 1e-6.
func Independent[T gemm.Element]() Limit {
	typ := gemm.TypeOf[T]()
	return Limit{Kind: gemm.Euclidean, Bound: typ.Rounded(math.Sqrt(typ.SumRoundoff))}
}

// Useful returns the limit, or Independent in place of a normwise one of 1 or more, which would verify nothing.
func Useful[T gemm.Element](l Limit) Limit {
	if l.Kind == gemm.Normwise && !(l.Bound < 1) {
		return Independent[T]()
	}
	return l
}

// maxInteger is the magnitude of the integers that are multiplied at most.
const maxInteger = 64

// ExactIntegers returns the largest magnitude, a power of two, of integers whose products v sums without rounding; 0 if
// there is none. In half precision the sum is rounded once, to a finite number, and q is so small that most sums are
// not changed: the signs are random, so a sum of k terms is about q²·√k.
func ExactIntegers[T gemm.Element](v gemm.Variant, s gemm.Shape, p gemm.Params, alpha, beta float64) int {
	typ := gemm.TypeOf[T]()
	u := typ.SumRoundoff
	if u == 0 || alpha != math.Trunc(alpha) || beta != math.Trunc(beta) {
		return 0
	}
	largest, most := v.BoundWith(typ.Name, p).Largest(s, p), min(1/u, rangeOf[T]().most)
	for q := maxInteger; q > 0; q /= 2 {
		f := float64(q)
		if typ.IsHalf() && q > 1 && f*f*math.Sqrt(largest) > 1/typ.UnitRoundoff {
			continue
		}
		if max(1, math.Abs(alpha))*f*f*largest+math.Abs(beta)*f <= most {
			return q
		}
	}
	return 0
}
