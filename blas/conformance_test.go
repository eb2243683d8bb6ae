package blas_test

import (
	"context"
	"testing"

	gonum "gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/blas"
	"gemm/gemmtest"
	"gemm/half"
	"gemm/serial"
)

// functions are Multiply and Gemm as a multiplier.
type functions[T gemm.Number] struct{}

func (functions[T]) Multiply(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	return blas.MultiplyContext(ctx, c, a, b)
}

func (functions[T]) Gemm(ctx context.Context, tA, tB gonum.Transpose, alpha T, a, b gemm.Matrix[T], beta T,
	c gemm.Matrix[T]) error {
	return blas.GemmContext(ctx, tA, tB, alpha, a, b, beta, c)
}

// withBatches are functions, and GemmBatchStrided.
type withBatches[T gemm.Float] struct{ functions[T] }

func (withBatches[T]) GemmBatch(ctx context.Context, tA, tB gonum.Transpose, alpha T, a, b gemm.Batch[T], beta T,
	c gemm.Batch[T]) error {
	m, n, k, err := gemm.CheckBatch(tA, tB, a, b, c)
	if err != nil {
		return err
	}
	if alpha == 0 {
		alpha, k = 1, 0
	}
	p := blas.Problem[T]{TransA: tA, TransB: tB, M: m, N: n, K: k, Alpha: alpha, Beta: beta,
		LDA: max(1, a.Stride), LDB: max(1, b.Stride), LDC: max(1, c.Stride)}
	return blas.GemmBatchStridedContext(ctx, p, c.Count, a.Data, a.Step, b.Data, b.Step, c.Data, c.Step)
}

// TestFunctions runs the conformance suite, concurrent calls included.
func TestFunctions(t *testing.T) {
	v, err := gemm.Lookup(serial.Variants(), "serial/packed")
	gemmtest.Must(t, err)
	v.Name, v.Can, v.GF256 = "blas/functions", gemm.Gemms|gemm.Batches, nil
	v.F32 = func(gemm.Params) (gemm.Multiplier[float32], error) { return withBatches[float32]{}, nil }
	v.F64 = func(gemm.Params) (gemm.Multiplier[float64], error) { return withBatches[float64]{}, nil }
	v.F16 = func(gemm.Params) (gemm.Multiplier[half.F16], error) { return functions[half.F16]{}, nil }
	v.BF16 = func(gemm.Params) (gemm.Multiplier[half.BF16], error) { return functions[half.BF16]{}, nil }
	gemmtest.Run(t, v)
}
