package mpi

import (
	"gemm"
	"gemm/gf256"
	"gemm/mpi/comm"
	"gemm/mpi/memory"
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
	*task[T]
	workers
	rows    plan.Span      // of C that this rank computes
	a, b, c gemm.Matrix[T] // this rank's part; of rank 0 they lie in the operands
}

// workers are the ranks that share out the rows of C.
type workers struct{ first, n int }

// newWorkers returns the ranks that compute: all, or all but rank 0.
func newWorkers(ranks int, p gemm.Params) workers {
	if p.Text("master") == works || ranks == 1 {
		return workers{0, ranks}
	}
	return workers{1, ranks - 1}
}

// rows returns the rows of C of a rank.
func (w workers) rows(m, rank int) plan.Span {
	if rank < w.first {
		return plan.Span{}
	}
	return plan.Split(m, w.n, rank-w.first)
}

// busy returns the ranks that have rows.
func (w workers) busy(m int) int { return min(w.n, m) }

// The tags of messages.
const (
	tagA = iota + 1
	tagB
	tagC
)

func newP2PRows[T gemm.Element](t *task[T]) (product[T], error) {
	p := &p2pRows[T]{task: t, workers: newWorkers(t.world.Size(), t.params)}
	p.rows = p.workers.rows(t.shape.M, t.world.Rank())
	p.a, p.b, p.c = t.rowOperands(p.rows)
	return p, nil
}

// rowOperands returns the matrices for a rank's rows of A, all of B and its rows of C. On rank 0
// they are parts of the operands, on the others matrices of their own.
func (t *task[T]) rowOperands(rows plan.Span) (a, b, c gemm.Matrix[T]) {
	s := t.shape
	if t.world.Rank() == 0 {
		return rowsOf(t.a, rows), t.b, rowsOf(t.c, rows)
	}
	if rows.Len() == 0 {
		return a, b, c
	}
	return memory.Matrix[T](rows.Len(), s.K), memory.Matrix[T](s.K, s.N), memory.Matrix[T](rows.Len(), s.N)
}

func (p *p2pRows[T]) multiply(k *clock) error {
	if p.world.Rank() != 0 {
		return p.work(k)
	}
	err := k.during(distributing, func() error {
		return p.others(func(rank int, rows plan.Span) error {
			if err := comm.Send(p.world, rowsOf(p.task.a, rows), rank, tagA); err != nil {
				return err
			}
			return comm.Send(p.world, p.task.b, rank, tagB)
		})
	})
	if err != nil {
		return err
	}
	if err := p.compute(k, p.c, p.a, p.b, false); err != nil {
		return err
	}
	return k.during(collecting, func() error {
		return p.others(func(rank int, rows plan.Span) error {
			return comm.Recv(p.world, rowsOf(p.task.c, rows), rank, tagC)
		})
	})
}

// others calls f for the workers besides rank 0 that have rows.
func (p *p2pRows[T]) others(f func(rank int, rows plan.Span) error) error {
	for rank := 1; rank < p.world.Size(); rank++ {
		if rows := p.workers.rows(p.shape.M, rank); rows.Len() > 0 {
			if err := f(rank, rows); err != nil {
				return err
			}
		}
	}
	return nil
}

// work is the part of a worker that is not rank 0.
func (p *p2pRows[T]) work(k *clock) error {
	if p.rows.Len() == 0 {
		return nil
	}
	err := k.during(distributing, func() error {
		if err := comm.Recv(p.world, p.a, 0, tagA); err != nil {
			return err
		}
		return comm.Recv(p.world, p.b, 0, tagB)
	})
	if err != nil {
		return err
	}
	if err := p.compute(k, p.c, p.a, p.b, false); err != nil {
		return err
	}
	return k.during(collecting, func() error { return comm.Send(p.world, p.c, 0, tagC) })
}

func (p *p2pRows[T]) plan() prediction {
	all := p.first == 0
	return prediction{
		schedule: plan.P2PRows(p.shape, p.job.hosts, all),
		bound:    plan.BoundRooted(p.shape, p.world.Size(), all), rooted: true,
		busy:    p.busy(p.shape.M),
		largest: gemm.Shape{M: plan.Split(p.shape.M, p.n, 0).Len(), N: p.shape.N, K: p.shape.K},
	}
}

// rowsOf returns the rows of m that s says.
func rowsOf[T gemm.Element](m gemm.Matrix[T], s plan.Span) gemm.Matrix[T] {
	return m.Slice(s.Lo, 0, s.Len(), m.Cols)
}

// colsOf returns the columns of m that s says.
func colsOf[T gemm.Element](m gemm.Matrix[T], s plan.Span) gemm.Matrix[T] {
	return m.Slice(0, s.Lo, m.Rows, s.Len())
}

func p2pRowsVariant() gemm.Variant {
	v := gemm.Variant{
		Name:   "mpi/p2p-rows",
		Parts:  []gemm.Part{gemm.Course, gemm.ReportMessages},
		Doc:    "a master sends each worker its rows of A and all of B, one worker after the other, and receives its rows of C",
		Params: commonParams(masterParam()),
	}
	v = types{newP2PRows[float32], newP2PRows[float64], newP2PRows[gf256.Elem]}.of(v)
	return variant(v, func(s gemm.Shape, ranks int, p gemm.Params) float64 {
		return rowWorkspace(s, newWorkers(ranks, p).busy(s.M))
	})
}

// rowWorkspace returns the elements of ranks with rows of A and C and the whole of B.
func rowWorkspace(s gemm.Shape, ranks int) float64 {
	return float64(s.M)*float64(s.K+s.N) + float64(ranks)*float64(s.K)*float64(s.N)
}
