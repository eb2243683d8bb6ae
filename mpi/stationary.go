package mpi

import (
	"gemm"
	"gemm/mpi/comm"
	"gemm/mpi/memory"
	"gemm/mpi/plan"
)

// stationary is the common part of the algorithms in which C stays in place. The operands are distributed over a grid
// of ranks and multiplied one panel of k after the other. The algorithms differ in how a rank gets the panels of
// others. The next panel is in flight while this one is multiplied (lookahead).
//
// A local variant that can compute two products as one, with twice the k, gets two panels at a
// time: with a longer k it adds to C less often.
type stationary[T gemm.Element] struct {
	*task[T]
	grid plan.Layout
	*comm.Seat
	i, j     int
	m, n     int              // rows and columns of this rank's block of C; m < 0 outside of the grid
	panels   []plan.Panel     // of k
	together int              // panels that are multiplied at once, at most
	steps    []plan.Span      // runs of panels that are
	a, b     []gemm.Matrix[T] // this rank's, by panel; empty if another holds it
	as, bs   []gemm.Matrix[T] // room for those of others: of one step and the next
	c        gemm.Matrix[T]
	first    int // step
	// bring begins to bring panel s, the i-th of the step u.
	bring func(s int, u *coming[T], i int) error
}

// newStationary returns this rank's part of a product of panels, which are spread over the rank's layer of the grid.
func newStationary[T gemm.Element](t *task[T], g plan.Layout, panels []plan.Panel) *stationary[T] {
	x := &stationary[T]{task: t, grid: g, panels: panels, together: 1}
	if t.local.two != nil {
		x.together = 2
	}
	x.steps = plan.Steps(x.panels, x.together)
	rooms := min(2, len(x.steps)) * x.together
	x.as, x.bs = make([]gemm.Matrix[T], rooms), make([]gemm.Matrix[T], rooms)
	rank := t.world.Rank()
	if rank >= g.Ranks() {
		x.m = -1
		return x
	}
	x.i, x.j, _ = g.At(rank)
	m, n := plan.Split(t.shape.M, g.P, x.i).Len(), plan.Split(t.shape.N, g.Q, x.j).Len()
	x.m, x.n = m, n
	return x
}

// allocate takes the rank's matrices from take, with room for panels of others.
func (x *stationary[T]) allocate(take memory.Taker[T]) {
	x.own(take)
	if x.m < 0 {
		return
	}
	widest := 0
	for _, p := range x.panels {
		widest = max(widest, p.K.Len())
	}
	for s := range x.as {
		if x.grid.Q > 1 {
			take(&x.as[s], x.m, widest)
		}
		if x.grid.P > 1 {
			take(&x.bs[s], widest, x.n)
		}
	}
}

// own takes the matrices of which the operands and C are made.
func (x *stationary[T]) own(take memory.Taker[T]) {
	if x.m < 0 {
		return
	}
	take(&x.c, x.m, x.n)
	x.a, x.b = make([]gemm.Matrix[T], len(x.panels)), make([]gemm.Matrix[T], len(x.panels))
	for s, p := range x.panels {
		// A's panels lie one after the other, so that each is a message as it is.
		if p.Col == x.j {
			take(&x.a[s], x.m, p.K.Len())
		}
		if p.Row == x.i {
			take(&x.b[s], p.K.Len(), x.n)
		}
	}
}

// settle finds the rank's place and takes its matrices.
func (x *stationary[T]) settle() (err error) {
	if x.Seat, err = x.job.seats.In(x.grid); err != nil {
		return err
	}
	return x.allocateShared(x.allocate)
}

func (x *stationary[T]) place() (err error) {
	if err = x.settle(); err != nil || x.Ranks == nil {
		return err
	}
	return x.fill(func(int) []plan.Panel { return x.panels })
}

// fill brings the operands of all layers from rank 0; layer returns the panels of one.
func (x *stationary[T]) fill(layer func(l int) []plan.Panel) error {
	areas := func(of func(p plan.Panel, i, j int) comm.Block) func(rank int) []comm.Block {
		return func(rank int) []comm.Block {
			i, j, l := x.grid.At(rank)
			var out []comm.Block
			for _, p := range layer(l) {
				out = append(out, of(p, i, j))
			}
			return out
		}
	}
	err := comm.Spread(x.Ranks, x.task.a, areas(func(p plan.Panel, i, j int) comm.Block {
		if p.Col != j {
			return comm.Block{}
		}
		return comm.Block{Rows: plan.Split(x.shape.M, x.grid.P, i), Cols: p.K}
	}), x.a)
	if err != nil {
		return err
	}
	return comm.Spread(x.Ranks, x.task.b, areas(func(p plan.Panel, i, j int) comm.Block {
		if p.Row != i {
			return comm.Block{}
		}
		return comm.Block{Rows: p.K, Cols: plan.Split(x.shape.N, x.grid.Q, j)}
	}), x.b)
}

// receive finds room for what this rank has not got of a panel.
func (x *stationary[T]) receive(s int, u *coming[T], i int) {
	p, room := x.panels[s], u.turn%2*x.together+i
	if p.Col != x.j {
		u.a[i] = of(x.as[room].Data, x.c.Rows, p.K.Len(), p.K.Len())
	}
	if p.Row != x.i {
		u.b[i] = of(x.bs[room].Data, p.K.Len(), x.c.Cols, x.c.Cols)
	}
}

// coming is a step under way: its panels, one or two, and their messages.
type coming[T gemm.Element] struct {
	turn    int // how many steps came before
	panels  int
	a, b    [2]gemm.Matrix[T]
	pending []*comm.Request
}

// add adds a message.
func (u *coming[T]) add(r *comm.Request, err error) error {
	if err == nil {
		u.pending = append(u.pending, r)
	}
	return err
}

// begin begins to bring the panels of a step; none behind the last.
func (x *stationary[T]) begin(k *clock, turn int) (u coming[T], err error) {
	if turn >= len(x.steps) {
		return u, nil
	}
	step := x.steps[(x.first+turn)%len(x.steps)]
	u = coming[T]{turn: turn, panels: step.Len()}
	err = k.during(communicating, func() error {
		for i := range u.panels {
			s := step.Lo + i
			u.a[i], u.b[i] = x.a[s], x.b[s]
			if err := x.bring(s, &u, i); err != nil {
				return err
			}
		}
		return nil
	})
	return u, err
}

func (x *stationary[T]) multiply(k *clock) error {
	if x.Ranks == nil {
		return x.finish(k)
	}
	if len(x.steps) == 0 {
		zero(x.c)
	}
	here, err := x.begin(k, 0)
	if err != nil {
		return err
	}
	for turn := range x.steps {
		next, err := x.begin(k, turn+1)
		if err != nil {
			return err
		}
		if err := x.wait(k, communicating, here.pending...); err != nil {
			return err
		}
		if here.panels == 2 {
			err = x.computeTwo(k, x.c, here.a, here.b, turn > 0, next.pending)
		} else {
			err = x.compute(k, x.c, here.a[0], here.b[0], turn > 0, next.pending...)
		}
		if err != nil {
			return err
		}
		here = next
	}
	return x.finish(k)
}

func (x *stationary[T]) collect() error {
	if x.Ranks == nil {
		return nil
	}
	return x.uniteBlocks(x.Ranks, x.grid, x.c)
}

// predict returns what the ranks are predicted to do, with that schedule of the places of the grid.
func (x *stationary[T]) predict(schedule plan.Schedule) prediction {
	return x.overGrid(x.grid, x.grid.ByRank(schedule), plan.BoundSpread(x.shape, x.grid.Ranks()))
}

// overGrid returns what ranks with blocks of C over a grid are predicted to do.
func (t *task[T]) overGrid(g plan.Layout, schedule plan.Schedule, bound float64) prediction {
	return prediction{schedule: schedule, bound: bound, grid: g.Grid, busy: plan.Busy(g.Grid, t.shape),
		largest: gemm.Shape{M: ceil(t.shape.M, g.P), N: ceil(t.shape.N, g.Q), K: t.shape.K}}
}

// spreadWorkspace returns the number of elements of distributed operands, with the panels that a
// rank holds of others: two, or four for a local variant that takes two at a time.
func spreadWorkspace(s gemm.Shape, g plan.Grid, p gemm.Params) float64 {
	m, n, k := float64(s.M), float64(s.N), float64(s.K)
	wide := 2 * float64(min(panelWidth(p, 1), s.K)*g.C)
	if localVariant(p.Text("local")).Bound.Kind != gemm.Componentwise {
		wide *= 2
	}
	return m*k + k*n + float64(g.C+1)*m*n + wide*(float64(g.Q)*m+float64(g.P)*n)
}

// uniteBlocks brings the blocks of C, which the ranks of c own over a grid, to rank 0.
func (t *task[T]) uniteBlocks(c *comm.Comm, g plan.Layout, mine gemm.Matrix[T]) error {
	return comm.Unite(c, t.c, func(rank int) []comm.Block {
		i, j, _ := g.At(rank)
		return []comm.Block{{Rows: plan.Split(t.shape.M, g.P, i), Cols: plan.Split(t.shape.N, g.Q, j)}}
	}, []gemm.Matrix[T]{mine})
}

// lay lays a grid of this product on the hosts; flow predicts what hosts exchange.
func (t *task[T]) lay(g plan.Grid, flow func(gemm.Shape, plan.Grid, []int) []plan.Flow) plan.Layout {
	return plan.Place(g, t.job.hosts, func(hosts []int) []plan.Flow { return flow(t.shape, g, hosts) })
}
