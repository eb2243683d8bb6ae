// Package batch is how multipliers compute batches of products: by one call, product by product, or staged.
package batch

import (
	"context"
	"fmt"

	"gemm"
	"gemm/compare/verify"
)

// Key is the resolved parameter that says how a batch was computed.
const Key = "batched"

// The values of Key. A library that computes a batch by a function of its own has the name of the function.
const (
	OneCall  = "one call"              // of a gemm.BatchGemmer, or of kernels that compute the batch
	EachCall = "a call for each"       // of a gemm.Multiplier or gemm.Gemmer
	EachInC  = "a call for each, in C" // of a library, in a process of its own
)

// Caller returns how m computes batches, and the value of Key. If m computes products only and the
// operation is more than C = A·B, it returns nil.
func Caller[T gemm.Element](m gemm.Multiplier[T], plain bool) (call func(ctx context.Context, b verify.Batch[T]) error,
	how string) {
	if g, ok := gemm.As[gemm.BatchGemmer[T]](m); ok {
		return func(ctx context.Context, b verify.Batch[T]) error {
			alpha, beta := gemm.FromFloat64[T](b.Alpha), gemm.FromFloat64[T](b.Beta)
			return g.GemmBatch(ctx, b.TransA, b.TransB, alpha, b.A, b.B, beta, b.C)
		}, OneCall
	}
	if plain {
		return each(m.Multiply), EachCall
	}
	if g, ok := gemm.As[gemm.Gemmer[T]](m); ok {
		return eachGemm(g), EachCall
	}
	return nil, ""
}

// each has multiply compute the products of a batch one after the other.
func each[T gemm.Element](multiply func(ctx context.Context, c, a, b gemm.Matrix[T]) error) func(ctx context.Context,
	b verify.Batch[T]) error {
	return func(ctx context.Context, b verify.Batch[T]) error {
		for x := range b.C.Count {
			if err := multiply(ctx, b.C.Nth(x), b.A.Nth(x), b.B.Nth(x)); err != nil {
				return fmt.Errorf("product %d of %d: %w", x, b.C.Count, err)
			}
		}
		return nil
	}
}

// eachGemm has g compute the operations of a batch one after the other.
func eachGemm[T gemm.Element](g gemm.Gemmer[T]) func(ctx context.Context, b verify.Batch[T]) error {
	return func(ctx context.Context, b verify.Batch[T]) error {
		alpha, beta := gemm.FromFloat64[T](b.Alpha), gemm.FromFloat64[T](b.Beta)
		return each(func(ctx context.Context, z, x, y gemm.Matrix[T]) error {
			return g.Gemm(ctx, b.TransA, b.TransB, alpha, x, y, beta, z)
		})(ctx, b)
	}
}

// Stager returns how m stages batches; nil: it does not.
func Stager[T gemm.Element](m gemm.Multiplier[T]) func(ctx context.Context, b verify.Batch[T]) (gemm.Run, error) {
	s, ok := gemm.As[gemm.BatchStager[T]](m)
	if !ok {
		return nil
	}
	return func(ctx context.Context, b verify.Batch[T]) (gemm.Run, error) {
		b.Restore()
		alpha, beta := gemm.FromFloat64[T](b.Alpha), gemm.FromFloat64[T](b.Beta)
		return s.StageBatch(ctx, b.TransA, b.TransB, alpha, b.A, b.B, beta, b.C)
	}
}
