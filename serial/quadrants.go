package serial

import (
	"context"

	"gemm"
)

// quadrantsLevel halves all three dimensions at once. It computes the eight products of quadrants into temporaries, and
// merges them by four additions:
//
//	C₁₁ = A₁₁·B₁₁ + A₁₂·B₂₁      C₁₂ = A₁₁·B₁₂ + A₁₂·B₂₂
//	C₂₁ = A₂₁·B₁₁ + A₂₂·B₂₁      C₂₂ = A₂₁·B₁₂ + A₂₂·B₂₂
//
// This is the division of textbooks, from which strassen saves one product of eight. For n = 2^ℓ·n₀ it executes
//
//	2n³ + n²·(2^ℓ − 1)
//
// operations, since products and their sums are computed apart. divide adds both products to C instead, which saves the
// four additions of a level and the temporaries. Two temporaries serve the four quadrants, one after the other: at most
// 2mn/3 elements on all levels. An odd dimension is peeled, as in strassen: see recursion.
//
// It is classical: every element of C is the sum of its k products in some order.
func quadrantsLevel[T gemm.Float](ctx context.Context, r *recursion[T], c, a, b quarters[T], d *adder[T],
	free []T) error {
	left, free := temporary(free, c[0].Rows, c[0].Cols)
	right, free := temporary(free, c[0].Rows, c[0].Cols)
	for q, sum := range c {
		i, j := q/2, q%2 // C_ij = A_i1·B_1j + A_i2·B_2j
		if err := r.multiply(ctx, left, a[2*i], b[j], d, free); err != nil {
			return err
		}
		if err := r.multiply(ctx, right, a[2*i+1], b[2+j], d, free); err != nil {
			return err
		}
		d.add(addition[T]{sum, left, 1, right})
	}
	return nil
}

var quadrantsScheme = scheme{
	products:    8,
	temporaries: func(m, n, _ int) int { return 2 * m * n },
	c:           4,
}

func quadrantsVariant() gemm.Variant {
	const leaf = "serial/hinted"
	return gemm.Variant{
		Name:   "serial/quadrants",
		Parent: "serial/divide",
		Leaf:   leaf,
		Doc: "divide and conquer: eight products of quadrants into temporaries, merged by four additions, " +
			"down to the cutoff",
		Params: []gemm.Param{cutoffParam(128, meanDoc), leafParam(leaf)},
		Model:  quadrantsScheme.serialModel,
		Ran:    func(s gemm.Shape, p gemm.Params) string { return Undivided(s, p.Int("cutoff"), p.Text("leaf")) },
		Bound:  gemm.Classical,
		F32:    newFast(quadrantsScheme, quadrantsLevel[float32]),
		F64:    newFast(quadrantsScheme, quadrantsLevel[float64]),
	}
}
