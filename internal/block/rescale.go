package block

import (
	"context"
	"math"
	"math/bits"
	"unsafe"

	"gemm/internal/kernel"
)

// moderate is the most magnitude of α and of 1/α for which α multiplies only sums of products. For such
// an α, what a product loses by underflow, times α, is at most the least normal number.
const moderate = 1 << 24

// IsModerate reports whether α multiplies only sums of products.
func IsModerate[T kernel.Float](alpha T) bool {
	size := max(alpha, -alpha)
	return size >= 1.0/moderate && size <= moderate
}

// Rescale returns operands with the same product α·A·B for which T holds the sums of products if it
// holds the result. If α has a moderate magnitude, the operands are returned unchanged. Otherwise a
// power of two moves from α to an operand, which is copied:
//
//   - α = 1e300, A = B = 1e-200: A·B underflows, (α·A)·B does not;
//   - α = 1e-300, A = B = 1e200: A·B overflows, (α·A)·B does not.
//
// α·A in all cases, as in reference BLAS, would overflow if A is large and B small. A is m×k and B
// is k×n. If ctx is cancelled, Rescale returns the error of ctx.
func Rescale[T kernel.Float](ctx context.Context, m, n, k int, alpha T, a, b View[T]) (T, View[T], View[T], error) {
	if alpha == 0 || IsModerate(alpha) {
		return alpha, a, b, nil
	}
	ea, err := a.exponent(ctx, m, k)
	if err != nil {
		return alpha, a, b, err
	}
	eb, err := b.exponent(ctx, k, n)
	if err != nil {
		return alpha, a, b, err
	}
	shift := shiftOf(alpha, ea, eb, k)
	if shift == 0 {
		return alpha, a, b, nil
	}
	if (ea <= eb) == (shift > 0) { // the smaller operand is enlarged, the larger one reduced
		a, err = a.scaled(ctx, m, k, shift)
	} else {
		b, err = b.scaled(ctx, k, n, shift)
	}
	return T(math.Ldexp(float64(alpha), -shift)), a, b, err
}

// shiftOf returns the exponent of the power of two that moves from α to an operand. The elements of A
// and B are below 2^ea and 2^eb, and sums have k terms.
func shiftOf[T kernel.Float](alpha T, ea, eb, k int) int {
	top := 1023 // numbers below 2^top are finite
	if unsafe.Sizeof(alpha) == 4 {
		top = 127
	}
	_, e := math.Frexp(float64(alpha))
	room := top - (ea + eb + bits.Len(uint(k))) // exponents between the largest sum and overflow
	if e > 0 {
		return max(0, min(e, room, top-min(ea, eb)))
	}
	return min(0, max(e, room))
}

// exponent returns the least e for which the finite elements are below 2^e; 0 if all are 0.
func (v View[T]) exponent(ctx context.Context, rows, cols int) (int, error) {
	var most T
	for i := range rows {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		for l := range cols {
			if x := v.Data[i*v.Row+l*v.Col]; x-x == 0 { // finite
				most = max(most, x, -x)
			}
		}
	}
	_, e := math.Frexp(float64(most))
	return e, nil
}

// scaled returns a copy of v with every element times 2^shift.
func (v View[T]) scaled(ctx context.Context, rows, cols, shift int) (View[T], error) {
	out := View[T]{make([]T, rows*cols), cols, 1}
	for i := range rows {
		if err := ctx.Err(); err != nil {
			return v, err
		}
		row := out.Data[i*cols:][:cols]
		for l := range row {
			row[l] = T(math.Ldexp(float64(v.Data[i*v.Row+l*v.Col]), shift))
		}
	}
	return out, nil
}
