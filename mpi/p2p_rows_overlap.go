package mpi

import (
	"gemm"
	"gemm/gf256"
	"gemm/mpi/comm"
	"gemm/mpi/plan"
)

// p2pRowsOverlap is p2p-rows without waiting: B goes out in panels of its rows, and a
// worker multiplies one while the next ones are on their way to it. With the last panel
// its rows of C become final, some at a time, and are on their way back while it computes
// the others. What is left to wait for is the worker's rows of A with the first panel,
// and the last rows of C. Every message is a part of an operand as it lies in memory: what
// does not lie side by side MPI cuts into small pieces, which go on only while the sender
// is in a call.
//
//	worker    receives   A₁ B⁰ | B¹ | B²
//	          computes         | B⁰ | B¹ | B², rows 0 | B², rows 1 |
//	          sends                                   | C₁, rows 0 | C₁, rows 1
type p2pRowsOverlap[T gemm.Element] struct {
	*p2pRows[T]
	panels []plan.Span // of k
}

func newP2PRowsOverlap[T gemm.Element](t *task[T]) (product[T], error) {
	p := &p2pRows[T]{task: t, workers: newWorkers(t.world.Size(), t.params)}
	p.rows = p.workers.rows(t.shape.M, t.world.Rank())
	p.a, p.b, p.c = t.rowOperands(p.rows)
	return &p2pRowsOverlap[T]{p, plan.Chunks(t.shape.K, t.params.Int("panel"))}, nil
}

// parts returns the rows of C, of so many, that are sent back at once.
func (p *p2pRowsOverlap[T]) parts(rows int) []plan.Span {
	return plan.Chunks(rows, p.params.Int("panel"))
}

func (p *p2pRowsOverlap[T]) multiply(k *clock) error {
	if p.world.Rank() != 0 {
		return p.work(k)
	}
	var under []*comm.Request // messages under way
	add := func(r *comm.Request, err error) error {
		under = append(under, r)
		return err
	}
	err := k.during(distributing, func() error {
		err := p.others(func(rank int, rows plan.Span) error {
			for _, s := range p.parts(rows.Len()) {
				if err := add(comm.Irecv(p.world, rowsOf(rowsOf(p.task.c, rows), s), rank, tagC)); err != nil {
					return err
				}
			}
			return add(comm.Isend(p.world, rowsOf(p.task.a, rows), rank, tagA))
		})
		if err != nil {
			return err
		}
		for _, s := range p.panels {
			err := p.others(func(rank int, _ plan.Span) error {
				return add(comm.Isend(p.world, rowsOf(p.task.b, s), rank, tagB))
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := p.compute(k, p.c, p.a, p.b, false, under...); err != nil {
		return err
	}
	return k.during(collecting, func() error { return waitAll(under) })
}

// work is the part of a worker that is not rank 0.
func (p *p2pRowsOverlap[T]) work(k *clock) error {
	if p.rows.Len() == 0 {
		return nil
	}
	in := make([]*comm.Request, len(p.panels))
	err := k.during(distributing, func() error {
		a, err := comm.Irecv(p.world, p.a, 0, tagA)
		if err != nil {
			return err
		}
		for i, s := range p.panels {
			if in[i], err = comm.Irecv(p.world, rowsOf(p.b, s), 0, tagB); err != nil {
				return err
			}
		}
		return a.Wait()
	})
	if err != nil {
		return err
	}
	last := len(in) - 1
	for i := range in[:last] {
		if err := k.during(distributing, in[i].Wait); err != nil {
			return err
		}
		if err := p.compute(k, p.c, colsOf(p.a, p.panels[i]), rowsOf(p.b, p.panels[i]), i > 0, in[i+1]); err != nil {
			return err
		}
	}
	if err := k.during(distributing, in[last].Wait); err != nil {
		return err
	}
	var out []*comm.Request
	for _, s := range p.parts(p.rows.Len()) {
		c := rowsOf(p.c, s)
		if err := p.compute(k, c, colsOf(rowsOf(p.a, s), p.panels[last]), rowsOf(p.b, p.panels[last]), last > 0, out...); err != nil {
			return err
		}
		err := k.during(collecting, func() error {
			r, err := comm.Isend(p.world, c, 0, tagC)
			out = append(out, r)
			return err
		})
		if err != nil {
			return err
		}
	}
	return k.during(collecting, func() error { return waitAll(out) })
}

func (p *p2pRowsOverlap[T]) plan() prediction {
	out := p.p2pRows.plan()
	out.traffic = plan.P2PRowsOverlap(p.shape, p.world.Size(), p.first == 0, p.params.Int("panel"))
	out.steps, out.overlapped = len(p.panels), true
	return out
}

// waitAll waits for all of the messages and returns the first error.
func waitAll(under []*comm.Request) error {
	var first error
	for _, r := range under {
		if err := r.Wait(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// copyTo copies the elements of from.
func copyTo[T gemm.Element](to, from gemm.Matrix[T]) {
	for i := range from.Rows {
		copy(to.Row(i), from.Row(i))
	}
}

func p2pRowsOverlapVariant() gemm.Variant {
	v := gemm.Variant{
		Name:   "mpi/p2p-rows-overlap",
		Doc:    "p2p-rows with messages that are under way while what has arrived is multiplied",
		Params: commonParams(masterParam(), panelParam(256, "rows of B, and of C, that are sent at once")),
	}
	v = types{newP2PRowsOverlap[float32], newP2PRowsOverlap[float64], newP2PRowsOverlap[gf256.Elem]}.of(v)
	return variant(v, func(s plan.Shape, ranks int, p gemm.Params) float64 {
		return rowWorkspace(s, newWorkers(ranks, p).busy(s.M))
	})
}
