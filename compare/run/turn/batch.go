package turn

import (
	"context"
	"errors"
	"fmt"

	"gemm"
	"gemm/compare/verify"
)

// errNoBatch: the variant computes no batches.
var errNoBatch = errors.New("computes one product at a time where its operands lie: choose a variant with batches, " +
	"such as cuda/tuned or cuda/cublas in f32 or f64")

func prepareBatch[T gemm.Element](t *candidate, m gemm.Multiplier[T], s *operandCache[T]) error {
	c, place := t.c, batchStager(m)
	var once func(ctx context.Context, of verify.Batch[T]) error
	if place == nil {
		if c.Variant.Location != gemm.InProcess {
			return gemm.Unavailablef("%s %w", c.Variant.Name, errNoBatch)
		}
		if once, t.product.batched = batchCaller(m, c.Plain()); once == nil {
			return gemm.Unavailablef("%s %w", c.Variant.Name, errNoGemmer)
		}
	}
	call := func(ctx context.Context, of verify.Batch[T], times int) error {
		return repeat(times, func() error { return once(ctx, of) })
	}
	timed, p := s.drawBatch(t.b, c), verificationOf[T](c)
	p.assures = timed.Assures(p.limit)
	t.product.timed, t.product.verification = multiplying(timed, call, place), p
	t.product.draw = func() multiplication {
		var of verify.Batch[T]
		onAllProcessors(func() { of = verify.DrawIntegerBatch[T](layout(c), c.Batch, t.b.Seed, p.magnitude) })
		return multiplying(of, call, place)
	}
	return nil
}

// batchKey is the resolved parameter that says how a batch was computed.
const batchKey = "batched"

// The values of batchKey. A library that computes a batch by a function of its own has the name of the function.
const (
	oneCall  = "one call"        // of a gemm.BatchGemmer, or of kernels that compute the batch
	eachCall = "a call for each" // of a gemm.Multiplier or gemm.Gemmer
)

// batchCaller returns how m computes batches, and the value of batchKey. If m computes products only and the
// operation is more than C = A·B, it returns nil.
func batchCaller[T gemm.Element](m gemm.Multiplier[T], plain bool) (call func(ctx context.Context,
	b verify.Batch[T]) error,
	how string) {
	if g, ok := gemm.As[gemm.BatchGemmer[T]](m); ok {
		return func(ctx context.Context, b verify.Batch[T]) error {
			alpha, beta := gemm.FromFloat64[T](b.Alpha), gemm.FromFloat64[T](b.Beta)
			return g.GemmBatch(ctx, b.TransA, b.TransB, alpha, b.A, b.B, beta, b.C)
		}, oneCall
	}
	g, ok := gemm.As[gemm.Gemmer[T]](m)
	if !plain && !ok {
		return nil, ""
	}
	return func(ctx context.Context, b verify.Batch[T]) (err error) {
		alpha, beta := gemm.FromFloat64[T](b.Alpha), gemm.FromFloat64[T](b.Beta)
		for i := range b.C.Count {
			if x, y, z := b.A.Nth(i), b.B.Nth(i), b.C.Nth(i); plain {
				err = m.Multiply(ctx, z, x, y)
			} else {
				err = g.Gemm(ctx, b.TransA, b.TransB, alpha, x, y, beta, z)
			}
			if err != nil {
				return fmt.Errorf("product %d of %d: %w", i, b.C.Count, err)
			}
		}
		return nil
	}, eachCall
}

// batchStager returns how m stages batches; nil: it does not.
func batchStager[T gemm.Element](m gemm.Multiplier[T]) func(ctx context.Context, b verify.Batch[T]) (gemm.Run, error) {
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
