package mpi

import (
	"gemm"
	"gemm/gf256"
	"gemm/mpi/comm"
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
	rooted
	task   *task[T]
	spans  []plan.Span      // of rows of A and C, by rank
	panels []plan.Span      // of columns of B and C
	a      gemm.Matrix[T]   // this rank's rows
	c      []gemm.Matrix[T] // this rank's rows, by panel
	b      *copies[T]
}

func newBcastRows[T gemm.Element](t *task[T]) (product[T], error) {
	x := &bcastRows[T]{task: t, spans: plan.Spans(t.shape.M, t.world.Size()),
		panels: plan.Chunks(t.shape.N, t.params.Int("panel"))}
	rows := x.spans[t.rank()]
	x.a = newMatrix[T](rows.Len(), t.shape.K)
	for _, s := range x.panels {
		if t.rank() == 0 {
			x.c = append(x.c, colsOf(rowsOf(t.c, rows), s))
		} else {
			x.c = append(x.c, newMatrix[T](rows.Len(), s.Len()))
		}
	}
	return x, nil
}

func (x *bcastRows[T]) prepare() (err error) {
	x.b, err = newCopies(x.task, x.panels)
	return err
}

func (x *bcastRows[T]) multiply(prof *profile) error {
	var back inflight[T] // the messages of C
	err := prof.during(distributing, func() error {
		if err := x.receive(&back); err != nil {
			return err
		}
		return comm.ScatterRows(x.task.world, 0, x.task.a, x.spans, x.a)
	})
	if err != nil {
		return err
	}
	now, err := x.broadcast(prof, 0)
	if err != nil {
		return err
	}
	for i, c := range x.c {
		next, err := x.broadcast(prof, i+1) // in flight while panel i is multiplied
		if err != nil {
			return err
		}
		if err := prof.during(distributing, now.Wait); err != nil {
			return err
		}
		if err := x.task.compute(prof, c, x.a, x.b.b[i], false, append(back.requests, next)...); err != nil {
			return err
		}
		if x.task.rank() > 0 && c.Rows > 0 {
			if err := x.task.sendBack(prof, c, &back.requests); err != nil {
				return err
			}
		}
		now = next
	}
	return prof.during(collecting, func() error { return x.b.notifier.wait(back.requests) })
}

// broadcast starts to broadcast panel i of B; there is none after the last.
func (x *bcastRows[T]) broadcast(prof *profile, i int) (r *comm.Request, err error) {
	if i == len(x.panels) {
		return nil, nil
	}
	err = prof.during(distributing, func() error {
		r, err = x.b.broadcast(x.task, i, x.panels[i])
		return err
	})
	return r, err
}

// receive starts to receive C of all other ranks, on rank 0.
func (x *bcastRows[T]) receive(back *inflight[T]) error {
	if x.task.rank() > 0 {
		return nil
	}
	for _, s := range x.panels {
		for rank := 1; rank < x.task.world.Size(); rank++ {
			if c := colsOf(rowsOf(x.task.c, x.spans[rank]), s); c.Rows > 0 {
				back.add(comm.Irecv(x.task.world, c, rank, tagC))
			}
		}
	}
	return back.err
}

func (x *bcastRows[T]) plan() prediction {
	s, hosts := x.task.shape, plan.UpTo(x.task.world.Size()) // each rank is a host of its own
	if x.b != nil {
		hosts = x.b.hosts
	}
	return prediction{
		schedule: plan.BcastRows(s, x.task.job.hosts, hosts, x.task.params.Int("panel")),
		bound:    plan.BoundShared(s, hosts), rooted: true,
		busy:    min(len(hosts), s.M),
		largest: gemm.Shape{M: x.spans[0].Len(), N: s.N, K: s.K},
	}
}

func bcastRowsVariant() gemm.Variant {
	return variant(gemm.Variant{
		Name: "mpi/bcast-rows",
		Doc: "rows of A by Scatterv; B by Bcast, in panels that overlap with the products, one copy a host; " +
			"C returns panel by panel",
		Params: commonParams(panelParam(256, "columns of B that are broadcast at once")),
	}, types{newBcastRows[float32], newBcastRows[float64], newBcastRows[gf256.Elem]},
		func(s gemm.Shape, ranks int, _ gemm.Params) float64 { return rowWorkspace(s, ranks) })
}

// copies are the copies of B that rank 0 broadcasts, in panels. If the ranks are on several hosts, there is one copy on
// each, which its ranks share. A panel crosses the network once for each host: rank 0 broadcasts it to the first rank
// of each. That rank notifies the others of its host when the panel has arrived, and they read it in place. Otherwise,
// and if the hosts lack the memory to share, each rank has its own copy.
//
//	hosts        0          0              1             1
//	ranks        0          1              2             3
//	panel 0      copies     is notified    receives      is notified
//	             B⁰ ──────────────────────→ B⁰
type copies[T gemm.Element] struct {
	hosts    []int      // of the ranks; ranks of one host share a copy
	leaders  *comm.Comm // the ranks that receive panels; nil elsewhere
	b        []gemm.Matrix[T]
	notifier notifier[T]
}

// newCopies allocates copies of B in panels. All ranks call it.
func newCopies[T gemm.Element](t *task[T], panels []plan.Span) (*copies[T], error) {
	host := t.job.host
	x := &copies[T]{hosts: plan.UpTo(t.world.Size()), b: make([]gemm.Matrix[T], len(panels)),
		notifier: notifier[T]{host: host}}
	window, err := shareCopies(t, panels)
	if err != nil {
		return nil, err
	}
	if window != nil {
		x.notifier.window, x.hosts = window, t.job.hosts
	}
	if x.leaders, err = t.job.splits.Leaders(x.hosts); err != nil {
		return nil, err
	}
	arenas := make([]arena[T], host.Size()) // each rank of a host has room for some of the panels
	for i, s := range panels {
		if window == nil {
			x.b[i] = newMatrix[T](t.shape.K, s.Len())
			continue
		}
		owner := i % len(arenas)
		arenas[owner].base = window.At(owner)
		x.b[i] = arenas[owner].matrix(t.shape.K, s.Len())
	}
	return x, nil
}

// shareCopies returns memory that the ranks of a host share, if several hosts have several ranks; otherwise nil.
func shareCopies[T gemm.Element](t *task[T], panels []plan.Span) (*comm.Shared, error) {
	hosts, host := t.job.hosts, t.job.host
	if n := plan.Count(hosts); n == 1 || n == len(hosts) || t.shape.K == 0 || len(panels) == 0 {
		return nil, nil
	}
	each := (len(panels) + host.Size() - 1) / host.Size()
	bytes := sharedBytes[T](each, each*t.shape.K*panels[0].Len())
	if lacking, err := t.job.lacksShared(bytes); lacking || err != nil {
		return nil, err
	}
	return t.shareMemory(bytes)
}

// broadcast starts to broadcast panel i of B, which has the given columns, from rank 0 to all copies. The request is
// nil if there is nothing to wait for.
func (x *copies[T]) broadcast(t *task[T], i int, cols plan.Span) (*comm.Request, error) {
	if x.leaders == nil {
		return x.notifier.receive()
	}
	if t.rank() == 0 {
		comm.Copy(x.b[i], colsOf(t.b, cols))
		if err := x.notifier.send(); err != nil {
			return nil, err
		}
	}
	if x.leaders.Size() == 1 {
		return nil, nil
	}
	r, err := comm.Ibcast(x.leaders, x.b[i], 0)
	if err != nil || t.rank() == 0 {
		return r, err
	}
	return r.Then(x.notifier.send), nil
}

// notifier notifies the other ranks of a host that data is in the memory that they share.
type notifier[T gemm.Element] struct {
	host   *comm.Comm
	window *comm.Shared // nil: nothing is shared
	sent   []*comm.Request
}

// send notifies the other ranks of this host.
func (x *notifier[T]) send() error {
	if x.window == nil {
		return nil
	}
	if err := x.window.Sync(); err != nil {
		return err
	}
	for r := 1; r < x.host.Size(); r++ {
		q, err := comm.Isend(x.host, gemm.NewMatrix[T](1, 1), r, tagB)
		if err != nil {
			return err
		}
		x.sent = append(x.sent, q)
	}
	return nil
}

// receive starts to receive the next notification of the first rank of this host.
func (x *notifier[T]) receive() (*comm.Request, error) {
	r, err := comm.Irecv(x.host, gemm.NewMatrix[T](1, 1), 0, tagB)
	if err != nil {
		return nil, err
	}
	return r.Then(x.window.Sync), nil
}

// wait returns when all notifications have been sent, and the other requests are complete.
func (x *notifier[T]) wait(others []*comm.Request) error {
	all := append(x.sent, others...)
	x.sent = nil
	return waitAll(all)
}
