package serial

import (
	"context"
	"math"

	"gemm"
	"gemm/internal/kernel"
	"gemm/internal/tuned"
)

// strassen divides as divide does, all three dimensions at once, but computes the
// four quarters of C from seven products in place of eight (Strassen, Gaussian
// Elimination is not Optimal, Numerische Mathematik 13, 1969):
//
//	M₁ = (A₁₁ + A₂₂)·(B₁₁ + B₂₂)      M₅ = (A₁₁ + A₁₂)·B₂₂
//	M₂ = (A₂₁ + A₂₂)·B₁₁              M₆ = (A₂₁ − A₁₁)·(B₁₁ + B₁₂)
//	M₃ = A₁₁·(B₁₂ − B₂₂)              M₇ = (A₁₂ − A₂₂)·(B₂₁ + B₂₂)
//	M₄ = A₂₂·(B₂₁ − B₁₁)
//
//	C₁₁ = M₁ + M₄ − M₅ + M₇           C₁₂ = M₃ + M₅
//	C₂₁ = M₂ + M₄                     C₂₂ = M₁ − M₂ + M₃ + M₆
//
// A level saves an eighth of the multiplications and pays with 18 additions of
// quarters, five of A, five of B and eight of C. For n = 2^ℓ·n₀ that makes
//
//	7^ℓ·(2n₀³ + 6n₀²) − 6n²
//
// operations. Down to n₀ = 1 the exponent is log₂ 7 ≈ 2.81, at the price of
// additions that do little but move memory: 4·18·(n/2)² elements a level where the
// quarters do not fit. So the recursion ends at the cutoff, where the leaf has
// become faster.
//
// The workspace is a sum of A, a sum of B and a product, quarters each, for every
// level: (mk + kn + mn)/3 elements at most.
//
// The error is bounded by norms only: with k = 2^ℓ·k₀
//
//	|Ĉ − C| ≤ [12^ℓ·(k₀² + 5k₀) − 5k]·u·max|A|·max|B| + O(u²)
//
// (Higham, 2nd ed., theorem 23.2; Brent 1970), where a classical product has k².
// An element of C that is small beside them has no correct digit. And Inf or NaN
// in A or B spreads to quarters that do not contain it, where Inf − Inf makes NaN
// of an Inf.
func strassen[T gemm.Float](r *recursion[T], ctx context.Context, c, a, b gemm.Matrix[T], work []T) error {
	a11, a12, a21, a22 := quarters(a)
	b11, b12, b21, b22 := quarters(b)
	c11, c12, c21, c22 := quarters(c)
	s, work := temporary(work, a11.Rows, a11.Cols)
	t, work := temporary(work, b11.Rows, b11.Cols)
	p, work := temporary(work, c11.Rows, c11.Cols)

	subtract(s, a12, a22)
	add(t, b21, b22)
	if err := r.multiply(ctx, c11, s, t, work); err != nil { // M₇
		return err
	}
	subtract(s, a21, a11)
	add(t, b11, b12)
	if err := r.multiply(ctx, c22, s, t, work); err != nil { // M₆
		return err
	}
	add(s, a11, a22)
	add(t, b11, b22)
	if err := r.multiply(ctx, p, s, t, work); err != nil { // M₁
		return err
	}
	add(c11, c11, p)
	add(c22, c22, p)
	add(s, a21, a22)
	if err := r.multiply(ctx, c21, s, b11, work); err != nil { // M₂
		return err
	}
	subtract(c22, c22, c21)
	subtract(t, b21, b11)
	if err := r.multiply(ctx, p, a22, t, work); err != nil { // M₄
		return err
	}
	add(c11, c11, p)
	add(c21, c21, p)
	subtract(t, b12, b22)
	if err := r.multiply(ctx, c12, a11, t, work); err != nil { // M₃
		return err
	}
	add(c22, c22, c12)
	add(s, a11, a12)
	if err := r.multiply(ctx, p, s, b22, work); err != nil { // M₅
		return err
	}
	add(c12, c12, p)
	subtract(c11, c11, p)
	return nil
}

// strassenScheme is what strassen costs and how its errors grow. For
// max|A| = max|B| = 1 the products of two sums (M₁, M₆, M₇) are at most 4k, those
// of one (M₂ to M₅) at most 2k, with k the half dimension. C₁₁ = M₇ + M₁ + M₄ − M₅
// and C₂₂ = M₆ + M₁ − M₂ + M₃, summed in this order, have the largest error:
// twelve times that of a product; 8k and 2·2k·1 for the roundings of the sums that
// are multiplied, 20k in all; and (4+4)k, (8+2)k and (10+2)k for those of the
// three additions, 30k in all. The whole of it is the recurrence of Higham's
// theorem, F(2k) = 12·F(k) + 25·2k.
var strassenScheme = scheme{
	temporaries: func(m, n, k int) int { return m*k + k*n + m*n },
	sumsA:       5, sumsB: 5, sumsC: 8,
	error: func(e, k, u float64) float64 {
		one := 2*(1+u)*e + 2*k*u                             // a product of one sum
		two := 4*math.Pow(1+u, 2)*e + 4*k*rounding(2, u)     // a product of two
		return 2*two*math.Pow(1+u, 3) + 8*k*rounding(3, u) + // which go through three additions,
			one*math.Pow(1+u, 2) + 2*k*rounding(2, u) + // two
			one*(1+u) + 2*k*u // and one
	},
	first: func(e, k float64) float64 { return 12*e + 50*k },
	// A product's errors are as those of one of operands up to 2; the sum M₁ + M₄ −
	// M₅ + M₇ is at most 12k on the way.
	weight: func(w, k float64) float64 { return max(4*w, 12*k) },
}

func strassenVariant() gemm.Variant {
	return gemm.Variant{
		Name: "serial/strassen",
		Doc:  "Strassen's algorithm: seven products of halves in place of eight, 18 additions, down to the leaf's cutoff",
		Params: []gemm.Param{
			cutoffParam(defaultCutoff(), "least dimension that is not halved any more"),
			leafParam("serial/packed"),
		},
		Model: strassenScheme.model,
		Bound: strassenScheme.bound(),
		F32:   newRecursion(strassenScheme, strassen[float32]),
		F64:   newRecursion(strassenScheme, strassen[float64]),
	}
}

// untunedCutoff is the cutoff of strassen and winograd on a host that was not tuned:
// half of where they begin to be faster than a packed leaf in portable Go.
const untunedCutoff = 256

// defaultCutoff returns the cutoff of strassen and winograd where none is asked for:
// the one that gemm tune measured on this host, or else untunedCutoff. A variant has
// one default for both of its types. Where they were found to differ it is the
// larger, at which neither loses; they seldom do, since float32 halves the time of
// the additions and of the products alike.
func defaultCutoff() int {
	f64, _ := tuned.For("f64", kernel.Best[float64]().Name)
	f32, _ := tuned.For("f32", kernel.Best[float32]().Name)
	if cutoff := max(f64.Cutoff, f32.Cutoff); cutoff > 0 {
		return cutoff
	}
	return untunedCutoff
}
