package mpi

import (
	"gemm"
	"gemm/gf256"
	"gemm/mpi/comm"
	"gemm/mpi/memory"
	"gemm/mpi/plan"
)

// gridBlocks is scatter-blocks without the copies. Rank 0 sends the rows of A down the first column of the grid, and
// the columns of B along its first row, directly from its operands by vector types. The ranks there pass them on along
// their row and down their column. Rank 0 sends each operand once.
//
//	grid of 2×2        (0,0)     (0,1)     (1,0)     (1,1)
//	Scatterv           A₀ B₀     B₁        A₁
//	Bcast              A₀ B₀     A₀ B₁     A₁ B₀     A₁ B₁
//	computes           C₀₀       C₀₁       C₁₀       C₁₁
//	Gatherv in rows    C₀₀ C₀₁             C₁₀ C₁₁
//	in column 0        C
type gridBlocks[T gemm.Element] struct {
	*task[T]
	grid       plan.Layout
	at         *comm.Grid // nil outside
	rows, cols []plan.Span
	a, b, c    gemm.Matrix[T]
	panel      gemm.Matrix[T] // C of all of the grid's row, in column 0
}

func newGridBlocks[T gemm.Element](t *task[T]) (product[T], error) {
	g, err := gridOf(t.params, t.world.Size(), t.shape)
	if err != nil {
		return nil, err
	}
	x := &gridBlocks[T]{
		task: t, grid: t.lay(g, plan.GridBlocksFlow),
		rows: plan.Spans(t.shape.M, g.P), cols: plan.Spans(t.shape.N, g.Q),
	}
	if rank := t.world.Rank(); rank < g.Ranks() {
		i, j, _ := x.grid.At(rank)
		m, n := x.rows[i].Len(), x.cols[j].Len()
		x.a, x.b, x.c = memory.Matrix[T](m, t.shape.K), memory.Matrix[T](t.shape.K, n), memory.Matrix[T](m, n)
		if j == 0 {
			x.panel = memory.Matrix[T](m, t.shape.N)
		}
	}
	return x, nil
}

func (x *gridBlocks[T]) place() error {
	p, err := x.job.seats.In(x.grid)
	if err == nil {
		x.at = p.Layer
	}
	return err
}

func (x *gridBlocks[T]) multiply(k *clock) error {
	if x.at == nil {
		return nil
	}
	err := k.during(distributing, func() error {
		if x.at.J == 0 {
			if err := comm.ScatterRows(x.at.Col, 0, x.task.a, x.rows, x.a); err != nil {
				return err
			}
		}
		if x.at.I == 0 {
			if err := comm.ScatterCols(x.at.Row, 0, x.task.b, x.cols, x.b); err != nil {
				return err
			}
		}
		if err := comm.Bcast(x.at.Row, x.a, 0); err != nil {
			return err
		}
		return comm.Bcast(x.at.Col, x.b, 0)
	})
	if err != nil {
		return err
	}
	if err := x.compute(k, x.c, x.a, x.b, false); err != nil {
		return err
	}
	return k.during(collecting, func() error {
		if err := comm.GatherCols(x.at.Row, 0, x.c, x.panel, x.cols); err != nil || x.at.J != 0 {
			return err
		}
		return comm.GatherRows(x.at.Col, 0, x.panel, x.task.c, x.rows)
	})
}

func (x *gridBlocks[T]) plan() prediction {
	return prediction{
		schedule: x.grid.ByRank(plan.GridBlocks(x.shape, x.grid.Hosts(x.job.hosts), x.grid.Grid)),
		bound:    plan.BoundRooted(x.shape, x.grid.Ranks(), true), rooted: true,
		grid: x.grid.Grid, busy: plan.Busy(x.grid.Grid, x.shape),
		largest: gemm.Shape{M: x.rows[0].Len(), N: x.cols[0].Len(), K: x.shape.K},
	}
}

func gridBlocksVariant() gemm.Variant {
	v := gemm.Variant{
		Name:   "mpi/grid-blocks",
		Parts:  []gemm.Part{gemm.Course},
		Doc:    "scatter-blocks without copies: Scatterv along the sides of a grid, then Bcast",
		Params: commonParams(gridParam()),
	}
	v = types{newGridBlocks[float32], newGridBlocks[float64], newGridBlocks[gf256.Elem]}.of(v)
	return variant(v, gridWorkspace(func(s gemm.Shape, g plan.Grid, _ gemm.Params) float64 {
		return float64(g.Q)*float64(s.M)*float64(s.K) + float64(g.P)*float64(s.K)*float64(s.N) + 2*float64(s.M)*float64(s.N)
	}))
}
