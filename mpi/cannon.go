package mpi

import (
	"gemm"
	"gemm/gf256"
	"gemm/mpi/comm"
	"gemm/mpi/memory"
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
// see plan.Shifts, which says who has which block when, and its source. A rank does not receive a block that it owns.
// Ranks beyond the grid have no blocks. Under the schedule dynamic they help the others of their host: see crew.
type cannon[T gemm.Element] struct {
	*task[T]
	grid   plan.Layout
	shifts plan.Shifts
	*comm.Seat
	i, j   int
	a, b   []gemm.Matrix[T]  // this rank's own blocks, by number; empty if another owns it
	as, bs [2]gemm.Matrix[T] // room for the blocks of a step and of the next
	c      gemm.Matrix[T]
}

func newCannon[T gemm.Element](t *task[T]) (product[T], error) {
	g, err := gridOf(t.params, t.world.Size(), t.shape)
	if err != nil {
		return nil, err
	}
	x := &cannon[T]{task: t, grid: t.lay(g, plan.CannonFlow), shifts: plan.Shifts{Grid: g, K: t.shape.K}}
	if rank := t.world.Rank(); rank < g.Ranks() {
		x.i, x.j, _ = x.grid.At(rank)
	}
	return x, nil
}

// allocate takes the rank's matrices from take.
func (x *cannon[T]) allocate(take memory.Taker[T]) {
	if x.Ranks == nil {
		return
	}
	steps, deepest := x.shifts.Steps(), x.shifts.Depth(0).Len()
	m, n := plan.Split(x.shape.M, x.grid.P, x.i).Len(), plan.Split(x.shape.N, x.grid.Q, x.j).Len()
	take(&x.c, m, n)
	x.a, x.b = make([]gemm.Matrix[T], steps), make([]gemm.Matrix[T], steps)
	for block := range steps {
		depth := x.shifts.Depth(block).Len()
		if block%x.grid.Q == x.j {
			take(&x.a[block], m, depth)
		}
		if block%x.grid.P == x.i {
			take(&x.b[block], depth, n)
		}
	}
	for s := range x.as {
		if x.grid.Q > 1 {
			take(&x.as[s], m, deepest)
		}
		if x.grid.P > 1 {
			take(&x.bs[s], deepest, n)
		}
	}
}

func (x *cannon[T]) place() (err error) {
	if x.Seat, err = x.job.seats.In(x.grid); err != nil {
		return err
	}
	if err = x.allocateShared(x.allocate); err != nil || x.Ranks == nil {
		return err
	}
	owned := func(of func(block, i, j int) comm.Block) func(rank int) []comm.Block {
		return func(rank int) (out []comm.Block) {
			i, j, _ := x.grid.At(rank)
			for block := range x.shifts.Steps() {
				out = append(out, of(block, i, j))
			}
			return out
		}
	}
	err = comm.Spread(x.Ranks, x.task.a, owned(func(block, i, j int) comm.Block {
		if block%x.grid.Q != j {
			return comm.Block{}
		}
		return comm.Block{Rows: plan.Split(x.shape.M, x.grid.P, i), Cols: x.shifts.Depth(block)}
	}), x.a)
	if err != nil {
		return err
	}
	return comm.Spread(x.Ranks, x.task.b, owned(func(block, i, j int) comm.Block {
		if block%x.grid.P != i {
			return comm.Block{}
		}
		return comm.Block{Rows: x.shifts.Depth(block), Cols: plan.Split(x.shape.N, x.grid.Q, j)}
	}), x.b)
}

// pair is the two blocks of a step.
type pair[T gemm.Element] struct{ a, b gemm.Matrix[T] }

// pass starts the messages before a step: it receives the blocks that this rank does not own, and sends those that
// others get from this rank. had are the blocks of the step before; before the first step there are none.
func (x *cannon[T]) pass(step int, had pair[T]) (next pair[T], under []*comm.Request, err error) {
	add := func(r *comm.Request, failed error) {
		if err = failed; err == nil {
			under = append(under, r)
		}
	}
	block := x.shifts.Block(x.i, x.j, step)
	depth := x.shifts.Depth(block).Len()
	next = pair[T]{x.a[block], x.b[block]}
	if from := x.shifts.FromA(x.i, x.j, step); from != x.j {
		next.a = of(x.as[step%2].Data, x.c.Rows, depth, depth)
		if depth > 0 && x.c.Rows > 0 {
			add(comm.Irecv(x.Layer.Row, next.a, from, tagA))
		}
	}
	if from := x.shifts.FromB(x.i, x.j, step); from != x.i && err == nil {
		next.b = of(x.bs[step%2].Data, depth, x.c.Cols, x.c.Cols)
		if depth > 0 && x.c.Cols > 0 {
			add(comm.Irecv(x.Layer.Col, next.b, from, tagB))
		}
	}
	send := func(c *comm.Comm, own []gemm.Matrix[T], had gemm.Matrix[T], block, owner, to, tag int) {
		m := had
		if owner == c.Rank() {
			m = own[block]
		}
		if err == nil && m.Rows > 0 && m.Cols > 0 {
			add(comm.Isend(c, m, to, tag))
		}
	}
	for j := range x.grid.Q {
		if block := x.shifts.Block(x.i, j, step); j != x.j && x.shifts.FromA(x.i, j, step) == x.j {
			send(x.Layer.Row, x.a, had.a, block, block%x.grid.Q, j, tagA)
		}
	}
	for i := range x.grid.P {
		if block := x.shifts.Block(i, x.j, step); i != x.i && x.shifts.FromB(i, x.j, step) == x.i {
			send(x.Layer.Col, x.b, had.b, block, block%x.grid.P, i, tagB)
		}
	}
	return next, under, err
}

func (x *cannon[T]) multiply(k *clock) error {
	if x.Ranks == nil {
		return x.finish(k)
	}
	var here, next pair[T]
	err := k.during(skewing, func() (err error) {
		var under []*comm.Request
		if here, under, err = x.pass(0, here); err != nil {
			return err
		}
		return waitAll(under)
	})
	if err != nil {
		return err
	}
	k.skewed = *x.world.Traffic()
	for step := range x.shifts.Steps() {
		var under []*comm.Request
		if step+1 < x.shifts.Steps() {
			err := k.during(communicating, func() (err error) {
				next, under, err = x.pass(step+1, here)
				return err
			})
			if err != nil {
				return err
			}
		}
		if err := x.compute(k, x.c, here.a, here.b, step > 0, under...); err != nil {
			return err
		}
		if err := x.wait(k, communicating, under...); err != nil {
			return err
		}
		here = next
	}
	return x.finish(k)
}

func (x *cannon[T]) collect() error {
	if x.Ranks == nil {
		return nil
	}
	return x.uniteBlocks(x.Ranks, x.grid, x.c)
}

func (x *cannon[T]) plan() prediction {
	steps, skew := plan.Cannon(x.shape, x.grid.Hosts(x.job.hosts), x.grid.Grid)
	out := x.overGrid(x.grid, x.grid.ByRank(steps), plan.BoundSpread(x.shape, x.grid.Ranks()))
	out.skew = x.grid.ByRank(skew)
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
