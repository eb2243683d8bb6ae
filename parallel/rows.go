package parallel

import (
	"context"

	"gemm"
	"gemm/gf256"
)

// rows divides the outermost loop, over the rows of C. A chunk of rows is a product,
//
//	C[lo:hi, :] = A[lo:hi, :]·B
//
// which a serial variant computes, ikj by default. No two workers write to one row, so that nothing needs to be
// protected or merged. Every worker reads all of B.
type rows[T gemm.Element] struct {
	*team[T]
	locals []gemm.Multiplier[T]
	load   int // see times
}

func (r rows[T]) Multiply(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	chunk := func(worker, lo, hi int) {
		compute(ctx, r.locals[worker], c.Slice(lo, 0, hi-lo, c.Cols), a.Slice(lo, 0, hi-lo, a.Cols), b)
	}
	return r.multiply(ctx, c, a, b, func() error {
		if r.load == 0 {
			return r.loop(ctx, c.Rows, chunk)
		}
		return r.loop(ctx, c.Rows, func(worker, lo, hi int) {
			for i := lo; i < hi; i++ {
				for range times(i, c.Rows, r.load) {
					chunk(worker, i, i+1)
				}
			}
		})
	})
}

// Loaded implements record.Loadable.
func (r rows[T]) Loaded(load int) gemm.Multiplier[T] {
	r.load = load
	return r
}

func newRows[T gemm.Element](t *team[T], p gemm.Params) (gemm.Multiplier[T], error) {
	locals, err := newLocals[T](p)
	if err != nil {
		return nil, err
	}
	return rows[T]{t, locals, 0}, nil
}

func rowsVariant() gemm.Variant {
	return gemm.Variant{
		Name:   "parallel/rows",
		Parent: "serial/ikj",
		Leaf:   "serial/ikj",
		Doc:    "the outermost loop is divided: each worker computes rows of C by a serial variant",
		Can:    teamCan | gemm.Loads,
		Params: localParams("rows"),
		Model: func(s gemm.Shape, p gemm.Params) gemm.Model {
			return localModel(p, [3]int{s.M, s.N, s.K}, [3]int{s.M, s.N, s.K})
		},
		Bound: gemm.Classical,
		F32:   onTeam("parallel/rows", newRows[float32]),
		F64:   onTeam("parallel/rows", newRows[float64]),
		GF256: onTeam("parallel/rows", newRows[gf256.Elem]),
	}
}
