package mpi

import (
	"gemm"
	"gemm/gf256"
	"gemm/mpi/comm"
	"gemm/mpi/memory"
	"gemm/mpi/plan"
)

// bcastRows is scatter-rows with a Bcast of B, which is the same for all ranks. In a Bcast, ranks that have a panel
// pass it on. So rank 0 does not send B P times. A panel is some columns of B, which rank 0 packs; each is multiplied
// while the next one is in flight. The rows of A travel by Scatterv, without padding. The columns of C that a panel
// gives return at once, against the stream of B: a link carries both directions at the same time.
//
//	rank                 0          1          2
//	Scatterv             A₀         A₁         A₂
//	Bcast of panel 0     B⁰         B⁰         B⁰
//	computes             C₀⁰        C₁⁰        C₂⁰        while panel 1 is under way
//	receives             C₁⁰ C₂⁰                          while C¹ is computed
//
// Over several hosts, the ranks of a host share one copy of B: see copies.
type bcastRows[T gemm.Element] struct {
	*task[T]
	spans  []plan.Span      // of rows of A and C, by rank
	panels []plan.Span      // of columns of B and C
	a      gemm.Matrix[T]   // this rank's rows
	c      []gemm.Matrix[T] // this rank's rows, by panel
	b      *copies[T]
}

func newBcastRows[T gemm.Element](t *task[T]) (product[T], error) {
	x := &bcastRows[T]{task: t, spans: plan.Spans(t.shape.M, t.world.Size()),
		panels: plan.Chunks(t.shape.N, t.params.Int("panel"))}
	rank := t.world.Rank()
	x.a = memory.Matrix[T](x.spans[rank].Len(), t.shape.K)
	for _, s := range x.panels {
		if rank == 0 {
			x.c = append(x.c, colsOf(rowsOf(t.c, x.spans[0]), s))
		} else {
			x.c = append(x.c, memory.Matrix[T](x.spans[rank].Len(), s.Len()))
		}
	}
	return x, nil
}

func (x *bcastRows[T]) place() (err error) {
	x.b, err = newCopies[T](x.job, x.shape.K, x.panels)
	return err
}

// begin begins to bring panel i of B; none behind the last.
func (x *bcastRows[T]) begin(k *clock, i int) (r *comm.Request, err error) {
	if i == len(x.panels) {
		return nil, nil
	}
	err = k.during(distributing, func() error {
		var b gemm.Matrix[T]
		if x.world.Rank() == 0 {
			b = colsOf(x.task.b, x.panels[i])
		}
		r, err = x.b.begin(i, b)
		return err
	})
	return r, err
}

// expect begins to receive C of all other ranks, on rank 0.
func (x *bcastRows[T]) expect() (under []*comm.Request, err error) {
	if x.world.Rank() > 0 {
		return nil, nil
	}
	for _, s := range x.panels {
		for rank := 1; rank < x.world.Size(); rank++ {
			c := colsOf(rowsOf(x.task.c, x.spans[rank]), s)
			if c.Rows == 0 {
				continue
			}
			r, err := comm.Irecv(x.world, c, rank, tagC)
			if err != nil {
				return under, err
			}
			under = append(under, r)
		}
	}
	return under, nil
}

func (x *bcastRows[T]) multiply(k *clock) error {
	var back []*comm.Request // of C
	err := k.during(distributing, func() (err error) {
		if back, err = x.expect(); err != nil {
			return err
		}
		return comm.ScatterRows(x.world, 0, x.task.a, x.spans, x.a)
	})
	if err != nil {
		return err
	}
	here, err := x.begin(k, 0)
	if err != nil {
		return err
	}
	for i := range x.panels {
		next, err := x.begin(k, i+1)
		if err != nil {
			return err
		}
		if err := k.during(distributing, here.Wait); err != nil {
			return err
		}
		if err := x.compute(k, x.c[i], x.a, x.b.b[i], false, append([]*comm.Request{next}, back...)...); err != nil {
			return err
		}
		if x.world.Rank() > 0 && x.a.Rows > 0 {
			if err := x.giveBack(k, x.c[i], &back); err != nil {
				return err
			}
		}
		here = next
	}
	return k.during(collecting, func() error {
		if err := x.b.end(); err != nil {
			return err
		}
		return waitAll(back)
	})
}

func (x *bcastRows[T]) close() error { return x.b.close() }

func (x *bcastRows[T]) plan() prediction {
	copies := plan.InOrder(plan.Grid{P: x.world.Size(), Q: 1, C: 1}).Order
	if x.b != nil {
		copies = x.b.hosts
	}
	return prediction{
		schedule: plan.BcastRows(x.shape, x.job.hosts, copies, x.params.Int("panel")),
		bound:    plan.BoundShared(x.shape, copies), rooted: true,
		busy:    min(len(copies), x.shape.M),
		largest: gemm.Shape{M: x.spans[0].Len(), N: x.shape.N, K: x.shape.K},
	}
}

func bcastRowsVariant() gemm.Variant {
	v := gemm.Variant{
		Name:  "mpi/bcast-rows",
		Parts: []gemm.Part{gemm.Course},
		Doc: "rows of A by Scatterv; B by Bcast, in panels that overlap with the products, one copy a host; " +
			"C returns panel by panel",
		Params: commonParams(panelParam(256, "columns of B that are broadcast at once")),
	}
	v = types{newBcastRows[float32], newBcastRows[float64], newBcastRows[gf256.Elem]}.of(v)
	return variant(v, func(s gemm.Shape, ranks int, _ gemm.Params) float64 { return rowWorkspace(s, ranks) })
}

// copies are the copies of B that rank 0 broadcasts, in panels. If the ranks are on several hosts, there is one
// copy on each, which its ranks share. A panel crosses the network once for each host: rank 0 sends it to
// the first rank of each. That rank tells the others of its host when the panel is there, and they read
// it in place. Otherwise, and if the hosts lack the memory to share, each rank has its own copy.
//
//	hosts        0          0              1             1
//	ranks        0          1              2             3
//	panel 0      copies     is told        receives      is told
//	             B⁰ ──────────────────────→ B⁰
type copies[T gemm.Element] struct {
	job   *Job
	hosts []int      // of the ranks whose copies are shared; each rank has its own if there is one a rank
	heads *comm.Comm // the ranks that receive panels; nil elsewhere
	b     []gemm.Matrix[T]
	notices[T]
}

// newCopies allocates copies of panels with the given numbers of columns, of rows rows each. All ranks call it.
func newCopies[T gemm.Element](j *Job, rows int, panels []plan.Span) (*copies[T], error) {
	x := &copies[T]{job: j, hosts: plan.InOrder(plan.Grid{P: j.Size(), Q: 1, C: 1}).Order,
		b: make([]gemm.Matrix[T], len(panels)), notices: notices[T]{host: j.host}}
	if err := x.share(rows, panels); err != nil {
		return nil, err
	}
	var err error
	if x.heads, err = j.seats.Heads(x.hosts); err != nil {
		return nil, err
	}
	if x.window == nil {
		for i, s := range panels {
			x.b[i] = memory.Matrix[T](rows, s.Len())
		}
		return x, nil
	}
	// Each rank of a host has room for some of the panels.
	arenas := make([]memory.Arena[T], j.host.Size())
	for i, s := range panels {
		owner := i % len(arenas)
		arenas[owner].Base = x.window.At(owner)
		x.b[i] = arenas[owner].Matrix(rows, s.Len())
	}
	return x, nil
}

// share takes the memory that the ranks of a host share, if several hosts have several ranks.
func (x *copies[T]) share(rows int, panels []plan.Span) error {
	hosts := x.job.hosts
	if n := plan.Count(hosts); n == 1 || n == len(hosts) || rows == 0 || len(panels) == 0 {
		return nil
	}
	each := (len(panels) + x.job.host.Size() - 1) / x.job.host.Size()
	bytes := memory.Bytes[T](each, each*rows*panels[0].Len())
	if cramped, err := x.job.cramped(bytes); cramped || err != nil {
		return err
	}
	var err error
	if x.window, err = x.job.shared(x.job.host, bytes); x.window != nil {
		x.hosts = hosts
	}
	return err
}

// begin begins to bring panel i of B, of rank 0, to all copies. The request is nil if there is nothing to wait for.
func (x *copies[T]) begin(i int, b gemm.Matrix[T]) (*comm.Request, error) {
	if x.heads == nil {
		return x.hear()
	}
	if x.job.Rank() == 0 {
		memory.Copy(x.b[i], b)
		if err := x.tell(); err != nil {
			return nil, err
		}
	}
	if x.heads.Size() == 1 {
		return nil, nil
	}
	r, err := comm.Ibcast(x.heads, x.b[i], 0)
	if err != nil || x.job.Rank() == 0 {
		return r, err
	}
	return r.Then(x.tell), nil
}

// close frees the memory. All ranks call it.
func (x *copies[T]) close() error {
	if x == nil {
		return nil
	}
	return x.free()
}
