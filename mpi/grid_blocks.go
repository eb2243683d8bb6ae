package mpi

import (
	"gemm"
	"gemm/gf256"
	"gemm/mpi/comm"
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
	rooted
	task       *task[T]
	grid       plan.Layout
	ranks      *comm.Grid
	i, j       int // the place of this rank
	rows, cols []plan.Span
	a, b, c    gemm.Matrix[T]
	panel      gemm.Matrix[T] // C of all of the grid's row, in column 0
}

func newGridBlocks[T gemm.Element](t *task[T]) (product[T], error) {
	g, err := t.placeGrid(plan.GridBlocks)
	if err != nil {
		return nil, err
	}
	x := &gridBlocks[T]{task: t, grid: g, rows: plan.Spans(t.shape.M, g.P), cols: plan.Spans(t.shape.N, g.Q)}
	if t.rank() < g.Ranks() {
		x.i, x.j, _ = x.grid.At(t.rank())
		m, n := x.rows[x.i].Len(), x.cols[x.j].Len()
		x.a, x.b, x.c = newMatrix[T](m, t.shape.K), newMatrix[T](t.shape.K, n), newMatrix[T](m, n)
		if x.j == 0 {
			x.panel = newMatrix[T](m, t.shape.N)
		}
	}
	return x, nil
}

func (x *gridBlocks[T]) prepare() (err error) {
	x.ranks, err = x.task.job.splits.Grid(x.grid)
	return err
}

func (x *gridBlocks[T]) multiply(prof *profile) error {
	if x.ranks.Ranks == nil {
		return nil
	}
	if err := prof.during(distributing, x.distribute); err != nil {
		return err
	}
	if err := x.task.compute(prof, x.c, x.a, x.b, false); err != nil {
		return err
	}
	return prof.during(collecting, func() error {
		if err := comm.GatherCols(x.ranks.Row, 0, x.c, x.panel, x.cols); err != nil || x.j > 0 {
			return err
		}
		return comm.GatherRows(x.ranks.Col, 0, x.panel, x.task.c, x.rows)
	})
}

// distribute scatters A down column 0 and B along row 0 of the grid, and broadcasts the blocks along rows and columns.
func (x *gridBlocks[T]) distribute() error {
	if x.j == 0 {
		if err := comm.ScatterRows(x.ranks.Col, 0, x.task.a, x.rows, x.a); err != nil {
			return err
		}
	}
	if x.i == 0 {
		if err := comm.ScatterCols(x.ranks.Row, 0, x.task.b, x.cols, x.b); err != nil {
			return err
		}
	}
	if err := comm.Bcast(x.ranks.Row, x.a, 0); err != nil {
		return err
	}
	return comm.Bcast(x.ranks.Col, x.b, 0)
}

func (x *gridBlocks[T]) plan() prediction {
	s := x.task.shape
	out := x.task.overGrid(x.grid.Grid, x.grid.ByRank(plan.GridBlocks(s, x.grid.Hosts(x.task.job.hosts), x.grid.Grid)),
		plan.BoundRooted(s, x.grid.Ranks(), true))
	out.rooted = true
	return out
}

func gridBlocksVariant() gemm.Variant {
	return variant(gemm.Variant{
		Name:   "mpi/grid-blocks",
		Doc:    "scatter-blocks without copies: Scatterv along the sides of a grid, then Bcast",
		Params: commonParams(gridParam()),
	}, types{newGridBlocks[float32], newGridBlocks[float64], newGridBlocks[gf256.Elem]},
		gridWorkspace(func(s gemm.Shape, g plan.Grid, _ gemm.Params) float64 {
			m, n, k := float64(s.M), float64(s.N), float64(s.K)
			return float64(g.Q)*m*k + float64(g.P)*k*n + 2*m*n
		}))
}
