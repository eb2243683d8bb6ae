// Package chain computes iterated products in this process: verify.Chain defines them.
package chain

import (
	"context"
	"crypto/subtle"
	"sync"

	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"

	"gemm"
	"gemm/compare/verify"
	"gemm/gf256"
)

// Chain is an iterated product with the matrices that it needs besides its operands. Several multipliers may compute
// it, one after the other.
type Chain[T gemm.Element] struct {
	verify.Chain[T]
	// Result holds A_N after Multiply.
	Result gemm.Matrix[T]
	sum    gemm.Matrix[T]    // Sᵢ
	places [2]gemm.Matrix[T] // Aᵢ₋₁ and Aᵢ, in turn; the last one is Result
}

// New returns the iterated product of the operands.
func New[T gemm.Element](of verify.Chain[T]) *Chain[T] {
	c := &Chain[T]{Chain: of}
	room := func() gemm.Matrix[T] {
		x := gemm.Matrix[T]{Rows: of.A.Rows, Cols: of.A.Cols, Stride: of.A.Stride}
		x.Data = make([]T, len(of.A.Data))
		return x
	}
	c.sum, c.places[0], c.places[1] = room(), room(), room()
	c.Result = c.places[of.N%2]
	return c
}

// Restore brings the matrices to what they are before the first step. It is not part of the timed product.
func (c *Chain[T]) Restore() {
	for i := range c.A.Rows {
		copy(c.places[0].Row(i), c.A.Row(i))
		copy(c.sum.Row(i), c.S.Row(i))
	}
}

// Multiply computes the chain by m after Restore: in each step the addition, on that many threads, and then the
// product.
func (c *Chain[T]) Multiply(ctx context.Context, m gemm.Multiplier[T], threads int) error {
	for i := range c.N {
		c.add(threads)
		if err := m.Multiply(ctx, c.places[(i+1)%2], c.places[i%2], c.sum); err != nil {
			return err
		}
	}
	return nil
}

// least is the number of elements that are worth a thread of their own.
const least = 1 << 14

// add computes Sᵢ = Sᵢ₋₁ + B.
func (c *Chain[T]) add(threads int) {
	n := c.sum.Rows
	threads = max(1, min(threads, n, n*n/least))
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

// addRows adds some matrix rows.
func (c *Chain[T]) addRows(from, to int) {
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
