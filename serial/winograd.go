package serial

import (
	"context"
	"math"

	"gemm"
)

// winograd is strassen in Winograd's form, which uses sums several times. It has 15 additions, the least
// that is possible with seven products (Probert, On the Additive Complexity of Matrix Multiplication,
// SIAM J. Comput. 5(2), 1976):
//
//	S₁ = A₂₁ + A₂₂   S₂ = S₁ − A₁₁   S₃ = A₁₁ − A₂₁   S₄ = A₁₂ − S₂
//	T₁ = B₁₂ − B₁₁   T₂ = B₂₂ − T₁   T₃ = B₂₂ − B₁₂   T₄ = T₂ − B₂₁
//
//	P₁ = A₁₁·B₁₁   P₂ = A₁₂·B₂₁   P₃ = S₄·B₂₂   P₄ = A₂₂·T₄
//	P₅ = S₁·T₁     P₆ = S₂·T₂     P₇ = S₃·T₃
//
//	U₂ = P₁ + P₆   U₃ = U₂ + P₇   U₄ = U₂ + P₅
//
//	C₁₁ = P₁ + P₂   C₁₂ = U₄ + P₃   C₂₁ = U₃ − P₄   C₂₂ = U₃ + P₅
//
// A level adds four quarters of A, four of B and seven of C. For n = 2^ℓ·n₀ that makes 7^ℓ·(2n₀³ + 5n₀²) − 5n²
// operations. Five of the additions of C follow each other, for each tile while a cache has it. Together they read five
// quarters and write three. So the traffic is 48·(n/2)² elements per level, compared with 69.
//
// The order below needs two temporaries, X and Y; the products are formed in the quarters of C (Boyer,
// Dumas, Pernet and Zhou, Memory Efficient Scheduling of Strassen-Winograd's Matrix Multiplication
// Algorithm, ISSAC 2009, table 1, after Douglas, Heroux, Slishman and Smith, GEMMW, 1994). They take
// m·max(k, n)/4 + kn/4 elements per level, and at most (m·max(k, n) + kn)/3 in all.
//
// Sums of sums are larger, so the error bound has 18 in place of strassen's 12:
//
//	|Ĉ − C| ≤ [18^ℓ·(k₀² + 6k₀) − 6k]·u·max|A|·max|B| + O(u²)
//
// (Higham, 2nd ed., theorem 23.3). NaN and Inf spread as in strassen.
//
// The additions are not folded into the leaf. A sum that is used several times must be stored; without
// stored sums there would be 14 terms each of A, B and C, compared with 12 in strassen. With two or more
// levels it is faster than strassen over packed nevertheless, which folds the last level only. T₃ and
// T₄ are used once; forming them while they are packed made no difference.
func winograd[T gemm.Float](r *descent[T], ctx context.Context, c, a, b [4]gemm.Matrix[T], work []T) error {
	a11, a12, a21, a22 := a[0], a[1], a[2], a[3]
	b11, b12, b21, b22 := b[0], b[1], b[2], b[3]
	c11, c12, c21, c22 := c[0], c[1], c[2], c[3]
	m, n, k := c11.Rows, c11.Cols, a11.Cols
	x, _ := temporary(work, m, k)
	p1, _ := temporary(work, m, n) // in place of X, which is no longer needed
	y, work := temporary(work[m*max(k, n):], k, n)

	r.add(addition[T]{x, a11, -1, a21})                      // S₃
	r.add(addition[T]{y, b22, -1, b12})                      // T₃
	if err := r.multiply(ctx, c21, x, y, work); err != nil { // P₇
		return err
	}
	r.add(addition[T]{x, a21, 1, a22})                       // S₁
	r.add(addition[T]{y, b12, -1, b11})                      // T₁
	if err := r.multiply(ctx, c22, x, y, work); err != nil { // P₅
		return err
	}
	r.add(addition[T]{x, x, -1, a11})                        // S₂
	r.add(addition[T]{y, b22, -1, y})                        // T₂
	if err := r.multiply(ctx, c12, x, y, work); err != nil { // P₆
		return err
	}
	r.add(addition[T]{x, a12, -1, x})                          // S₄
	if err := r.multiply(ctx, c11, x, b22, work); err != nil { // P₃
		return err
	}
	if err := r.multiply(ctx, p1, a11, b11, work); err != nil {
		return err
	}
	r.add(
		addition[T]{c12, p1, 1, c12},  // U₂
		addition[T]{c21, c12, 1, c21}, // U₃
		addition[T]{c12, c12, 1, c22}, // U₄
		addition[T]{c22, c21, 1, c22}, // C₂₂
		addition[T]{c12, c12, 1, c11}, // C₁₂
	)
	r.add(addition[T]{y, y, -1, b21})                          // T₄
	if err := r.multiply(ctx, c11, a22, y, work); err != nil { // P₄
		return err
	}
	r.add(addition[T]{c21, c21, -1, c11})                        // C₂₁
	if err := r.multiply(ctx, c11, a12, b21, work); err != nil { // P₂
		return err
	}
	r.add(addition[T]{c11, p1, 1, c11})
	return nil
}

// winogradScheme is what winograd costs and how its errors grow. For max|A| = max|B| = 1, with k the half dimension:
//
//	P₁, P₂   at most k, with the error ε(k) of a product
//	P₃, P₄   at most 4k; 4ε, and 9k for the roundings of S₄, of whose four terms one
//	         is rounded once, one twice and two three times, or of T₄
//	P₅, P₇   at most 4k; 4ε + 8k
//	P₆       at most 9k; 9ε, and 30k for those of S₂, one term once and two twice, and T₂
//	U₂       10k for its own rounding: 10ε + 40k in all
//	U₃, U₄   14k for their own: 14ε + 62k
//	C₁₂, C₂₁ 18k for their own: 18ε + 89k, the largest
//
// Higham's recurrence is F(2k) = 18·F(k) + 48·2k, with 96k in place of 89k.
var winogradScheme = scheme{
	temporaries: func(m, n, k int) int { return m*max(k, n) + k*n },
	sums:        additions{a: 4, b: 4, c: 7},
	again:       12, // of the 20 that U₂ to C₁₂ would move one by one
	grown: func(g growth, k, u float64) growth {
		e, once, twice, thrice := g.worst, rounding(1, u), rounding(2, u), rounding(3, u)
		p3 := 4*math.Pow(1+u, 3)*e + k*(once+twice+2*thrice)
		p7 := 4*math.Pow(1+u, 2)*e + 4*k*twice
		p6 := 9*math.Pow(1+u, 4)*e + k*(once+2*twice)*(6+once+2*twice) // (3+δ)² − 3²
		u2 := (e+p6)*(1+u) + 10*k*u
		u3 := (u2+p7)*(1+u) + 14*k*u
		return growth{
			worst: (u3+p3)*(1+u) + 18*k*u,
			first: 18*g.first + 89*k,
			// P₆ is a product of operands up to 3. The last sums are at most 18k on the way. An element of S₁ or T₁
			// is at most 2, and enters three products with factors of 6 in all.
			weight: max(9*g.weight, 18*k, 12),
		}
	},
}

// winogradCutoff is the cutoff of winograd on a host that was not tuned. With vectors of AVX2, or
// with AVX-512 in two halves, a level pays from n ≈ 400 on.
func winogradCutoff() int {
	if fullWidth() {
		return 1200
	}
	return 380
}

func winogradVariant() gemm.Variant {
	return recursionVariant("serial/winograd", "serial/strassen",
		"Winograd's form of Strassen's algorithm: 15 additions and two temporaries, larger errors",
		nil, winogradScheme, winogradCutoff(), winograd[float32], winograd[float64])
}
