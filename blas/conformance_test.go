package blas_test

import (
	"cmp"
	"context"
	"testing"

	gonum "gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/blas"
	"gemm/gemmtest"
	"gemm/serial"
)

// functions are Multiply, Gemm and GemmBatchStrided as a multiplier.
type functions[T gemm.Float] struct{}

func (functions[T]) Multiply(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	return blas.MultiplyContext(ctx, c, a, b)
}

func (functions[T]) Gemm(ctx context.Context, tA, tB gonum.Transpose, alpha T, a, b gemm.Matrix[T], beta T,
	c gemm.Matrix[T]) error {
	return blas.GemmContext(ctx, tA, tB, alpha, a, b, beta, c)
}

func (functions[T]) GemmBatch(ctx context.Context, tA, tB gonum.Transpose, alpha T, a, b gemm.Batch[T], beta T,
	c gemm.Batch[T]) error {
	m, n, k, err := gemm.CheckBatch(tA, tB, a, b, c)
	if err := cmp.Or(err, ctx.Err()); err != nil {
		return err
	}
	if alpha == 0 {
		alpha, k = 1, 0
	}
	return blas.GemmBatchStrided(blas.Problem[T]{TransA: tA, TransB: tB, M: m, N: n, K: k, Alpha: alpha, Beta: beta,
		LDA: max(1, a.Stride), LDB: max(1, b.Stride), LDC: max(1, c.Stride)}, c.Count, a.Data, a.Step, b.Data, b.Step,
		c.Data, c.Step)
}

// TestFunctions runs the conformance suite, concurrent calls included.
func TestFunctions(t *testing.T) {
	v, err := gemm.Lookup(serial.Variants(), "serial/packed")
	gemmtest.Must(t, err)
	v.Name, v.Can, v.F16, v.BF16, v.GF256 = "blas/functions", gemm.Gemms|gemm.Batches, nil, nil, nil
	v.F32 = func(gemm.Params) (gemm.Multiplier[float32], error) { return functions[float32]{}, nil }
	v.F64 = func(gemm.Params) (gemm.Multiplier[float64], error) { return functions[float64]{}, nil }
	gemmtest.Run(t, v)
}
