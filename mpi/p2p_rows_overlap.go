package mpi

import (
	"gemm"
	"gemm/gf256"
	"gemm/mpi/comm"
	"gemm/mpi/memory"
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
	*p2pRows[T]
	panels []plan.Span
	out    []packed[T]       // on rank 0, by panel
	as, bs [2]gemm.Matrix[T] // on a worker, room for a panel and the next
}

// packed is a panel in the form in which rank 0 sends it: columns of A for each worker, and rows of B. There are two
// reasons to copy them. MPI divides strided data into small pieces, which move only while the sender is in an MPI call.
// And other ranks copy several times as fast from the huge pages of the packed panel as from an operand.
type packed[T gemm.Element] struct {
	as      []part[T]
	b, from gemm.Matrix[T]
}

// part is a worker's part of a panel of A, and where that is in A.
type part[T gemm.Element] struct {
	rank    int
	a, from gemm.Matrix[T]
}

func newP2PRowsOverlap[T gemm.Element](t *task[T]) (product[T], error) {
	p := &p2pRowsOverlap[T]{p2pRows: &p2pRows[T]{task: t, workers: newWorkers(t.world.Size(), t.params)}}
	p.panels = plan.Growing(t.shape.K, t.params.Int("panel"))
	rank := t.world.Rank()
	p.rows = p.workers.rows(t.shape.M, rank)
	if rank != 0 {
		if p.rows.Len() > 0 {
			p.c = memory.Matrix[T](p.rows.Len(), t.shape.N)
			widest := 0
			for _, s := range p.panels {
				widest = max(widest, s.Len())
			}
			for i := range p.as {
				p.as[i], p.bs[i] = memory.Matrix[T](p.rows.Len(), widest), memory.Matrix[T](widest, t.shape.N)
			}
		}
		return p, nil
	}
	p.a, p.b, p.c = t.rowOperands(p.rows)
	if p.world.Size() == 1 {
		return p, nil
	}
	for _, s := range p.panels {
		x := packed[T]{b: memory.Matrix[T](s.Len(), t.shape.N), from: rowsOf(t.b, s)}
		// The function returns no errors.
		_ = p.others(func(rank int, rows plan.Span) error {
			x.as = append(x.as, part[T]{rank, memory.Matrix[T](rows.Len(), s.Len()), colsOf(rowsOf(t.a, rows), s)})
			return nil
		})
		p.out = append(p.out, x)
	}
	return p, nil
}

// pieces returns the ranges of rows of C that are sent at once.
func (p *p2pRowsOverlap[T]) pieces(rows int) []plan.Span {
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
		for _, x := range p.out {
			memory.Copy(x.b, x.from)
			for _, y := range x.as {
				memory.Copy(y.a, y.from)
				if err := add(comm.Isend(p.world, y.a, y.rank, tagA)); err != nil {
					return err
				}
				if err := add(comm.Isend(p.world, x.b, y.rank, tagB)); err != nil {
					return err
				}
				if p.first == 0 {
					continue // rank 0 has rows of its own to compute
				}
				// One worker gets its panel while the next is told of its own: many who
				// copy from one process at once hinder each other.
				if err := waitAll(under[:len(under)-2]); err != nil {
					return err
				}
			}
		}
		return p.others(func(rank int, rows plan.Span) error {
			c := rowsOf(p.task.c, rows)
			for _, s := range p.pieces(c.Rows) {
				if err := add(comm.Irecv(p.world, rowsOf(c, s), rank, tagC)); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	if err := p.compute(k, p.c, p.a, p.b, false, under...); err != nil {
		return err
	}
	return k.during(collecting, func() error { return waitAll(under) })
}

// expect begins to receive a panel; none behind the last.
func (p *p2pRowsOverlap[T]) expect(k *clock, i int) (u coming[T], err error) {
	if i == len(p.panels) {
		return u, nil
	}
	depth := p.panels[i].Len()
	u.a[0], u.b[0] = of(p.as[i%2].Data, p.c.Rows, depth, depth), of(p.bs[i%2].Data, depth, p.c.Cols, p.c.Cols)
	err = k.during(distributing, func() error {
		if err := u.add(comm.Irecv(p.world, u.a[0], 0, tagA)); err != nil {
			return err
		}
		return u.add(comm.Irecv(p.world, u.b[0], 0, tagB))
	})
	return u, err
}

// work is the part of a worker that is not rank 0.
func (p *p2pRowsOverlap[T]) work(k *clock) error {
	if p.rows.Len() == 0 {
		return nil
	}
	here, err := p.expect(k, 0)
	if err != nil {
		return err
	}
	var back []*comm.Request
	for i := range p.panels {
		if err := p.wait(k, distributing, here.pending...); err != nil {
			return err
		}
		next, err := p.expect(k, i+1)
		if err != nil {
			return err
		}
		if i+1 < len(p.panels) {
			if err := p.compute(k, p.c, here.a[0], here.b[0], i > 0, next.pending...); err != nil {
				return err
			}
			here = next
			continue
		}
		for _, s := range p.pieces(p.c.Rows) {
			if err := p.compute(k, rowsOf(p.c, s), rowsOf(here.a[0], s), here.b[0], i > 0, back...); err != nil {
				return err
			}
			if err := p.giveBack(k, rowsOf(p.c, s), &back); err != nil {
				return err
			}
		}
	}
	return k.during(collecting, func() error { return waitAll(back) })
}

func (p *p2pRowsOverlap[T]) plan() prediction {
	out := p.p2pRows.plan()
	out.schedule = plan.P2PRowsOverlap(p.shape, p.job.hosts, p.first == 0, p.params.Int("panel"))
	return out
}

// giveBack begins to send a part of C to rank 0, and adds the message to those under way.
func (t *task[T]) giveBack(k *clock, c gemm.Matrix[T], under *[]*comm.Request) error {
	return k.during(collecting, func() error {
		r, err := comm.Isend(t.world, c, 0, tagC)
		*under = append(*under, r)
		return err
	})
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

func p2pRowsOverlapVariant() gemm.Variant {
	v := gemm.Variant{
		Name:   "mpi/p2p-rows-overlap",
		Advice: []gemm.Advice{{Item: "M3", Over: "mpi/p2p-rows"}},
		Doc:    "p2p-rows in panels: each is in flight while the one before is multiplied",
		Params: commonParams(masterParam(),
			panelParam(256, "columns of A and rows of B, and rows of C, that are sent at once")),
	}
	v = types{newP2PRowsOverlap[float32], newP2PRowsOverlap[float64], newP2PRowsOverlap[gf256.Elem]}.of(v)
	return variant(v, func(s gemm.Shape, ranks int, p gemm.Params) float64 {
		width := float64(min(p.Int("panel"), s.K))
		return float64(s.M)*float64(s.K+s.N) + float64(s.K)*float64(s.N) +
			2*width*float64(s.M+newWorkers(ranks, p).busy(s.M)*s.N)
	})
}
