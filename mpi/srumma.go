package mpi

import (
	"errors"
	"iter"

	"gemm"
	"gemm/gf256"
	"gemm/internal/note"
	"gemm/mpi/comm"
	"gemm/mpi/memory"
	"gemm/mpi/plan"
)

// srumma is summa without broadcasts. The operands are in memory that other ranks can read. Each
// rank fetches the panels that it needs, while their owner computes and takes no part in the
// transfer (Krishnan and Nieplocha, SRUMMA: a matrix multiplication algorithm suitable for clusters
// and scalable shared memory systems, IPDPS 2004). No rank waits for a partner. The ranks of a row,
// and of a column, begin with different panels, so at first no two of them read from the same rank.
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
	*stationary[T]
	window *comm.Window // nil: owners send
	denied string       // why there is no window
	as, bs []source     // of panels
}

// source is where a panel lies: how many bytes behind the beginning of a rank's part.
type source struct {
	rank int
	at   int64
}

func newSrumma[T gemm.Element](t *task[T]) (product[T], error) {
	g, err := gridOf(t.params, t.world.Size(), t.shape)
	if err != nil {
		return nil, err
	}
	x := &srumma[T]{stationary: newStationary(t, t.lay(g, plan.SrummaFlow),
		plan.Panels(plan.Span{Hi: t.shape.K}, g.P, g.Q, t.params.Int("panel")))}
	x.bring = x.fetch
	if x.m >= 0 {
		x.first = plan.First(x.grid.Grid, x.i, x.j, len(x.steps))
		x.find()
	}
	return x, nil
}

// find finds the panels of this rank's row and column.
func (x *srumma[T]) find() {
	owned := func(i, j int) (as, bs []source) {
		y := *x.stationary
		y.i, y.j, y.m, y.n = i, j, plan.Split(x.shape.M, x.grid.P, i).Len(), plan.Split(x.shape.N, x.grid.Q, j).Len()
		at := map[*gemm.Matrix[T]]source{}
		var used memory.Arena[T]
		y.own(func(m *gemm.Matrix[T], rows, cols int) {
			at[m] = source{x.grid.Rank(i, j, 0), int64(used.Reserve(rows, cols))}
		})
		for s := range x.panels {
			as, bs = append(as, at[&y.a[s]]), append(bs, at[&y.b[s]])
		}
		return as, bs
	}
	x.as, x.bs = make([]source, len(x.panels)), make([]source, len(x.panels))
	for j := range x.grid.Q {
		as, _ := owned(x.i, j)
		for s, p := range x.panels {
			if p.Col == j {
				x.as[s] = as[s]
			}
		}
	}
	for i := range x.grid.P {
		_, bs := owned(i, x.j)
		for s, p := range x.panels {
			if p.Row == i {
				x.bs[s] = bs[s]
			}
		}
	}
}

func (x *srumma[T]) place() (err error) {
	if x.Seat, err = x.job.seats.In(x.grid); err != nil {
		return err
	}
	if err = x.expose(); err != nil {
		return err
	}
	if x.Ranks != nil {
		if err = x.fill(func(int) []plan.Panel { return x.panels }); err != nil {
			return err
		}
	}
	if x.window == nil {
		return nil
	}
	return x.window.Ready()
}

// expose takes the rank's matrices, from memory that the others can read if there is any. All ranks call it.
func (x *srumma[T]) expose() error {
	slots, err := x.job.slots()
	if err == nil && slots != nil && slots.host.Size() == x.world.Size() {
		err = x.form(memory.Needed(x.own))
	}
	if err != nil {
		return err
	}
	mine, take := memory.Arena[T]{}, x.own
	if x.crew != nil {
		x.window, x.bring = &x.crew.window.Window, x.read
	} else {
		take = x.allocate
		if err = x.apart(memory.Bytes[T](memory.Needed(take))); err != nil {
			return err
		}
	}
	if x.window == nil {
		x.bring = x.hear
		take(func(m *gemm.Matrix[T], rows, cols int) { *m = memory.Matrix[T](rows, cols) })
		return nil
	}
	mine.Base = x.window.Own()
	take(func(m *gemm.Matrix[T], rows, cols int) { *m = mine.Matrix(rows, cols) })
	return nil
}

// apart creates a window if no crew shares memory. If one rank cannot have one, no rank has one. The memory of a window
// on the other ranks is then lost, since all ranks have to take part in freeing it.
func (x *srumma[T]) apart(bytes int) error {
	if x.denied = x.job.denied; x.denied != "" {
		return nil
	}
	cramped, err := x.job.cramped(bytes)
	if err != nil {
		return err
	}
	var window *comm.Window
	lacks := x.job.errCramped(bytes)
	if !cramped {
		window, lacks = x.job.quiet.Expose(bytes)
	}
	var no refusal
	if err = x.job.agree(lacks); errors.As(err, &no) {
		x.denied = no.text
		if !cramped { // MPI would say so again
			x.job.denied = no.text
		}
		return nil
	}
	x.window = window
	return err
}

// read finds what this rank has not got of a panel where its owner has it.
func (x *srumma[T]) read(s int, u *coming[T], i int) error {
	p := x.panels[s]
	if p.Col != x.j {
		u.a[i] = comm.Here[T](x.world, x.crew.window, x.m, p.K.Len(), x.as[s].rank, x.as[s].at)
	}
	if p.Row != x.i {
		u.b[i] = comm.Here[T](x.world, x.crew.window, p.K.Len(), x.n, x.bs[s].rank, x.bs[s].at)
	}
	return nil
}

// fetch begins to fetch what this rank has not got of a panel.
func (x *srumma[T]) fetch(s int, u *coming[T], i int) error {
	x.receive(s, u, i)
	p := x.panels[s]
	if p.Col != x.j && x.m > 0 {
		if err := u.add(comm.Rget(x.world, x.window, u.a[i], x.as[s].rank, x.as[s].at)); err != nil {
			return err
		}
	}
	if p.Row != x.i && x.n > 0 {
		return u.add(comm.Rget(x.world, x.window, u.b[i], x.bs[s].rank, x.bs[s].at))
	}
	return nil
}

// hear begins to receive what this rank has not got of a panel from its owners.
func (x *srumma[T]) hear(s int, u *coming[T], i int) error {
	x.receive(s, u, i)
	p := x.panels[s]
	if p.Col != x.j && x.m > 0 {
		if err := u.add(comm.Irecv(x.Layer.Row, u.a[i], p.Col, 0)); err != nil {
			return err
		}
	}
	if p.Row != x.i && x.n > 0 {
		return u.add(comm.Irecv(x.Layer.Col, u.b[i], p.Row, 0))
	}
	return nil
}

// offer begins to send this rank's panels to all that use them. MPI keeps the order of
// messages between two ranks: each rank gets them as it calls hear.
func (x *srumma[T]) offer() (sent []*comm.Request, err error) {
	send := func(c *comm.Comm, m gemm.Matrix[T], to int) {
		if err != nil || m.Rows == 0 || m.Cols == 0 {
			return
		}
		var r *comm.Request
		if r, err = comm.Isend(c, m, to, 0); err == nil {
			sent = append(sent, r)
		}
	}
	for turn := range x.steps {
		for j := range x.grid.Q {
			for s := range x.turn(x.i, j, turn) {
				if x.panels[s].Col == x.j && j != x.j {
					send(x.Layer.Row, x.a[s], j)
				}
			}
		}
		for i := range x.grid.P {
			for s := range x.turn(i, x.j, turn) {
				if x.panels[s].Row == x.i && i != x.i {
					send(x.Layer.Col, x.b[s], i)
				}
			}
		}
	}
	return sent, err
}

// turn returns the panels of a step of the rank at a place of the grid.
func (x *srumma[T]) turn(i, j, turn int) iter.Seq[int] {
	step := x.steps[(plan.First(x.grid.Grid, i, j, len(x.steps))+turn)%len(x.steps)]
	return func(yield func(int) bool) {
		for s := step.Lo; s < step.Hi && yield(s); s++ {
		}
	}
}

func (x *srumma[T]) multiply(k *clock) error {
	if x.denied == "" || x.Ranks == nil {
		return x.stationary.multiply(k)
	}
	var sent []*comm.Request
	err := k.during(communicating, func() (err error) {
		sent, err = x.offer()
		return err
	})
	if err != nil {
		return err
	}
	if err := x.stationary.multiply(k); err != nil {
		return err
	}
	return x.wait(k, communicating, sent...)
}

func (x *srumma[T]) close() error {
	if x.crew == nil && x.window != nil {
		return x.window.Free()
	}
	return x.stationary.close()
}

func (x *srumma[T]) plan() prediction {
	schedule, warning := plan.Srumma, gemm.Note{}
	if x.denied != "" {
		schedule = plan.SrummaSent
		warning = note.New("owners-send", x.denied)
	}
	out := x.predict(schedule(x.shape, x.grid.Hosts(x.job.hosts), x.grid.Grid, x.params.Int("panel")))
	out.warning = warning
	return out
}

func srummaVariant() gemm.Variant {
	v := gemm.Variant{
		Name:   "mpi/srumma",
		Spread: true,
		Doc:    "distributed operands: each rank reads the panels of others from their memory, without waiting for a partner",
		Params: commonParams(scheduleParam(), gridParam(),
			panelParam(256, "columns of A and rows of B that are fetched at once")),
	}
	v = types{newSrumma[float32], newSrumma[float64], newSrumma[gf256.Elem]}.of(v)
	return variant(v, gridWorkspace(spreadWorkspace))
}
