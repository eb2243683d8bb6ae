// Package production has the kernels for use: what the ladders end with. In addition to the idea of its parent, each
// has settings for all shapes, and what products of few tiles and ragged edges need.
package production

import (
	"math"

	"gemm"
	"gemm/cuda/ladder"
	"gemm/roundoff"
)

// split is the arithmetic of products whose operands are split into h + l/2¹¹, two numbers of f16, which have 11
// significant bits, rounded to nearest. With u = 2⁻¹¹ and v = u/(1 + u), h has an error of at most v|x|, and the sum
// of both one of at most v²|x|. So a product has three errors: v²|a||b| for the product of the low parts, which is
// left out, and (1 + v)v²|a||b| for the rounding of either low part. They are less than 3·2⁻²² together.
//
// The tensor cores add chunks of k, each addition with an error of at most 2u of single precision, as above. The
// additions of chunks, of the low sum and of the parts of a tile that is cut along k, and the product with α, have an
// error of at most u each. A chunk is 64 values of k, or 32 in products of TF32. If n chunks are in parts of s each,
// there are at most s + ⌈n/s⌉ ≤ n + 1 additions of chunks and parts. The 2k terms with a low part are at most
// 2⁻¹⁰(1 + v) of |a||b|. They are counted twice, which covers that |h| may be (1 + v)|x| in the other sums.
//
// With f16, the bound holds if elements are at least 2⁻²⁸ of the largest of their row of A, or column of B. A smaller
// one, if it fits, has an error of up to 2⁻⁵⁰ of the largest. No bound for each element of C covers this: if the partner of
// the small one is large and the partners of large ones are 0, the verifier calls the result wrong. Operands that are
// drawn for measurements lie between ½ and 1 or are integers, so none is that small.
var split = func() ladder.Arithmetic {
	bound := ladder.Componentwise(func(k, u float64) float64 {
		const (
			parts = 3 * 0x1p-22 // two elements, and the product that is left out
			low   = 2 * 0x1p-10 // twice the terms with a low part, relative to the others
		)
		u = math.Max(u, gemm.TypeOf[float32]().UnitRoundoff)
		high := 0.0
		for _, chunk := range []float64{64, 32} { // CHUNK: values of k that the tensor cores add
			high = math.Max(high, roundoff.Gamma(math.Min(k, chunk), 2*u)+roundoff.Gamma(math.Ceil(k/chunk)+3, u))
		}
		return (1+parts)*(1+high+low*roundoff.Gamma(2*k, 2*u)) - 1
	})
	bound.LeastShare = 0x1p-28
	return ladder.Arithmetic{Pipe: "f16", Compute: "f16x3", Bound: bound}
}()
