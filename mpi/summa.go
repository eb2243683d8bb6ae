package mpi

import (
	"gemm"
	"gemm/cuda/remote"
	"gemm/gf256"
	"gemm/mpi/plan"
	"gemm/serial"
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
type summa[T gemm.Element] struct {
	task  *task[T]
	own   *distributed[T]
	steps []plan.Span // runs of panels that are multiplied in one call
}

func newSumma[T gemm.Element](t *task[T]) (product[T], error) {
	g, err := t.placeGrid(inPanels(plan.Summa))
	if err != nil {
		return nil, err
	}
	return newSummaOf(t, g, t.panelsOf(g.Grid, plan.Span{Hi: t.shape.K})), nil
}

// newSummaOf returns this rank's part of a product of panels, which are distributed over the rank's layer of the grid.
func newSummaOf[T gemm.Element](t *task[T], g plan.Layout, panels []plan.Panel) *summa[T] {
	steps := plan.Steps(panels, t.panelsAtOnce())
	return &summa[T]{t, newDistributed(t, g, panels, min(2, len(steps))*t.panelsAtOnce()), steps}
}

// inPanels returns a schedule with the widest panels: the width does not change the number of elements.
func inPanels(schedule func(gemm.Shape, []int, plan.Grid, int) plan.Schedule) func(gemm.Shape, []int,
	plan.Grid) plan.Schedule {
	return func(s gemm.Shape, hosts []int, g plan.Grid) plan.Schedule { return schedule(s, hosts, g, s.K) }
}

func (t *task[T]) panelsOf(g plan.Grid, k plan.Span) []plan.Panel {
	return plan.Alternating(plan.Panels(k, g.P, g.Q, t.panel()))
}

func (t *task[T]) panel() int {
	if t.gpu() != nil && t.params.Int("panel") == 0 {
		return gpuPanel
	}
	return panelWidth(t.params, plan.Count(t.job.hosts))
}

// Resolved implements gemm.Explainer.
func (x *summa[T]) Resolved() gemm.Params { return gemm.Params{"panel": x.task.panel()} }

func (x *summa[T]) prepare() error {
	return x.own.prepare(func(int) []plan.Panel { return x.own.panels })
}

func (x *summa[T]) multiply(prof *profile) error {
	if len(x.steps) == 0 {
		serial.Zero(x.own.c)
		if g := x.task.gpu(); g != nil {
			g.copy(remote.Up, x.own.c)
		}
	}
	err := x.own.pipeline(prof, len(x.steps), x.broadcast)
	x.task.gpu().finish(prof)
	return err
}

func (x *summa[T]) broadcast(f *inflight[T], s int) {
	for panel := x.steps[s].Lo; panel < x.steps[s].Hi; panel++ {
		p, owner := x.own.pair(panel, s%2*x.task.panelsAtOnce()+len(f.pairs)), x.own.panels[panel]
		f.pairs = append(f.pairs, p)
		x.own.broadcast(f, x.own.ranks.Row, p.a, owner.Col, x.own.as[panel])
		x.own.broadcast(f, x.own.ranks.Col, p.b, owner.Row, x.own.bs[panel])
	}
}

func (x *summa[T]) collect() error { return x.own.gather() }

func (x *summa[T]) plan() prediction {
	schedule := plan.Layers
	if g := x.task.gpu(); g != nil && g.near {
		schedule = plan.LayersNear
	}
	return x.own.predict(schedule(x.task.shape, x.own.hosts(), x.own.grid.Grid, x.task.panel()))
}

func summaVariant() gemm.Variant {
	v := variant(gemm.Variant{
		Name:   "mpi/summa",
		Spread: true,
		Doc:    "distributed operands: panels of A are broadcast along grid rows, panels of B down grid columns, overlapped with the products",
		Role:   gemm.Production,
		Can:    gemm.Gemms,
		Params: onGPUs(commonParams(scheduleParam(), gridParam(), broadParam())),
	}, types{newSumma[float32], newSumma[float64], newSumma[gf256.Elem]}, gridWorkspace(distributedWorkspace))
	v.F32, v.F64 = gemmConstructor(v.Name, newSumma[float32]), gemmConstructor(v.Name, newSumma[float64])
	return v
}
