package block

import (
	"context"
	"math"
	"math/bits"
	"unsafe"

	"gemm/internal/kernel"
)

// margin is the exponent of the largest α, and of the largest 1/α, that multiplies only sums of products. For such an
// α, what a product loses by underflow, times α, is at most the least normal number.
const margin = 24

// IsModerate reports whether α multiplies only sums of products.
func IsModerate[T kernel.Float](alpha T) bool {
	const least, most = 1.0 / (1 << margin), 1 << margin
	return alpha >= least && alpha <= most || alpha <= -least && alpha >= -most
}

// Rescale returns operands with the same product α·A·B. They are the given ones if α is moderate. Otherwise α may
// multiply a copy of an operand, so that no element, product or sum leaves the range of T without need:
//
//   - α = 1e300, A = B = 1e-200: A·B underflows, (α·A)·B does not;
//   - α = 1e-300, A = B = 1e200: A·B overflows, (α·A)·B does not;
//   - α = 1e300, A = 1e200, B = 1e-300: α·A overflows, A·(α·B) does not.
//
// If the elements of A and of B differ so much that neither order fits, small elements underflow
// in Rescale; Engine.Gemm is exact then too. A is m×k and B is k×n. If ctx is cancelled, Rescale returns the error of
// ctx.
func Rescale[T kernel.Float](ctx context.Context, m, n, k int, alpha T, a, b View[T]) (T, View[T], View[T], error) {
	if alpha == 0 || IsModerate(alpha) {
		return alpha, a, b, nil
	}
	alpha, a, b, _, err := rescale(ctx, m, n, k, alpha, a, b)
	return alpha, a, b, err
}

// rescale is Rescale, and reports whether nothing is lost: nothing overflows unless the result comes near to that, and
// what underflows is not multiplied by more than 2^margin afterwards.
func rescale[T kernel.Float](ctx context.Context, m, n, k int, alpha T, a, b View[T]) (_ T, _, _ View[T], fits bool,
	err error) {
	x, y := a.extent(ctx, m, k), b.extent(ctx, k, n)
	_, e := math.Frexp(float64(alpha))
	low, top := -1022, 1023
	if unsafe.Sizeof(alpha) == 4 {
		low, top = -126, 127
	}
	holds := func(x, y extent) bool { // (α·X)·Y
		return e+x.high <= top && (e+x.low-2 >= low || y.high <= margin)
	}
	first, second := holds(x, y), holds(y, x)
	switch fits = first || second; {
	case (e > -margin || x.high+y.high+bits.Len(uint(k)) <= top) && (e <= margin || x.low+y.low-2 >= low):
		return alpha, a, b, true, ctx.Err()
	case first || !second && (x.high <= y.high) == (e > 0): // the smaller operand is enlarged, the larger one reduced
		a = a.times(ctx, m, k, alpha)
	default:
		b = b.times(ctx, k, n, alpha)
	}
	return 1, a, b, fits, ctx.Err()
}

// extent is a range of magnitudes: numbers other than 0 are at least 2^(low−1) and below 2^high.
type extent struct{ low, high int }

// extent returns the range of the finite elements.
func (v View[T]) extent(ctx context.Context, rows, cols int) extent {
	var least, most T
	for i := 0; i < rows && ctx.Err() == nil; i++ {
		for l := range cols {
			x := v.Data[i*v.Row+l*v.Col]
			if x = max(x, -x); x == 0 || x-x != 0 { // 0, Inf or NaN
				continue
			}
			if most = max(most, x); least == 0 || x < least {
				least = x
			}
		}
	}
	_, low := math.Frexp(float64(least))
	_, high := math.Frexp(float64(most))
	return extent{low, high}
}

// times returns a copy of v with every element times α.
func (v View[T]) times(ctx context.Context, rows, cols int, alpha T) View[T] {
	out := View[T]{make([]T, rows*cols), cols, 1}
	for i := 0; i < rows && ctx.Err() == nil; i++ {
		row := out.Data[i*cols:][:cols]
		for l := range row {
			row[l] = alpha * v.Data[i*v.Row+l*v.Col]
		}
	}
	return out
}

// each computes C ← α·A·B + β·C, every element with an exponent of its own. It is slow, and for operands whose elements
// differ so much that no other order fits.
func (e *Engine[T]) each(ctx context.Context, m, n, k int, alpha T, a, b View[T], beta T, c View[T]) error {
	e.loop.Run(e.loop.Workers(), m, func(_, lo, hi int) {
		for i := lo; i < hi && ctx.Err() == nil; i++ {
			for j := range n {
				var sum wide
				for l := range k {
					x, y := a.Data[i*a.Row+l*a.Col], b.Data[l*b.Row+j*b.Col]
					sum = sum.plus(float64(alpha), float64(x), float64(y))
				}
				at := &c.Data[i*c.Row+j*c.Col]
				if beta != 0 {
					sum = sum.plus(1, float64(beta), float64(*at))
				}
				*at = T(math.Ldexp(sum.f, sum.e))
			}
		}
	})
	return ctx.Err()
}

// wide is the number f·2^e.
type wide struct {
	f float64
	e int
}

// plus returns s + x·y·z.
func (s wide) plus(x, y, z float64) wide {
	term := wide{f: 1}
	for _, factor := range [3]float64{x, y, z} {
		f, e := math.Frexp(factor)
		term.f, term.e = term.f*f, term.e+e
	}
	if term.f == 0 {
		return s
	}
	if s.f == 0 || s.e < term.e {
		s, term = term, s
	}
	f, e := math.Frexp(s.f + math.Ldexp(term.f, term.e-s.e))
	return wide{f, s.e + e}
}
