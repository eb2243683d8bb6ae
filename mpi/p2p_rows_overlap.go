package mpi

import (
	"gemm"
	"gemm/gf256"
	"gemm/mpi/comm"
	"gemm/mpi/plan"
)

// p2pRowsOverlap is p2p-rows without waiting: B goes out in panels of its columns, and
// while a worker computes the columns of C that belong to one panel, the next ones are on
// their way to it and the last ones back to rank 0. What is left to wait for is the first
// panel with the worker's rows of A, and the last columns of C.
//
//	worker    receives   A₁ B⁰ | B¹ | B²
//	          computes         | C⁰ | C¹ | C²
//	          sends                 | C⁰ | C¹ | C²
type p2pRowsOverlap[T gemm.Element] struct {
	*p2pRows[T]
	cols   []plan.Span
	panels []gemm.Matrix[T]         // of B, one after the other
	parts  []gemm.Matrix[T]         // of C on a worker, by panel
	found  map[int][]gemm.Matrix[T] // on rank 0, the parts of each worker
}

func newP2PRowsOverlap[T gemm.Element](t *task[T]) (product[T], error) {
	p := &p2pRowsOverlap[T]{p2pRows: &p2pRows[T]{task: t, workers: newWorkers(t.world.Size(), t.params)}}
	p.cols = plan.Chunks(t.shape.N, t.params.Int("panel"))
	rank := t.world.Rank()
	p.rows = p.workers.rows(t.shape.M, rank)
	if rank == 0 {
		p.a, p.b, p.c = t.rowOperands(p.rows)
	} else {
		p.a = matrix[T](p.rows.Len(), t.shape.K)
	}
	for _, s := range p.cols {
		if rank == 0 && p.others() || p.rows.Len() > 0 && rank != 0 {
			p.panels = append(p.panels, matrix[T](t.shape.K, s.Len()))
		}
		if rank != 0 {
			p.parts = append(p.parts, matrix[T](p.rows.Len(), s.Len()))
		}
	}
	if rank == 0 {
		p.found = map[int][]gemm.Matrix[T]{}
		// The error is that of the function, which returns none.
		_ = p.p2pRows.others(func(rank int, rows plan.Span) error {
			for _, s := range p.cols {
				p.found[rank] = append(p.found[rank], matrix[T](rows.Len(), s.Len()))
			}
			return nil
		})
	}
	return p, nil
}

// others reports whether rank 0 has anybody to send to.
func (p *p2pRowsOverlap[T]) others() bool { return p.world.Size() > 1 }

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
		err := p.p2pRows.others(func(rank int, rows plan.Span) error {
			if err := add(comm.Isend(p.world, rowsOf(p.task.a, rows), rank, tagA)); err != nil {
				return err
			}
			for _, part := range p.found[rank] {
				if err := add(comm.Irecv(p.world, part, rank, tagC)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		// Panels lie side by side in memory, here and on the workers: what does not is
		// cut into small pieces by MPI, which go on only while the sender is in a call.
		for i := range p.panels {
			copyTo(p.panels[i], colsOf(p.task.b, p.cols[i]))
			err := p.p2pRows.others(func(rank int, _ plan.Span) error {
				return add(comm.Isend(p.world, p.panels[i], rank, tagB))
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
	return k.during(collecting, func() error {
		if err := waitAll(under); err != nil {
			return err
		}
		return p.p2pRows.others(func(rank int, rows plan.Span) error {
			for i, s := range p.cols {
				copyTo(colsOf(rowsOf(p.task.c, rows), s), p.found[rank][i])
			}
			return nil
		})
	})
}

// work is the part of a worker that is not rank 0.
func (p *p2pRowsOverlap[T]) work(k *clock) error {
	if p.rows.Len() == 0 {
		return nil
	}
	out := make([]*comm.Request, len(p.cols))
	// One panel ahead and no more: on one host it is the receiver who copies a message,
	// as soon as it expects it, and it is to compute first.
	expect := func(i int) (r *comm.Request, err error) {
		if i == len(p.cols) {
			return nil, nil
		}
		err = k.during(distributing, func() error {
			r, err = comm.Irecv(p.world, p.panels[i], 0, tagB)
			return err
		})
		return r, err
	}
	err := k.during(distributing, func() error { return comm.Recv(p.world, p.a, 0, tagA) })
	if err != nil {
		return err
	}
	here, err := expect(0)
	if err != nil {
		return err
	}
	for i := range p.cols {
		if err := k.during(distributing, here.Wait); err != nil {
			return err
		}
		next, err := expect(i + 1)
		if err != nil {
			return err
		}
		if err := p.compute(k, p.parts[i], p.a, p.panels[i], false, next); err != nil {
			return err
		}
		err = k.during(collecting, func() (err error) {
			out[i], err = comm.Isend(p.world, p.parts[i], 0, tagC)
			return err
		})
		if err != nil {
			return err
		}
		here = next
	}
	return k.during(collecting, func() error { return waitAll(out) })
}

func (p *p2pRowsOverlap[T]) plan() prediction {
	out := p.p2pRows.plan()
	out.traffic = plan.P2PRowsOverlap(p.shape, p.world.Size(), p.first == 0, p.params.Int("panel"))
	out.steps, out.overlapped = len(p.cols), true
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
		Doc:    "p2p-rows with messages that are under way while others' columns are computed",
		Params: commonParams(masterParam(), panelParam(256, "columns of B and C that are sent at once")),
	}
	v = types{newP2PRowsOverlap[float32], newP2PRowsOverlap[float64], newP2PRowsOverlap[gf256.Elem]}.of(v)
	return variant(v, func(s plan.Shape, ranks int, p gemm.Params) float64 {
		return rowWorkspace(s, newWorkers(ranks, p).busy(s.M)+1) + float64(s.M)*float64(s.N)
	})
}
