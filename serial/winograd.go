package serial

import (
	"context"

	"gemm"
)

// winogradLevel is strassen in Winograd's form, which uses sums several times. It has 15 additions, the least
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
func winogradLevel[T gemm.Float](ctx context.Context, r *recursion[T], c, a, b quarters[T], d *adder[T],
	free []T) error {
	a11, a12, a21, a22 := a[0], a[1], a[2], a[3]
	b11, b12, b21, b22 := b[0], b[1], b[2], b[3]
	c11, c12, c21, c22 := c[0], c[1], c[2], c[3]
	m, n, k := c11.Rows, c11.Cols, a11.Cols
	x, _ := temporary(free, m, k)
	p1, _ := temporary(free, m, n) // in place of X, which is no longer needed
	y, free := temporary(free[m*max(k, n):], k, n)

	var err error
	multiply := func(p, x, y gemm.Matrix[T]) {
		if err == nil {
			err = r.multiply(ctx, p, x, y, d, free)
		}
	}
	d.add(addition[T]{x, a11, -1, a21}) // S₃
	d.add(addition[T]{y, b22, -1, b12}) // T₃
	multiply(c21, x, y)                 // P₇
	d.add(addition[T]{x, a21, 1, a22})  // S₁
	d.add(addition[T]{y, b12, -1, b11}) // T₁
	multiply(c22, x, y)                 // P₅
	d.add(addition[T]{x, x, -1, a11})   // S₂
	d.add(addition[T]{y, b22, -1, y})   // T₂
	multiply(c12, x, y)                 // P₆
	d.add(addition[T]{x, a12, -1, x})   // S₄
	multiply(c11, x, b22)               // P₃
	multiply(p1, a11, b11)
	d.add(
		addition[T]{c12, p1, 1, c12},  // U₂
		addition[T]{c21, c12, 1, c21}, // U₃
		addition[T]{c12, c12, 1, c22}, // U₄
		addition[T]{c22, c21, 1, c22}, // C₂₂
		addition[T]{c12, c12, 1, c11}, // C₁₂
	)
	d.add(addition[T]{y, y, -1, b21})     // T₄
	multiply(c11, a22, y)                 // P₄
	d.add(addition[T]{c21, c21, -1, c11}) // C₂₁
	multiply(c11, a12, b21)               // P₂
	d.add(addition[T]{c11, p1, 1, c11})
	return err
}

var winogradScheme = scheme{
	products:    7,
	temporaries: func(m, n, k int) int { return m*max(k, n) + k*n },
	a:           4, b: 4, c: 7,
	again:   12, // of the 20 that U₂ to C₁₂ would move one by one
	grown:   winogradGrown,
	untuned: winogradCutoff,
}

func winogradVariant() gemm.Variant {
	return fastVariant("serial/winograd", "serial/strassen",
		"Winograd's form of Strassen's algorithm: 15 additions and two temporaries, larger errors",
		winogradScheme, winogradLevel[float32], winogradLevel[float64])
}
