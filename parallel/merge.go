package parallel

import (
	"cmp"
	"context"

	"gemm"
	"gemm/pool"
)

// MergeAtomic adds private copies of C to c. Each copy is added by one worker. The additions are atomic,
// since all workers write to c. Each copy begins at another matrix row, so two workers seldom write to
// the same row at the same time.
func MergeAtomic[T gemm.Float](ctx context.Context, p *pool.Pool, c gemm.Matrix[T], copies []gemm.Matrix[T]) error {
	if c.Cols == 0 {
		return ctx.Err() // however many rows there are
	}
	err := p.For(ctx, len(copies), pool.Static(0), func(_, lo, hi int) {
		for w := lo; w < hi; w++ {
			add := func(_, lo, hi int) {
				for i := lo; i < hi; i++ {
					i := (i + w*(c.Rows/len(copies))) % c.Rows
					row := c.Row(i)
					for j, y := range copies[w].Row(i) {
						atomicAdd(&row[j], y)
					}
				}
			}
			cancellable(ctx, c.Cols, add)(w, 0, c.Rows)
		}
	})
	return cmp.Or(err, ctx.Err())
}

// MergeReduce sets c to the sum of its private copies (at least one) without atomic additions. The workers divide the
// matrix rows of c. Each row is the sum of that row in all copies, in their order.
func MergeReduce[T gemm.Float](ctx context.Context, p *pool.Pool, c gemm.Matrix[T], copies []gemm.Matrix[T]) error {
	if c.Cols == 0 {
		return ctx.Err() // however many rows there are
	}
	err := p.For(ctx, c.Rows, pool.Static(0), cancellable(ctx, c.Cols*len(copies), func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			row := c.Row(i)
			copy(row, copies[0].Row(i))
			for _, p := range copies[1:] {
				for j, y := range p.Row(i) {
					row[j] += y
				}
			}
		}
	}))
	return cmp.Or(err, ctx.Err())
}
