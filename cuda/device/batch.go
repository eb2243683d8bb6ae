//go:build cuda

package device

import (
	"context"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/cuda"
)

// batcher is a product that computes batches too.
type batcher[T gemm.Float] struct{ chainer[T] }

// batched is a batch on the device. Its matrices lie one after the other.
type batched[T gemm.Float] struct {
	*staged[T]
	to gemm.Batch[T]
}

// StageBatch implements gemm.BatchStager. One launch computes all products. Launches
// before it copy operands that are stored transposed to a new layout.
func (p batcher[T]) StageBatch(ctx context.Context, tA, tB blas.Transpose, alpha T, a, b gemm.Batch[T], beta T,
	c gemm.Batch[T]) (gemm.Run, error) {
	if _, _, _, err := gemm.CheckBatch(tA, tB, a, b, c); err != nil {
		return nil, err
	}
	op := operation(tA, tB, float64(alpha), float64(beta))
	op.Batch = c.Count
	run, err := p.stage(ctx, op, stacked(c), stacked(a), stacked(b))
	if err != nil {
		return nil, err
	}
	return &batched[T]{run.(*staged[T]), c}, nil
}

// stacked returns the matrices of a batch as one, a copy if they do not lie like that.
func stacked[T gemm.Float](x gemm.Batch[T]) gemm.Matrix[T] {
	m, ok := x.Stacked()
	if ok {
		return m
	}
	out := gemm.NewMatrix[T](m.Rows, m.Cols)
	for i := range x.Count {
		from := x.Nth(i)
		for j := range x.Rows {
			copy(out.Row(i*x.Rows+j), from.Row(j))
		}
	}
	return out
}

func (r *batched[T]) Collect(ctx context.Context) error {
	if err := r.staged.Collect(ctx); err != nil {
		return err
	}
	if _, ok := r.to.Stacked(); ok {
		return nil
	}
	for i := range r.to.Count {
		to := r.to.Nth(i)
		for j := range r.to.Rows {
			copy(to.Row(j), r.c.Row(i*r.to.Rows+j))
		}
	}
	return nil
}

// Resolved implements gemm.Explainer.
func (r *batched[T]) Resolved() gemm.Params {
	how := "one call"
	if _, ok := r.p.engine.(*libraryEngine); ok {
		how = gemm.ByType(gemm.TypeOf[T]().Name, "cublasDgemmStridedBatched", "cublasSgemmStridedBatched", "", "", "")
	}
	return gemm.Params{"batched": how}
}

// batches reports whether the algorithm with the name computes batches of the type.
func batches(name, typ string) bool {
	r, _ := cuda.RungNamed(name, typ)
	return r.Batches || name == cuda.CuBLAS
}
