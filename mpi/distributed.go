package mpi

import (
	"cmp"
	"slices"

	"gemm"
	"gemm/cuda/remote"
	"gemm/mpi/comm"
	"gemm/mpi/plan"
)

// distributed is what this rank owns of operands that are distributed over a grid: A and B in panels of k, C in blocks.
// A panel of A belongs to one column of the grid, which divides its rows, and a panel of B to one row of the grid,
// which divides its columns. C stays where it is computed.
type distributed[T gemm.Element] struct {
	task   *task[T]
	grid   plan.Layout
	ranks  *comm.Grid // after prepare
	inside bool       // this rank is in the grid
	i, j   int        // the place of this rank in its layer
	m, n   int        // rows and columns of its block of C
	panels []plan.Panel
	a, b   []gemm.Matrix[T] // by panel; empty if another rank owns it
	c      gemm.Matrix[T]
	as, bs []location // of panels
	// Buffers for panels of other ranks: of a step, and of the next one, which is in flight.
	bufferA, bufferB []gemm.Matrix[T]
}

// location is where a panel is in the memory of a rank, in bytes.
type location struct {
	rank   int
	offset int64
}

// pair is a panel of A and the panel of B by which it is multiplied.
type pair[T gemm.Element] struct{ a, b gemm.Matrix[T] }

// inflight is a step whose panels are in flight: one pair, or two that are multiplied in one call.
type inflight[T gemm.Element] struct {
	pairs    []pair[T]
	requests []*comm.Request
	err      error // the first one
}

// add adds a message.
func (f *inflight[T]) add(r *comm.Request, err error) {
	f.requests = append(f.requests, r)
	f.err = cmp.Or(f.err, err)
}

func newDistributed[T gemm.Element](t *task[T], grid plan.Layout, panels []plan.Panel, buffers int) *distributed[T] {
	x := &distributed[T]{task: t, grid: grid, panels: panels, bufferA: make([]gemm.Matrix[T], buffers),
		bufferB: make([]gemm.Matrix[T], buffers)}
	if x.inside = t.rank() < grid.Ranks(); x.inside {
		i, j, _ := grid.At(t.rank())
		x.at(i, j)
		x.locate()
	}
	return x
}

// at sets the place in the layer.
func (x *distributed[T]) at(i, j int) {
	x.i, x.j = i, j
	x.m, x.n = plan.Split(x.task.shape.M, x.grid.P, i).Len(), plan.Split(x.task.shape.N, x.grid.Q, j).Len()
}

// takeOwn takes the matrices of which the operands and C consist.
func (x *distributed[T]) takeOwn(take taker[T]) {
	if !x.inside {
		return
	}
	take(&x.c, x.m, x.n)
	x.a, x.b = make([]gemm.Matrix[T], len(x.panels)), make([]gemm.Matrix[T], len(x.panels))
	for s, p := range x.panels {
		// Each panel is contiguous, and so a message as it is.
		if p.Col == x.j {
			take(&x.a[s], x.m, p.K.Len())
		}
		if p.Row == x.i {
			take(&x.b[s], p.K.Len(), x.n)
		}
	}
}

// locate finds the panels of this rank's row and column of the grid in the memory of their owners.
func (x *distributed[T]) locate() {
	x.as, x.bs = make([]location, len(x.panels)), make([]location, len(x.panels))
	_, _, layer := x.grid.At(x.task.rank())
	for rank := range x.grid.Ranks() {
		i, j, l := x.grid.At(rank)
		if i != x.i && j != x.j || l != layer {
			continue
		}
		owned, at, used := *x, map[*gemm.Matrix[T]]location{}, arena[T]{onGPU: x.task.gpu() != nil}
		owned.at(i, j)
		owned.takeOwn(func(m *gemm.Matrix[T], rows, cols int) {
			at[m] = location{rank, int64(used.reserve(rows, cols))}
		})
		for s, p := range x.panels {
			if i == x.i && p.Col == j {
				x.as[s] = at[&owned.a[s]]
			}
			if j == x.j && p.Row == i {
				x.bs[s] = at[&owned.b[s]]
			}
		}
	}
}

// takeAll takes the matrices of takeOwn and the buffers.
func (x *distributed[T]) takeAll(take taker[T]) {
	x.takeOwn(take)
	if !x.inside {
		return
	}
	widest := 0
	for _, p := range x.panels {
		widest = max(widest, p.K.Len())
	}
	for s := range x.bufferA {
		if x.grid.Q > 1 {
			take(&x.bufferA[s], x.m, widest)
		}
		if x.grid.P > 1 {
			take(&x.bufferB[s], widest, x.n)
		}
	}
}

// prepare makes the communicators, allocates the matrices and scatters the operands; layer returns the panels of a
// layer. All ranks call it.
func (x *distributed[T]) prepare(layer func(l int) []plan.Panel) (err error) {
	if x.ranks, err = x.task.job.splits.Grid(x.grid); err != nil {
		return err
	}
	if err = x.task.allocate(x.takeAll); err != nil {
		return err
	}
	return x.scatter(layer)
}

// scatter sends the panels of A and B from rank 0 to the ranks of the grid.
func (x *distributed[T]) scatter(layer func(l int) []plan.Panel) (err error) {
	if g := x.task.gpu(); g != nil {
		defer func() {
			if err == nil {
				g.h2d = g.copy(remote.Up, slices.Concat(x.a, x.b)...)
				g.d2h = g.copy(remote.Down, x.c)
				err = g.refusal(x.task.job)
			}
		}()
	}
	if !x.inside {
		return nil
	}
	areas := func(area func(p plan.Panel, i, j int) comm.Block) func(rank int) []comm.Block {
		return func(rank int) []comm.Block {
			i, j, l := x.grid.At(rank)
			var out []comm.Block
			for _, p := range layer(l) {
				out = append(out, area(p, i, j))
			}
			return out
		}
	}
	err = comm.ScatterBlocks(x.ranks.Ranks, x.task.a, areas(func(p plan.Panel, i, j int) comm.Block {
		if p.Col != j {
			return comm.Block{}
		}
		return comm.Block{Rows: plan.Split(x.task.shape.M, x.grid.P, i), Cols: p.K}
	}), x.a)
	if err != nil {
		return err
	}
	return comm.ScatterBlocks(x.ranks.Ranks, x.task.b, areas(func(p plan.Panel, i, j int) comm.Block {
		if p.Row != i {
			return comm.Block{}
		}
		return comm.Block{Rows: p.K, Cols: plan.Split(x.task.shape.N, x.grid.Q, j)}
	}), x.b)
}

// gather collects the blocks of C of one layer on rank 0.
func (x *distributed[T]) gather() error {
	if g := x.task.gpu(); g != nil {
		g.copy(remote.Down, x.c)
		if err := g.refusal(x.task.job); err != nil {
			return err
		}
	}
	if !x.inside {
		return nil
	}
	return comm.GatherBlocks(x.ranks.Ranks, x.task.c, func(rank int) []comm.Block {
		i, j, _ := x.grid.At(rank)
		return []comm.Block{{Rows: plan.Split(x.task.shape.M, x.grid.P, i), Cols: plan.Split(x.task.shape.N, x.grid.Q, j)}}
	}, []gemm.Matrix[T]{x.c})
}

// pair returns panel s of A and B: the own ones, or the buffers with the given number if another rank owns them.
func (x *distributed[T]) pair(s, buffer int) pair[T] {
	p, out := x.panels[s], pair[T]{x.a[s], x.b[s]}
	ld := func(cols int) int {
		ld, _ := (&arena[T]{onGPU: x.task.gpu() != nil}).ld(cols)
		return ld
	}
	if p.Col != x.j {
		out.a = of(x.bufferA[buffer].Data, x.m, p.K.Len(), ld(p.K.Len()))
	}
	if p.Row != x.i {
		out.b = of(x.bufferB[buffer].Data, p.K.Len(), x.n, ld(x.n))
	}
	return out
}

// broadcast starts to send a panel from its owner to all ranks of c. GPUs that read each other's memory copy it
// themselves.
func (x *distributed[T]) broadcast(f *inflight[T], c *comm.Comm, m gemm.Matrix[T], owner int, at location) {
	g := x.task.gpu()
	switch {
	case c.Size() == 1 || m.Rows == 0 || m.Cols == 0:
		return
	case g != nil && g.reads(c):
		if c.Rank() != owner {
			g.held.Pull(m, at.rank, at.offset)
		}
		return
	case g != nil && c.Rank() == owner:
		g.copy(remote.Down, m)
	case g != nil:
		g.held.Push(m)
	}
	f.add(comm.Ibcast(c, m, owner))
}

// pipeline computes steps; start starts to get the panels of a step. They are in flight while the step before is
// multiplied.
func (x *distributed[T]) pipeline(prof *profile, steps int, start func(f *inflight[T], step int)) error {
	if !x.inside {
		return x.task.stealing.finish(prof)
	}
	begin := func(step int) (f inflight[T], err error) {
		if step < steps {
			err = prof.during(communicating, func() error {
				start(&f, step)
				return f.err
			})
		}
		return f, err
	}
	now, err := begin(0)
	if err != nil {
		return err
	}
	for step := range steps {
		next, err := begin(step + 1)
		if err == nil {
			err = x.task.wait(prof, communicating, now.requests...)
		}
		if err == nil {
			err = x.task.computeStep(prof, x.c, now.pairs, step > 0, next.requests)
		}
		if err != nil {
			return err
		}
		now = next
	}
	return x.task.stealing.finish(prof)
}

// predict returns what the ranks are predicted to do, with the given schedule of the places of the grid.
func (x *distributed[T]) predict(schedule plan.Schedule) prediction {
	return x.task.overGrid(x.grid.Grid, x.grid.ByRank(schedule), plan.BoundDistributed(x.task.shape, x.grid.Ranks()))
}

func (x *distributed[T]) hosts() []int { return x.grid.Hosts(x.task.job.hosts) }

// panelsAtOnce returns the most panels that are multiplied at once: with a longer k, a local variant that can compute
// two products as one adds to C less often.
func (t *task[T]) panelsAtOnce() int {
	if t.local.two != nil {
		return 2
	}
	return 1
}

// distributedWorkspace returns the number of elements of distributed operands, with the panels that a rank holds of
// others: two, or four for a local variant that takes two at a time.
func distributedWorkspace(s gemm.Shape, g plan.Grid, p gemm.Params) float64 {
	m, n, k := float64(s.M), float64(s.N), float64(s.K)
	wide := 2 * float64(min(panelWidth(p, 1), s.K)*g.C)
	if v, _ := localVariant(p.Text("local")); v.Bound.Kind != gemm.Componentwise {
		wide *= 2
	}
	return m*k + k*n + float64(g.C+1)*m*n + wide*(float64(g.Q)*m+float64(g.P)*n)
}
