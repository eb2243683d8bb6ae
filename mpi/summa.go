package mpi

import (
	"gemm"
	"gemm/gf256"
	"gemm/mpi/comm"
	"gemm/mpi/plan"
)

// summa multiplies operands that are distributed over a grid of ranks. C stays in place. For one panel of k after the
// other, the ranks in the grid column that holds the columns of A broadcast them along the rows of the grid; the ranks
// in the grid row that holds the rows of B broadcast them down the columns; and every rank adds their product to its
// block of C (van de Geijn and Watts, SUMMA: Scalable Universal Matrix Multiplication Algorithm, 1997). The next panel
// is in flight while this one is multiplied (lookahead).
//
//	grid of 2×2        (0,0)      (0,1)      (1,0)      (1,1)
//	owns               A₀₀ B₀₀    A₀₁ B₀₁    A₁₀ B₁₀    A₁₁ B₁₁
//	panel 0, A from column 0, B from row 0
//	                   A₀₀ B₀₀    A₀₀ B₀₁    A₁₀ B₀₀    A₁₀ B₀₁
//	panel 1, A from column 1, B from row 1
//	                   A₀₁ B₁₀    A₀₁ B₁₁    A₁₁ B₁₀    A₁₁ B₁₁
//
// Panels of different owners alternate: two are in flight, and between hosts they use different links, or one
// in both directions.
//
// A rank receives (1−1/Q)·mk/P and (1−1/P)·kn/Q elements.
type summa[T gemm.Element] struct{ *stationary[T] }

func newSumma[T gemm.Element](t *task[T]) (product[T], error) {
	g, err := gridOf(t.params, t.world.Size(), t.shape)
	if err != nil {
		return nil, err
	}
	return newBroadcasts(t, t.lay(g, plan.SummaFlow), t.panelsOf(g, plan.Span{Hi: t.shape.K})), nil
}

// panelsOf returns the panels of the range k in the order in which they are broadcast over a grid.
func (t *task[T]) panelsOf(g plan.Grid, k plan.Span) []plan.Panel {
	return plan.InTurns(plan.Panels(k, g.P, g.Q, t.panel()))
}

// panel returns the width of panels.
func (t *task[T]) panel() int { return panelWidth(t.params, plan.Count(t.job.hosts)) }

// Resolved implements gemm.Explainer.
func (x *summa[T]) Resolved() gemm.Params { return gemm.Params{"panel": x.panel()} }

// newBroadcasts returns this rank's part of a product of panels, which are spread over the rank's layer of the grid.
func newBroadcasts[T gemm.Element](t *task[T], g plan.Layout, panels []plan.Panel) *summa[T] {
	x := &summa[T]{newStationary(t, g, panels)}
	x.bring = x.broadcast
	return x
}

// broadcast begins to broadcast a panel.
func (x *summa[T]) broadcast(s int, u *coming[T], i int) error {
	x.receive(s, u, i)
	p := x.panels[s]
	if x.grid.Q > 1 && x.c.Rows > 0 {
		if err := u.add(comm.Ibcast(x.Layer.Row, u.a[i], p.Col)); err != nil {
			return err
		}
	}
	if x.grid.P > 1 && x.c.Cols > 0 {
		return u.add(comm.Ibcast(x.Layer.Col, u.b[i], p.Row))
	}
	return nil
}

func (x *summa[T]) plan() prediction {
	return x.predict(plan.Summa(x.shape, x.grid.Hosts(x.job.hosts), x.grid.Grid, x.panel()))
}

func summaVariant() gemm.Variant {
	v := gemm.Variant{
		Name:   "mpi/summa",
		Spread: true,
		Doc:    "distributed operands: panels of A are broadcast along grid rows, panels of B down grid columns, overlapped with the products",
		Role:   gemm.Production,
		Can:    gemm.Gemms,
		Params: commonParams(scheduleParam(), gridParam(), broadParam()),
	}
	v = types{newSumma[float32], newSumma[float64], newSumma[gf256.Elem]}.of(v)
	v.F32, v.F64 = leadingGemm(v.Name, newSumma[float32]), leadingGemm(v.Name, newSumma[float64])
	return variant(v, gridWorkspace(spreadWorkspace))
}
