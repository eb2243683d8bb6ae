package serial

import (
	"cmp"
	"context"
	"strings"

	"gemm"
)

// loop is a textbook algorithm: it computes C += A·B for operands that conform. No dimension is 0.
type loop[T gemm.Element] func(c, a, b gemm.Matrix[T])

// accumulator computes C += A·B for operands that conform. No dimension is 0. Every classical
// algorithm is an accumulator: divide and the leaves of recursions need the sum, and if C is zero
// it is the product. The error is ctx.Err(); C is then undefined.
type accumulator[T gemm.Element] interface {
	accumulate(ctx context.Context, c, a, b gemm.Matrix[T]) error
}

// leaf is what a division ends in: some of its products are added, others overwrite C.
type leaf[T gemm.Element] interface {
	accumulator[T]
	gemm.Multiplier[T]
}

type product[T gemm.Element] struct{ accumulator[T] }

func (p product[T]) Multiply(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	if err := cmp.Or(gemm.CheckShapes(c, a, b), ctx.Err()); err != nil {
		return err
	}
	Zero(c)
	if c.Rows == 0 || c.Cols == 0 || a.Cols == 0 {
		return nil
	}
	return p.accumulate(ctx, c, a, b)
}

// textbook makes a loop cancellable: it calls the loop for pieces of the product. order has the indices
// of the loop's nest from the outermost to the innermost, such as "ikj".
type textbook[T gemm.Element] struct {
	order string
	loop  loop[T]
}

func (t textbook[T]) accumulate(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	return inPieces(ctx, t.order, [3]int{c.Rows, c.Cols, a.Cols}, func(p piece) {
		t.loop(c.Slice(p.i, p.j, p.m, p.n), a.Slice(p.i, p.k, p.m, p.depth), b.Slice(p.k, p.j, p.depth, p.n))
	})
}

// piece is the part of a product with m×n elements of C from (i, j) on, and depth terms of each from k on.
type piece struct{ i, j, k, m, n, depth int }

// pieceTerms is the number of terms that are computed between two checks of a context, some milliseconds.
const pieceTerms = 1 << 20

// inPieces cuts the product of the extents m, n and k into pieces of about pieceTerms terms, calls compute for each,
// and checks ctx before each. It cuts the outermost loop of the order, and the middle one if a single index of the
// outermost has more terms. So the pieces have the order of the uncut loops. A cut of k is at a multiple of four.
func inPieces(ctx context.Context, order string, extents [3]int, compute func(piece)) error {
	outer, middle, inner := strings.IndexByte("ijk", order[0]), strings.IndexByte("ijk", order[1]),
		strings.IndexByte("ijk", order[2])
	width := min(extents[middle], max(4, pieceTerms/extents[inner]&^3))
	height := max(1, pieceTerms/extents[inner]/width)
	if outer == 2 {
		height = max(4, height&^3)
	}
	at, size := [3]int{}, extents
	for at[outer] = 0; at[outer] < extents[outer]; at[outer] += height {
		size[outer] = min(height, extents[outer]-at[outer])
		for at[middle] = 0; at[middle] < extents[middle]; at[middle] += width {
			size[middle] = min(width, extents[middle]-at[middle])
			if err := ctx.Err(); err != nil {
				return err
			}
			compute(piece{at[0], at[1], at[2], size[0], size[1], size[2]})
		}
	}
	return nil
}

// Zero writes zeros to all of c.
func Zero[T gemm.Element](c gemm.Matrix[T]) {
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

func inOrder[T gemm.Element](order string, loop loop[T]) func(gemm.Params) (gemm.Multiplier[T], error) {
	return stateless[T](textbook[T]{order, loop})
}
