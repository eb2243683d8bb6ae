package mpi

import (
	"gemm"
	"gemm/gf256"
	"gemm/mpi/comm"
	"gemm/mpi/plan"
)

// cannon multiplies operands that are distributed over a grid, by shifting blocks. The skew comes first: row i of the
// grid gets A's blocks from i places farther right, and column j B's blocks from j places farther down. Then every rank
// holds two blocks that belong together. It multiplies them, passes A's block to its left neighbour and B's block to
// the one above, and repeats that for all blocks of k (Cannon, A cellular computer to implement the Kalman filter
// algorithm, 1969). Only neighbours exchange messages, and the messages of a step are in flight while it is computed.
// The skew is a phase of its own, since operands could be kept skewed.
//
//	grid of 2×2        (0,0)      (0,1)      (1,0)      (1,1)
//	owns               A₀₀ B₀₀    A₀₁ B₀₁    A₁₀ B₁₀    A₁₁ B₁₁
//	skewed             A₀₀ B₀₀    A₀₁ B₁₁    A₁₁ B₁₀    A₁₀ B₀₁
//	after step 1       A₀₁ B₁₀    A₀₀ B₀₁    A₁₀ B₀₀    A₁₁ B₁₁
//
// On a grid of P×Q that is not square, k has lcm(P, Q) blocks, and the last column and row get theirs from the owners;
// see plan.Shifts for the block of each rank in each step, and the source. A rank does not receive a block that it
// owns. Ranks beyond the grid have no blocks. Under the schedule dynamic they steal work on their host: see stealing.
type cannon[T gemm.Element] struct {
	task   *task[T]
	own    *distributed[T] // its panels are the blocks of k
	shifts plan.Shifts
}

func newCannon[T gemm.Element](t *task[T]) (product[T], error) {
	g, err := t.placeGrid(func(s gemm.Shape, hosts []int, g plan.Grid) plan.Schedule {
		steps, skew := plan.Cannon(s, hosts, g)
		return skew.Then(steps)
	})
	if err != nil {
		return nil, err
	}
	shifts := plan.Shifts{Grid: g.Grid, K: t.shape.K}
	return &cannon[T]{t, newDistributed(t, g, shifts.Panels(), 2), shifts}, nil
}

func (x *cannon[T]) prepare() error {
	return x.own.prepare(func(int) []plan.Panel { return x.own.panels })
}

func (x *cannon[T]) multiply(prof *profile) error {
	if !x.own.inside {
		return x.task.finish(prof)
	}
	now, err := x.shift(prof, skewing, 0, pair[T]{})
	if err == nil {
		err = prof.during(skewing, func() error { return waitAll(now.requests) })
	}
	if err != nil {
		return err
	}
	prof.skewed = *x.task.world.Traffic()
	for step := range x.shifts.Steps() {
		next, err := x.shift(prof, communicating, step+1, now.pairs[0]) // in flight while this step is multiplied
		if err != nil {
			return err
		}
		if err := x.task.computeStep(prof, x.own.c, now.pairs, step > 0, next.requests); err != nil {
			return err
		}
		if err := x.task.wait(prof, communicating, next.requests...); err != nil {
			return err
		}
		now = next
	}
	return x.task.finish(prof)
}

// shift starts the messages before a step: this rank receives the blocks that it does not own, and sends those that
// others get from it. last has the blocks of the step before; before the first step there are none.
func (x *cannon[T]) shift(prof *profile, phase string, step int, last pair[T]) (f inflight[T], err error) {
	if step == x.shifts.Steps() {
		return f, nil
	}
	i, j, ranks := x.own.i, x.own.j, x.own.ranks
	send := func(c *comm.Comm, m gemm.Matrix[T], to, tag int) {
		if m.Rows > 0 && m.Cols > 0 {
			f.add(comm.Isend(c, m, to, tag))
		}
	}
	err = prof.during(phase, func() error {
		p := x.own.pair(x.shifts.Block(i, j, step), step%2)
		f.pairs = []pair[T]{p}
		if from := x.shifts.FromA(i, j, step); from != j && p.a.Rows > 0 && p.a.Cols > 0 {
			f.add(comm.Irecv(ranks.Row, p.a, from, tagA))
		}
		if from := x.shifts.FromB(i, j, step); from != i && p.b.Rows > 0 && p.b.Cols > 0 {
			f.add(comm.Irecv(ranks.Col, p.b, from, tagB))
		}
		for to := range x.own.grid.Q {
			if to != j && x.shifts.FromA(i, to, step) == j {
				a := last.a
				if block := x.shifts.Block(i, to, step); x.own.panels[block].Col == j {
					a = x.own.a[block]
				}
				send(ranks.Row, a, to, tagA)
			}
		}
		for to := range x.own.grid.P {
			if to != i && x.shifts.FromB(to, j, step) == i {
				b := last.b
				if block := x.shifts.Block(to, j, step); x.own.panels[block].Row == i {
					b = x.own.b[block]
				}
				send(ranks.Col, b, to, tagB)
			}
		}
		return f.err
	})
	return f, err
}

func (x *cannon[T]) collect() error { return x.own.gather() }

func (x *cannon[T]) plan() prediction {
	steps, skew := plan.Cannon(x.task.shape, x.own.hosts(), x.own.grid.Grid)
	out := x.own.predict(steps)
	out.skew = x.own.grid.ByRank(skew)
	return out
}

func cannonVariant() gemm.Variant {
	v := gemm.Variant{
		Name:   "mpi/cannon",
		Spread: true,
		Doc:    "distributed operands on a grid: blocks are shifted to neighbours, overlapped with the products",
		Params: commonParams(scheduleParam(), gridParam()),
	}
	v = types{newCannon[float32], newCannon[float64], newCannon[gf256.Elem]}.of(v)
	return variant(v, gridWorkspace(func(s gemm.Shape, g plan.Grid, _ gemm.Params) float64 {
		m, n, k := float64(s.M), float64(s.N), float64(s.K)
		// The operands, and on each rank two blocks of each at a time.
		deepest := 2 * float64((plan.Shifts{Grid: g, K: s.K}).Depth(0).Len())
		return m*k + k*n + m*n + deepest*(float64(g.Q)*m+float64(g.P)*n)
	}))
}
