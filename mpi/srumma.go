package mpi

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/dustin/go-humanize"

	"gemm"
	"gemm/cuda/remote"
	"gemm/gf256"
	"gemm/internal/note"
	"gemm/mpi/comm"
	"gemm/mpi/plan"
)

// srumma is summa without broadcasts. The operands are in memory that other ranks can read. Each
// rank fetches the panels that it needs, while their owner computes and takes no part in the
// transfer (Krishnan and Nieplocha, SRUMMA: a matrix multiplication algorithm suitable for clusters
// and scalable shared memory systems, IPDPS 2004). No rank waits for a partner. The ranks of a row,
// and of a column, begin with different panels, so at first any two of them read from different ranks.
//
//	grid of 2×2     (0,0)          (0,1)          (1,0)          (1,1)
//	owns            A₀₀ B₀₀        A₀₁ B₀₁        A₁₀ B₁₀        A₁₁ B₁₁
//	step 0          A₀₀ B₀₀        A₀₁ B₁₁ ←      A₁₁ B₁₀ ←      A₁₀ B₀₁ ←
//	step 1          A₀₁ B₁₀ ←      A₀₀ B₀₁ ←      A₁₀ B₀₀ ←      A₁₁ B₁₁
//
// Ranks of one host that steal from each other share memory, and read panels there in place. Other
// ranks fetch panels from windows (MPI 4.0, 12.3.2 and 12.3.5). If MPI has no window for them,
// owners send their panels to each rank, in the order in which that rank uses them.
type srumma[T gemm.Element] struct {
	task   *task[T]
	own    *distributed[T]
	steps  []plan.Span  // runs of panels that are multiplied in one call
	window *comm.Window // nil: owners send
	denied string       // why there is no window
	as, bs []location   // of panels
}

func newSrumma[T gemm.Element](t *task[T]) (product[T], error) {
	g, err := t.placeGrid(inPanels(plan.SrummaSent))
	if err != nil {
		return nil, err
	}
	panels := plan.Panels(plan.Span{Hi: t.shape.K}, g.P, g.Q, t.srummaPanel())
	x := &srumma[T]{task: t, steps: plan.Steps(panels, t.panelsAtOnce())}
	x.own = newDistributed(t, g, panels, min(2, len(x.steps))*t.panelsAtOnce())
	return x, nil
}

// srummaPanel returns the width of panels. A GPU multiplies at once all that a rank owns.
func (t *task[T]) srummaPanel() int {
	switch width := t.params.Int("panel"); {
	case width > 0:
		return width
	case t.gpu() != nil:
		return t.shape.K
	default:
		return 256
	}
}

// Resolved implements gemm.Explainer.
func (x *srumma[T]) Resolved() gemm.Params { return gemm.Params{"panel": x.task.srummaPanel()} }

func (x *srumma[T]) prepare() (err error) {
	if x.own.ranks, err = x.task.job.splits.Grid(x.own.grid); err != nil {
		return err
	}
	if err = x.allocate(); err != nil {
		return err
	}
	if err = x.own.scatter(func(int) []plan.Panel { return x.own.panels }); err != nil || x.window == nil {
		return err
	}
	return x.window.Fence()
}

// allocate takes the rank's matrices, from memory that the other ranks can read if there is any. All ranks call it.
func (x *srumma[T]) allocate() error {
	if g := x.task.gpu(); g != nil {
		err := x.task.allocate(x.own.takeAll)
		if g.staged {
			x.denied = "their operands are on GPUs"
		}
		return err
	}
	slots, err := x.task.job.slots()
	if err == nil && slots != nil && slots.host.Size() == x.task.world.Size() {
		err = x.task.startStealing(needed(x.own.takeOwn))
	}
	if err != nil {
		return err
	}
	if s := x.task.stealing; s != nil { // all ranks read the panels in place, and need no buffers
		x.window = &s.window.Window
		allocateIn(x.window, x.own.takeOwn)
		return nil
	}
	if x.window, err = x.expose(sharedBytes[T](needed(x.own.takeAll))); err != nil {
		return err
	}
	allocateIn(x.window, x.own.takeAll)
	return nil
}

// expose returns a window, and nil on all ranks if one rank cannot have one. The memory of a window on the other ranks
// is then lost, since all ranks have to take part in freeing it.
func (x *srumma[T]) expose(bytes int) (*comm.Window, error) {
	job := x.task.job
	if x.denied = job.denied; x.denied != "" {
		return nil, nil
	}
	lacking, err := job.lacksShared(bytes)
	if err != nil {
		return nil, err
	}
	var window *comm.Window
	refused := fmt.Errorf("ranks have to share %s each, and /dev/shm has %s left: make it larger (docker run "+
		"--shm-size), or use a smaller size", humanize.IBytes(uint64(bytes)), humanize.IBytes(uint64(job.shm())))
	if !lacking {
		window, refused = job.control.Expose(bytes)
	}
	var no refusal
	if err = job.agree(refused); errors.As(err, &no) {
		x.denied = no.text
		if !lacking { // MPI would refuse again
			job.denied = no.text
		}
		return nil, nil
	}
	if err == nil {
		x.task.windows = append(x.task.windows, window)
	}
	return window, err
}

func (x *srumma[T]) multiply(prof *profile) error {
	sent, err := x.send(prof)
	if err == nil {
		err = x.own.pipeline(prof, len(x.steps), x.get)
	}
	x.task.gpu().finish(prof)
	if err != nil || len(sent) == 0 {
		return err
	}
	return x.task.wait(prof, communicating, sent...)
}

// get starts to fetch the panels of the s-th step of this rank that it does not own.
func (x *srumma[T]) get(f *inflight[T], s int) {
	for panel := range x.panelsOf(x.own.i, x.own.j, s) {
		f.pairs = append(f.pairs, x.fetch(f, panel, s%2*x.task.panelsAtOnce()+len(f.pairs)))
	}
}

// fetch reads a panel in place if all ranks share memory, and otherwise starts to fetch it, or to receive it if there
// is no window.
func (x *srumma[T]) fetch(f *inflight[T], panel, buffer int) pair[T] {
	p, world, depth := x.own.panels[panel], x.task.world, x.own.panels[panel].K.Len()
	needA, needB := p.Col != x.own.j, p.Row != x.own.i
	a, b := x.own.as[panel], x.own.bs[panel]
	if s := x.task.stealing; s != nil {
		out := pair[T]{x.own.a[panel], x.own.b[panel]}
		if needA {
			out.a = comm.ReadInPlace[T](world, s.window, x.own.m, depth, a.rank, a.offset)
		}
		if needB {
			out.b = comm.ReadInPlace[T](world, s.window, depth, x.own.n, b.rank, b.offset)
		}
		return out
	}
	out := x.own.pair(panel, buffer)
	get := func(ranks *comm.Comm, m gemm.Matrix[T], owner int, at location) {
		g := x.task.gpu()
		switch {
		case m.Rows == 0 || m.Cols == 0:
		case g != nil && g.readsFrom(at.rank):
			g.held.Pull(m, at.rank, at.offset)
		case g != nil:
			g.held.Push(m)
			f.add(comm.Irecv(ranks, m, owner, 0))
		case x.window != nil:
			f.add(comm.Rget(world, x.window, m, at.rank, at.offset))
		default:
			f.add(comm.Irecv(ranks, m, owner, 0))
		}
	}
	if needA {
		get(x.own.ranks.Row, out.a, p.Col, a)
	}
	if needB {
		get(x.own.ranks.Col, out.b, p.Row, b)
	}
	return out
}

// send starts to send this rank's panels to all that use them, if there is no window. MPI keeps the order of messages
// between two ranks: each rank receives them in the order in which it calls fetch.
func (x *srumma[T]) send(prof *profile) ([]*comm.Request, error) {
	if x.denied == "" || !x.own.inside {
		return nil, nil
	}
	var f inflight[T]
	g := x.task.gpu()
	if g != nil {
		g.copy(remote.Down, slices.Concat(x.own.a, x.own.b)...)
	}
	send := func(c *comm.Comm, m gemm.Matrix[T], to int) {
		if m.Rows > 0 && m.Cols > 0 && to != c.Rank() && !(g != nil && g.readsFrom(c.World(to))) {
			f.add(comm.Isend(c, m, to, 0))
		}
	}
	err := prof.during(communicating, func() error {
		for s := range x.steps {
			for j := range x.own.grid.Q {
				for panel := range x.panelsOf(x.own.i, j, s) {
					send(x.own.ranks.Row, x.own.a[panel], j)
				}
			}
			for i := range x.own.grid.P {
				for panel := range x.panelsOf(i, x.own.j, s) {
					send(x.own.ranks.Col, x.own.b[panel], i)
				}
			}
		}
		return f.err
	})
	return f.requests, err
}

// panelsOf returns the panels of the s-th step of the rank at a place of the grid.
func (x *srumma[T]) panelsOf(i, j, s int) iter.Seq[int] {
	step := x.steps[(plan.First(x.own.grid.Grid, i, j, len(x.steps))+s)%len(x.steps)]
	return func(yield func(int) bool) {
		for panel := step.Lo; panel < step.Hi && yield(panel); panel++ {
		}
	}
}

func (x *srumma[T]) collect() error { return x.own.gather() }

func (x *srumma[T]) plan() prediction {
	schedule, warning := plan.Srumma, note.Note{}
	if x.denied != "" {
		schedule = plan.SrummaSent
		if g := x.task.gpu(); g != nil && g.near {
			schedule = plan.SrummaNear
		}
		warning = note.New("owners-send", x.denied)
	}
	out := x.own.predict(schedule(x.task.shape, x.own.hosts(), x.own.grid.Grid, x.task.srummaPanel()))
	out.warning = warning
	return out
}

func srummaVariant() gemm.Variant {
	return variant(gemm.Variant{
		Name:   "mpi/srumma",
		Spread: true,
		Doc:    "distributed operands: each rank reads the panels of others from their memory, without waiting for a partner",
		Params: onGPUs(commonParams(scheduleParam(), gridParam(), gemm.Param{Name: "panel", Default: 0, Min: 0,
			Doc: "columns of A and rows of B that are fetched at once; 0: 256, or on GPUs all that a rank owns"})),
	}, types{newSrumma[float32], newSrumma[float64], newSrumma[gf256.Elem]}, gridWorkspace(distributedWorkspace))
}
