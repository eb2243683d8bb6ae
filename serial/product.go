package serial

import (
	"context"

	"gemm"
)

// accumulator computes C += A·B for operands that conform. No dimension is 0. Every classical
// algorithm is an accumulator: divide and the leaves of recursions need the sum, and if C is zero
// it is the product. The error is that of ctx; C is then undefined.
type accumulator[T gemm.Element] interface {
	accumulate(ctx context.Context, c, a, b gemm.Matrix[T]) error
}

// leaf is what a division ends in: some of its products are added, others overwrite C.
type leaf[T gemm.Element] interface {
	accumulator[T]
	gemm.Multiplier[T]
}

// product is the Multiplier of an accumulator.
type product[T gemm.Element] struct{ accumulator[T] }

// Multiply implements gemm.Multiplier.
func (p product[T]) Multiply(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	if err := gemm.CheckShapes(c, a, b); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	zero(c)
	if c.Rows == 0 || c.Cols == 0 || a.Cols == 0 {
		return nil
	}
	return p.accumulate(ctx, c, a, b)
}

// patience is the number of terms that are computed between two looks at a context, some 10 ms.
const patience = 1 << 22

// unheard returns how many indices of a loop are worth patience, at least one, where each is that many terms.
func unheard(terms int) int { return max(1, patience/max(1, terms)) }

// zero writes zeros to all of c.
func zero[T gemm.Element](c gemm.Matrix[T]) {
	if c.Cols == 0 {
		return // however many rows there are
	}
	for i := range c.Rows {
		clear(c.Row(i))
	}
}

// stateless returns the constructor of an algorithm that has neither parameters nor workspace.
func stateless[T gemm.Element](a accumulator[T]) func(gemm.Params) (gemm.Multiplier[T], error) {
	return func(gemm.Params) (gemm.Multiplier[T], error) { return product[T]{a}, nil }
}
