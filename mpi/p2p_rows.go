package mpi

import (
	"iter"

	"gemm"
	"gemm/gf256"
	"gemm/mpi/comm"
	"gemm/mpi/plan"
)

// p2pRows is the master with its workers of the coursework. Rank 0 sends each worker its rows of A
// and all of B, one worker after the other. Each worker computes its rows of C, and rank 0 receives
// them in the same order. Every worker gets k·(m/W + n) elements, and rank 0 sends W times that.
//
//	rank      0 (idle)        1            2
//	sends     A₁ B | A₂ B →   A₁ B         A₂ B
//	computes                  C₁ = A₁·B    C₂ = A₂·B
//	receives  C₁ C₂ ←         C₁           C₂
type p2pRows[T gemm.Element] struct {
	rooted
	task    *task[T]
	workers workers
	a, b, c gemm.Matrix[T] // this rank's part; on rank 0 parts of the operands
}

// workers are the ranks that divide the rows of C among them.
type workers struct{ first, n int }

// newWorkers returns the ranks that compute: all, or all but rank 0.
func newWorkers(ranks int, p gemm.Params) workers {
	if p.Text("master") == works || ranks == 1 {
		return workers{0, ranks}
	}
	return workers{1, ranks - 1}
}

func (w workers) rows(m, rank int) plan.Span {
	if rank < w.first {
		return plan.Span{}
	}
	return plan.Split(m, w.n, rank-w.first)
}

// busy returns the number of ranks that have rows.
func (w workers) busy(m int) int { return min(w.n, m) }

// The tags of messages.
const (
	tagA = iota + 1
	tagB
	tagC
)

func newP2PRows[T gemm.Element](t *task[T]) (product[T], error) {
	x := &p2pRows[T]{task: t, workers: newWorkers(t.world.Size(), t.params)}
	rows, s := x.workers.rows(t.shape.M, t.rank()), t.shape
	switch {
	case t.rank() == 0:
		x.a, x.b, x.c = rowsOf(t.a, rows), t.b, rowsOf(t.c, rows)
	case rows.Len() > 0:
		x.a, x.b, x.c = newMatrix[T](rows.Len(), s.K), newMatrix[T](s.K, s.N), newMatrix[T](rows.Len(), s.N)
	}
	return x, nil
}

func (x *p2pRows[T]) multiply(prof *profile) error {
	if x.task.rank() > 0 && x.c.Rows == 0 {
		return nil
	}
	if err := prof.during(distributing, x.distribute); err != nil {
		return err
	}
	if err := x.task.compute(prof, x.c, x.a, x.b, false); err != nil {
		return err
	}
	return prof.during(collecting, x.gather)
}

// distribute sends A and B to the workers, or receives them.
func (x *p2pRows[T]) distribute() error {
	world := x.task.world
	if x.task.rank() > 0 {
		if err := comm.Recv(world, x.a, 0, tagA); err != nil {
			return err
		}
		return comm.Recv(world, x.b, 0, tagB)
	}
	for rank, rows := range x.workers.others(x.task.shape.M) {
		if err := comm.Send(world, rowsOf(x.task.a, rows), rank, tagA); err != nil {
			return err
		}
		if err := comm.Send(world, x.task.b, rank, tagB); err != nil {
			return err
		}
	}
	return nil
}

// gather receives C from the workers, or sends it.
func (x *p2pRows[T]) gather() error {
	if x.task.rank() > 0 {
		return comm.Send(x.task.world, x.c, 0, tagC)
	}
	for rank, rows := range x.workers.others(x.task.shape.M) {
		if err := comm.Recv(x.task.world, rowsOf(x.task.c, rows), rank, tagC); err != nil {
			return err
		}
	}
	return nil
}

// others returns the workers other than rank 0 that have rows of C, with these rows.
func (w workers) others(m int) iter.Seq2[int, plan.Span] {
	return func(yield func(int, plan.Span) bool) {
		for rank := 1; rank < w.first+w.n; rank++ {
			if rows := w.rows(m, rank); rows.Len() > 0 && !yield(rank, rows) {
				return
			}
		}
	}
}

func (x *p2pRows[T]) plan() prediction {
	return x.workers.predict(x.task.shape, plan.P2PRows(x.task.shape, x.task.job.hosts, x.workers.first == 0))
}

// predict returns what the ranks are predicted to do in a product with the given schedule.
func (w workers) predict(s gemm.Shape, schedule plan.Schedule) prediction {
	return prediction{
		schedule: schedule, bound: plan.BoundRooted(s, len(schedule.Hosts), w.first == 0), rooted: true,
		busy:    w.busy(s.M),
		largest: gemm.Shape{M: plan.Split(s.M, w.n, 0).Len(), N: s.N, K: s.K},
	}
}

func rowsOf[T gemm.Element](m gemm.Matrix[T], s plan.Span) gemm.Matrix[T] {
	return m.Slice(s.Lo, 0, s.Len(), m.Cols)
}

func colsOf[T gemm.Element](m gemm.Matrix[T], s plan.Span) gemm.Matrix[T] {
	return m.Slice(0, s.Lo, m.Rows, s.Len())
}

func p2pRowsVariant() gemm.Variant {
	return variant(gemm.Variant{
		Name:   "mpi/p2p-rows",
		Doc:    "a master sends each worker its rows of A and all of B, one worker after the other, and receives its rows of C",
		Params: commonParams(masterParam()),
	}, types{newP2PRows[float32], newP2PRows[float64], newP2PRows[gf256.Elem]},
		func(s gemm.Shape, ranks int, p gemm.Params) float64 {
			return rowWorkspace(s, newWorkers(ranks, p).busy(s.M))
		})
}

// rowWorkspace returns the elements of ranks with rows of A and C and the whole of B.
func rowWorkspace(s gemm.Shape, ranks int) float64 {
	return float64(s.M)*float64(s.K+s.N) + float64(ranks)*float64(s.K)*float64(s.N)
}
