package turn

import (
	"context"
	"crypto/subtle"
	"sync"

	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"

	"gemm/compare/record"
	"gemm/gf256"

	"gemm"
	"gemm/compare/verify"
)

// prepareIteration prepares the iterated product of the case by m.
func prepareIteration[T gemm.Element](t *candidate, m gemm.Multiplier[T], s *operandCache[T]) {
	c, timed := t.c, s.drawChain(t.b, t.c)
	p := verification{limit: timed.verifier.Limit(verify.LimitOf[T](c.Variant, c.Shape, c.Resolved(), 1, 0, true)),
		magnitude: verify.ExactChain[T](c.Variant, c.Shape, c.Resolved(), c.Steps())}
	p.assures = timed.verifier.Assures(p.limit)
	call := func(ctx context.Context, of *chain[T], times int) error {
		return repeat(times, func() error { return of.Multiply(ctx, m, c.Each()) })
	}
	var place func(ctx context.Context, of *chain[T]) (gemm.Run, error)
	if remote, ok := m.(record.Chainer[T]); ok {
		place = func(ctx context.Context, of *chain[T]) (gemm.Run, error) {
			return remote.StageChain(ctx, of.N, of.Result, of.A, of.S, of.B)
		}
	}
	t.product.timed, t.product.verification = multiplying(timed, call, place), p
	t.product.draw = func() multiplication {
		of, product := verify.IntegerChain[T](c.N, c.LDA, c.Steps(), t.b.Seed, p.magnitude)
		integers := newChain(of)
		integers.check = verify.New(product, t.b.Seed).Check
		return multiplying(integers, call, place)
	}
}

// chain is an iterated product, computed in this process, with the matrices that it needs besides its operands. Several
// multipliers may compute it, one after the other.
type chain[T gemm.Element] struct {
	verify.Chain[T]
	verifier verify.ChainVerifier[T]                                   // nil: of integers
	check    func(c gemm.Matrix[T], limit verify.Limit) verify.Verdict // whether c is A_N
	// Result holds A_N after Multiply.
	Result   gemm.Matrix[T]
	sum      gemm.Matrix[T]    // Sᵢ
	matrices [2]gemm.Matrix[T] // Aᵢ₋₁ and Aᵢ, swapped in each step; the last one is Result
}

// newChain returns the iterated product of the operands.
func newChain[T gemm.Element](of verify.Chain[T]) *chain[T] {
	c := &chain[T]{Chain: of}
	room := func() gemm.Matrix[T] {
		x := of.A
		x.Data = make([]T, len(x.Data))
		return x
	}
	c.sum, c.matrices[0], c.matrices[1] = room(), room(), room()
	c.Result = c.matrices[of.N%2]
	return c
}

// Poison fills the result with elements that no product has.
func (c *chain[T]) Poison() { verify.Poison(c.Result) }

// Check verifies the result.
func (c *chain[T]) Check(limit verify.Limit) verify.Verdict { return c.check(c.Result, limit) }

// Restore sets the matrices to their values before the first step. It is not timed.
func (c *chain[T]) Restore() {
	for i := range c.A.Rows {
		copy(c.matrices[0].Row(i), c.A.Row(i))
		copy(c.sum.Row(i), c.S.Row(i))
	}
}

// Multiply computes the chain by m after Restore: in each step the addition, on that many threads, and then the
// product.
func (c *chain[T]) Multiply(ctx context.Context, m gemm.Multiplier[T], threads int) error {
	for i := range c.N {
		c.add(threads)
		if err := m.Multiply(ctx, c.matrices[(i+1)%2], c.matrices[i%2], c.sum); err != nil {
			return err
		}
	}
	return nil
}

// leastAdded is the number of elements that are worth a thread of their own.
const leastAdded = 1 << 14

// add computes Sᵢ = Sᵢ₋₁ + B.
func (c *chain[T]) add(threads int) {
	n := c.sum.Rows
	threads = max(1, min(threads, n, n*n/leastAdded))
	if threads == 1 {
		c.addRows(0, n)
		return
	}
	var wait sync.WaitGroup
	for t := range threads {
		wait.Go(func() { c.addRows(t*n/threads, (t+1)*n/threads) })
	}
	wait.Wait()
}

func (c *chain[T]) addRows(from, to int) {
	for i := from; i < to; i++ {
		switch sum := any(c.sum.Row(i)).(type) {
		case []float64:
			blas64.Axpy(1, vector64(any(c.B.Row(i)).([]float64)), vector64(sum))
		case []float32:
			blas32.Axpy(1, vector32(any(c.B.Row(i)).([]float32)), vector32(sum))
		case []gf256.Elem:
			bytes := gf256.Bytes(sum)
			subtle.XORBytes(bytes, bytes, gf256.Bytes(any(c.B.Row(i)).([]gf256.Elem)))
		}
	}
}

func vector64(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }
func vector32(x []float32) blas32.Vector { return blas32.Vector{N: len(x), Inc: 1, Data: x} }
