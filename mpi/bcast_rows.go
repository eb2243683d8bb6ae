package mpi

import (
	"gemm"
	"gemm/gf256"
	"gemm/mpi/comm"
	"gemm/mpi/memory"
	"gemm/mpi/plan"
)

// bcastRows is scatter-rows with a Bcast of B, which is the same for all ranks. In a Bcast, ranks
// that have a panel pass it on. So rank 0 does not send B P times, and does not copy it first. A
// panel is some rows of B; each is multiplied while the next one is in flight. The rows of A and C
// travel by Scatterv and Gatherv, without padding.
//
//	rank                 0          1          2
//	Scatterv             A₀         A₁         A₂
//	Bcast of panel 0     B⁰         B⁰         B⁰
//	computes             A₀⁰·B⁰     A₁⁰·B⁰     A₂⁰·B⁰     while panel 1 is under way
//	…
//	Gatherv              C₀ C₁ C₂
type bcastRows[T gemm.Element] struct {
	*task[T]
	spans   []plan.Span // of rows of A and C, by rank
	panels  []plan.Span // of k
	a, b, c gemm.Matrix[T]
}

func newBcastRows[T gemm.Element](t *task[T]) (product[T], error) {
	x := &bcastRows[T]{task: t, spans: plan.Spans(t.shape.M, t.world.Size()),
		panels: plan.Chunks(t.shape.K, t.params.Int("panel"))}
	rank := t.world.Rank()
	x.a, x.c = memory.Matrix[T](x.spans[rank].Len(), t.shape.K), memory.Matrix[T](x.spans[rank].Len(), t.shape.N)
	x.b = t.b
	if rank != 0 {
		x.b = memory.Matrix[T](t.shape.K, t.shape.N)
	}
	return x, nil
}

func (x *bcastRows[T]) place() error { return nil }

func (x *bcastRows[T]) multiply(k *clock) error {
	err := k.during(distributing, func() error {
		return comm.ScatterRows(x.world, 0, x.task.a, x.spans, x.a)
	})
	if err != nil {
		return err
	}
	begin := func(i int) (r *comm.Request, err error) {
		if i == len(x.panels) {
			return nil, nil
		}
		err = k.during(distributing, func() error {
			r, err = comm.Ibcast(x.world, rowsOf(x.b, x.panels[i]), 0)
			return err
		})
		return r, err
	}
	here, err := begin(0)
	if err != nil {
		return err
	}
	for i, s := range x.panels {
		next, err := begin(i + 1)
		if err != nil {
			return err
		}
		if err := k.during(distributing, here.Wait); err != nil {
			return err
		}
		if err := x.compute(k, x.c, colsOf(x.a, s), rowsOf(x.b, s), i > 0, next); err != nil {
			return err
		}
		here = next
	}
	return k.during(collecting, func() error {
		return comm.GatherRows(x.world, 0, x.c, x.task.c, x.spans)
	})
}

func (x *bcastRows[T]) collect() error { return nil }

func (x *bcastRows[T]) plan() prediction {
	ranks := x.world.Size()
	return prediction{
		traffic: plan.BcastRows(x.shape, ranks, x.params.Int("panel")),
		bound:   plan.BoundRooted(x.shape, ranks, true), rooted: true,
		busy: min(ranks, x.shape.M), steps: len(x.panels), overlapped: true,
		largest: gemm.Shape{M: x.spans[0].Len(), N: x.shape.N, K: x.shape.K},
	}
}

func bcastRowsVariant() gemm.Variant {
	v := gemm.Variant{
		Name:   "mpi/bcast-rows",
		Doc:    "rows of A by Scatterv; B by Bcast, in panels that overlap with the products; rows of C by Gatherv",
		Params: commonParams(panelParam(512, "rows of B that are broadcast at once")),
	}
	v = types{newBcastRows[float32], newBcastRows[float64], newBcastRows[gf256.Elem]}.of(v)
	return variant(v, func(s gemm.Shape, ranks int, _ gemm.Params) float64 { return rowWorkspace(s, ranks) })
}
