package serial

import (
	"context"
	"sync/atomic"

	"gonum.org/v1/gonum/blas"

	"gemm"
	plans "gemm/blas"
)

// Batched is Packed that computes batches by one call. The plan of package blas checks the problem once, and divides
// the products among the workers.
type Batched[T gemm.Float] struct {
	Packed[T]
	workers int
	last    atomic.Pointer[planned[T]]
}

// planned is a plan and its problem.
type planned[T gemm.Float] struct {
	problem plans.Problem[T]
	plan    *plans.Plan[T]
}

// NewBatched returns serial/packed on the workers of a loop. A batch has as many workers, but not this loop.
func NewBatched[T gemm.Float](loop Loop) *Batched[T] {
	return &Batched[T]{Packed: NewPacked[T](loop), workers: loop.Workers()}
}

// batchTerms is the number of terms between two checks of a context: a worker computes them in some tenths of a second.
const batchTerms = 1 << 32

// GemmBatch implements gemm.BatchGemmer.
func (x *Batched[T]) GemmBatch(ctx context.Context, tA, tB blas.Transpose, alpha T, a, b gemm.Batch[T], beta T,
	c gemm.Batch[T]) error {
	m, n, k, err := gemm.CheckBatch(tA, tB, a, b, c)
	if err != nil {
		return err
	}
	if alpha == 0 { // A and B are not read
		alpha, k = 1, 0
	}
	terms := gemm.Shape{M: m, N: n, K: k}.Terms()
	if terms > batchTerms {
		for i := range c.Count {
			if err := x.Gemm(ctx, tA, tB, alpha, a.Nth(i), b.Nth(i), beta, c.Nth(i)); err != nil {
				return err
			}
		}
		return nil
	}
	plan, err := x.plan(plans.Problem[T]{TransA: tA, TransB: tB, M: m, N: n, K: k, Alpha: alpha, Beta: beta,
		LDA: max(1, a.Stride), LDB: max(1, b.Stride), LDC: max(1, c.Stride), Workers: x.workers})
	if err != nil {
		return err
	}
	piece := c.Count
	if terms > 0 {
		piece = int(min(float64(piece), max(1, batchTerms/terms)))
	}
	for lo := 0; lo < c.Count; lo += piece {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := plan.BatchStrided(min(piece, c.Count-lo), from(a, lo), a.Step, from(b, lo), b.Step, from(c, lo), c.Step)
		if err != nil {
			return err
		}
	}
	return nil
}

// from returns the data of matrix x and of the matrices behind it.
func from[T gemm.Float](b gemm.Batch[T], x int) []T { return b.Data[min(x*b.Step, len(b.Data)):] }

// plan returns the plan of the problem: the last one if that is the same.
func (x *Batched[T]) plan(p plans.Problem[T]) (*plans.Plan[T], error) {
	if last := x.last.Load(); last != nil && last.problem == p {
		return last.plan, nil
	}
	plan, err := plans.NewPlan(p)
	if err == nil {
		x.last.Store(&planned[T]{p, plan})
	}
	return plan, err
}
