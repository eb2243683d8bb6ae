package mpi

import (
	"gemm"
	"gemm/gf256"
	"gemm/mpi/comm"
	"gemm/mpi/plan"
)

// p2pRowsOverlap is p2p-rows with overlap. The range of k is divided into panels. While a worker adds the product of
// one panel to its rows of C, the next panel is in flight. The first panel is short, and the next ones grow. The last
// panel is multiplied some rows at a time; finished rows travel back while the next ones are computed. What remains to
// wait for is the first panel and the last rows.
//
//	worker    receives   A₁⁰ B⁰ | A₁¹ B¹     | A₁² B²
//	          computes          | C₁ = A₁⁰B⁰ | C₁ += A₁¹B¹ | C₁ += A₁²B², rows by rows
//	          sends                                        |   C₁, rows by rows
type p2pRowsOverlap[T gemm.Element] struct {
	rooted
	task    *task[T]
	workers workers
	panels  []plan.Span // of k
	c       gemm.Matrix[T]
	packed  []packed[T] // on rank 0, by panel
	buffers [2]pair[T]  // on a worker, for a panel and the next one
}

// packed is a panel in the form in which rank 0 sends it: columns of A for each worker, and rows of B. There are two
// reasons to copy them. MPI divides strided data into small pieces, which move only while the sender is in an MPI call.
// And other ranks copy several times as fast from the huge pages of the packed panel as from an operand.
type packed[T gemm.Element] struct {
	as map[int]gemm.Matrix[T] // by worker
	b  gemm.Matrix[T]
}

func newP2PRowsOverlap[T gemm.Element](t *task[T]) (product[T], error) {
	x := &p2pRowsOverlap[T]{task: t, workers: newWorkers(t.world.Size(), t.params)}
	x.panels = plan.Growing(t.shape.K, t.params.Int("panel"))
	rows := x.workers.rows(t.shape.M, t.rank())
	switch {
	case t.rank() == 0:
		x.c = rowsOf(t.c, rows)
		for _, s := range x.panels {
			p := packed[T]{as: map[int]gemm.Matrix[T]{}}
			for rank, rows := range x.workers.others(t.shape.M) {
				p.as[rank] = newMatrix[T](rows.Len(), s.Len())
			}
			if len(p.as) > 0 {
				p.b = newMatrix[T](s.Len(), t.shape.N)
			}
			x.packed = append(x.packed, p)
		}
	case rows.Len() > 0:
		x.c = newMatrix[T](rows.Len(), t.shape.N)
		widest := 0
		for _, s := range x.panels {
			widest = max(widest, s.Len())
		}
		for i := range x.buffers {
			x.buffers[i] = pair[T]{newMatrix[T](rows.Len(), widest), newMatrix[T](widest, t.shape.N)}
		}
	}
	return x, nil
}

// pieces returns the ranges of rows of C that are sent at once.
func (x *p2pRowsOverlap[T]) pieces(rows int) []plan.Span {
	return plan.Chunks(rows, x.task.params.Int("panel"))
}

func (x *p2pRowsOverlap[T]) multiply(prof *profile) error {
	switch {
	case x.task.rank() == 0:
		return x.lead(prof)
	case x.c.Rows > 0:
		return x.work(prof)
	}
	return nil
}

func (x *p2pRowsOverlap[T]) lead(prof *profile) error {
	var f inflight[T]
	err := prof.during(distributing, func() error {
		if err := x.send(&f); err != nil {
			return err
		}
		for rank, rows := range x.workers.others(x.task.shape.M) {
			for _, s := range x.pieces(rows.Len()) {
				f.add(comm.Irecv(x.task.world, rowsOf(rowsOf(x.task.c, rows), s), rank, tagC))
			}
		}
		return f.err
	})
	if err != nil {
		return err
	}
	a := rowsOf(x.task.a, x.workers.rows(x.task.shape.M, 0))
	if err := x.task.compute(prof, x.c, a, x.task.b, false, f.requests...); err != nil {
		return err
	}
	return prof.during(collecting, func() error { return waitAll(f.requests) })
}

// send packs the panels and starts to send them.
func (x *p2pRowsOverlap[T]) send(f *inflight[T]) error {
	for i, panel := range x.panels {
		p := x.packed[i]
		if len(p.as) > 0 {
			comm.Copy(p.b, rowsOf(x.task.b, panel))
		}
		for rank, rows := range x.workers.others(x.task.shape.M) {
			comm.Copy(p.as[rank], colsOf(rowsOf(x.task.a, rows), panel))
			f.add(comm.Isend(x.task.world, p.as[rank], rank, tagA))
			f.add(comm.Isend(x.task.world, p.b, rank, tagB))
			if f.err == nil && x.workers.first > 0 { // otherwise rank 0 has rows of its own to compute
				// Only the last panel is in flight: many ranks that copy from one process at once slow each other down.
				f.err = waitAll(f.requests[:len(f.requests)-2])
			}
			if f.err != nil {
				return f.err
			}
		}
	}
	return nil
}

// receive starts to receive a panel; there is none after the last.
func (x *p2pRowsOverlap[T]) receive(prof *profile, i int) (f inflight[T], err error) {
	if i == len(x.panels) {
		return f, nil
	}
	depth := x.panels[i].Len()
	p := pair[T]{of(x.buffers[i%2].a.Data, x.c.Rows, depth, depth), of(x.buffers[i%2].b.Data, depth, x.c.Cols, x.c.Cols)}
	f.pairs = []pair[T]{p}
	err = prof.during(distributing, func() error {
		f.add(comm.Irecv(x.task.world, p.a, 0, tagA))
		f.add(comm.Irecv(x.task.world, p.b, 0, tagB))
		return f.err
	})
	return f, err
}

// work is the part of a worker that is not rank 0.
func (x *p2pRowsOverlap[T]) work(prof *profile) error {
	now, err := x.receive(prof, 0)
	if err != nil {
		return err
	}
	var back []*comm.Request
	for i := range x.panels {
		if err := x.task.wait(prof, distributing, now.requests...); err != nil {
			return err
		}
		next, err := x.receive(prof, i+1) // in flight while this panel is multiplied
		if err != nil {
			return err
		}
		a, b := now.pairs[0].a, now.pairs[0].b
		if i+1 < len(x.panels) {
			if err := x.task.compute(prof, x.c, a, b, i > 0, next.requests...); err != nil {
				return err
			}
			now = next
			continue
		}
		for _, s := range x.pieces(x.c.Rows) {
			if err := x.task.compute(prof, rowsOf(x.c, s), rowsOf(a, s), b, i > 0, back...); err != nil {
				return err
			}
			if err := x.task.sendBack(prof, rowsOf(x.c, s), &back); err != nil {
				return err
			}
		}
	}
	return prof.during(collecting, func() error { return waitAll(back) })
}

func (x *p2pRowsOverlap[T]) plan() prediction {
	t := x.task
	schedule := plan.P2PRowsOverlap(t.shape, t.job.hosts, x.workers.first == 0, t.params.Int("panel"))
	return x.workers.predict(t.shape, schedule)
}

// sendBack starts to send a part of C to rank 0, and adds the message to those in flight.
func (t *task[T]) sendBack(prof *profile, c gemm.Matrix[T], requests *[]*comm.Request) error {
	return prof.during(collecting, func() error {
		r, err := comm.Isend(t.world, c, 0, tagC)
		*requests = append(*requests, r)
		return err
	})
}

func p2pRowsOverlapVariant() gemm.Variant {
	return variant(gemm.Variant{
		Name: "mpi/p2p-rows-overlap",
		Doc:  "p2p-rows in panels: each is in flight while the one before is multiplied",
		Params: commonParams(masterParam(),
			panelParam(256, "columns of A and rows of B, and rows of C, that are sent at once")),
	}, types{newP2PRowsOverlap[float32], newP2PRowsOverlap[float64], newP2PRowsOverlap[gf256.Elem]},
		func(s gemm.Shape, ranks int, p gemm.Params) float64 {
			width := float64(min(p.Int("panel"), s.K))
			return float64(s.M)*float64(s.K+s.N) + float64(s.K)*float64(s.N) +
				2*width*float64(s.M+newWorkers(ranks, p).busy(s.M)*s.N)
		})
}
