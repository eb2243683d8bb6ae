package verify

import (
	"math"
	"math/bits"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"

	"gemm"
)

// MostSteps is the number of products of a Chain at most. With more, the elements of B would be below the last digit
// of S in f32.
const MostSteps = 1000

// Chain is an iterated product of n×n matrices in N steps. A₀ is A, and S₀ is S, the initial copy. Step i = 1 … N is
//
//	Sᵢ = Sᵢ₋₁ + B      in place
//	Aᵢ = Aᵢ₋₁·Sᵢ       into another matrix, which then takes the place of Aᵢ₋₁
//
// The result is A_N = A·S₁·S₂·…·S_N with Sᵢ = S + i·B. In GF(2⁸) addition is XOR: S₁, S₃, … are S + B, and S₂, S₄, …
// are S again.
type Chain[T gemm.Element] struct {
	N       int
	A, S, B gemm.Matrix[T]
}

// DrawChain returns the operands of a chain of n×n matrices with rows ld elements apart.
//
// Signs are drawn as by Draw, the same for the rows and the columns of S and of B: all terms of an element of a product
// have one sign, and |A_N| = |A||S₁|…|S_N|. Elements of A have magnitudes in [½, 1).
//
// A product by S multiplies magnitudes by about n·|s|. So the magnitudes of S are around 1/n, within a third of that,
// and in chains of more than n steps within n/3N of it. B is smaller than S by the factor N·max(N, 8), and all
// additions together enlarge S by an eighth on average at most. So a result is larger than A by a small factor,
// whatever N and n are: nothing overflows, and nothing vanishes.
//
// S and B are multiples of one power of two, so small that all Sᵢ are below 2^p of it, where p is the bits of a
// significand. So the additions are exact, and only the products have errors.
func DrawChain[T gemm.Element](n, ld, steps int, seed uint64) Chain[T] {
	c := Chain[T]{steps, allocate[T](n, n, ld), allocate[T](n, n, ld), allocate[T](n, n, ld)}
	if gemm.TypeOf[T]().Name == "gf256" {
		concurrently(
			func() { draw(c.A, false, seed, streamR, streamS) },
			func() { draw(c.S, false, seed, streamS, streamT) },
			func() { draw(c.B, false, seed, streamR, streamT) },
		)
		return c
	}
	exponent := bits.Len(uint(max(1, n) - 1)) // 1/n is centre·2^-exponent
	centre := math.Ldexp(1, exponent) / float64(max(1, n))
	digits := -math.Ilogb(gemm.TypeOf[T]().UnitRoundoff) - 2 // after the point, of a significand of numbers below 4
	step := math.Ldexp(centre, digits) / float64(steps*max(steps, 8))
	spread := min(1, float64(n)/float64(steps)) / 3
	fill := func(x gemm.Matrix[T], stream uint64, middle, width float64) {
		rng, sign := rand.New(rand.NewPCG(seed, stream)), signs(n, rand.New(rand.NewPCG(seed, streamS)))
		for i := range n {
			row := x.Row(i)
			for j := range row {
				whole := math.Max(1, math.Floor(middle+width*(2*rng.Float64()-1)))
				row[j] = gemm.FromFloat64[T](sign[i] * sign[j] * math.Ldexp(whole, -digits-exponent))
			}
		}
	}
	middle := math.Ldexp(centre, digits)
	concurrently(
		func() { draw(c.A, false, seed, streamR, streamS) },
		func() { fill(c.S, streamS<<8|streamT, middle, middle*spread) },
		func() { fill(c.B, streamR<<8|streamT, step, step/2) },
	)
	return c
}

// IntegerChain returns a chain of integers whose result is exact, with q the largest magnitude in A and B, and the
// product that has the same result, for a Verifier.
//
// S is the identity. B has elements only in the rows of half of all indices, and only in the columns of the others.
// So B·B = 0, and (1 + B)(1 + 2B)…(1 + N·B) = 1 + N(N+1)/2·B, which stays small for all N.
func IntegerChain[T gemm.Element](n, ld, steps int, seed uint64, q int) (Chain[T], Operation[T]) {
	o := DrawIntegers[T](Layout{Shape: gemm.Cube(n), TransA: blas.NoTrans, TransB: blas.NoTrans, Alpha: 1,
		LDA: ld, LDB: ld, LDC: ld}, seed, q)
	c := Chain[T]{steps, o.A, allocate[T](n, n, ld), o.B}
	of := allocate[T](n, n, ld)
	first := make([]bool, n) // the indices of rows
	for _, i := range rand.New(rand.NewPCG(seed, streamS)).Perm(n)[:n/2] {
		first[i] = true
	}
	sum := float64(steps) * float64(steps+1) / 2
	zero, one := gemm.FromFloat64[T](0), gemm.FromFloat64[T](1)
	for i := range n {
		b, whole := c.B.Row(i), of.Row(i)
		for j := range b {
			if !first[i] || first[j] {
				b[j] = zero
			}
			whole[j] = gemm.FromFloat64[T](sum * number(b[j]))
		}
		whole[i], c.S.Row(i)[i] = one, one
	}
	return c, Operation[T]{TransA: blas.NoTrans, TransB: blas.NoTrans, A: c.A, B: of, Alpha: 1}
}

// number returns a floating-point element as float64.
func number[T gemm.Element](x T) float64 {
	switch x := any(x).(type) {
	case float32:
		return float64(x)
	case float64:
		return x
	}
	return 0
}

// ExactChain is ExactIntegers for IntegerChain. The last product has operands of up to q + n/2·N(N−1)/2·q² and N·q.
// Arithmetic that is coarser than the type has no room for the first.
func ExactChain[T gemm.Element](v gemm.Variant, s gemm.Shape, p gemm.Params, steps int) int {
	u := gemm.TypeOf[T]().UnitRoundoff
	if u == 0 || v.Compute != "" {
		return 0
	}
	n, last := float64(s.N), float64(steps)
	largest := v.BoundWith(gemm.TypeOf[T]().Name, p).Largest(s, p)
	for q := maxInteger; q > 0; q /= 2 {
		f := float64(q)
		before := f + n/2*last*(last-1)/2*f*f
		if before*last*f*largest <= 1/u {
			return q
		}
	}
	return 0
}
